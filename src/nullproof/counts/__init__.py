"""Codes in, counts out: counting, the index, its updates and its file, and engines."""

import contextlib
import ctypes

# The C library of Linux asks the system for fresh pages for every array over 128 KB, until larger ones were
# freed; for ever if MALLOC_TRIM_THRESHOLD_ is set, as Dask does for its workers. To get them takes longer
# than what is computed in them. So arrays of up to 32 MB are made of memory that was used before, which is
# what the C library would come to by itself. Other systems have no such function.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
with contextlib.suppress(AttributeError, OSError, TypeError):
    _set_option = ctypes.CDLL(None).mallopt
    _set_option(_MMAP_THRESHOLD, 1 << 25)
    _set_option(_TRIM_THRESHOLD, 1 << 26)
