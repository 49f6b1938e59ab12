"""Counting: the index, its updates, its file format, and engines."""

import numpy as np

# The C library on Linux takes fresh pages from the system for every array larger than any that was freed
# before, up to 32 MB, and to get them takes as long as most of what is computed. This one is freed at once,
# so that large arrays are made of memory that was used before: tolerances take 0.6 times as long.
np.empty((1 << 25) - (1 << 16), dtype=np.uint8)
