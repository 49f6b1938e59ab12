"""The page: a local server that shows reports and answers questions; it computes nothing itself."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp


def create_app(folder: Path, **limits: Any) -> ASGIApp:
    """Return the application of the page, to be run by any ASGI server.

    Parameters
    ----------
    folder
        Where uploads are kept while the application runs.
    limits
        Limits that differ from the usual ones: ``max_upload``, ``max_rows``, ``max_columns``,
        ``max_tables``, ``max_analyses``, ``max_age``, ``memory``, ``idle``, and the host ``names``
        that requests may be addressed to besides those of the loopback.
    """
    from nullproof.web.app import make_app
    from nullproof.web.settings import Settings

    return make_app(Settings(**limits), folder)
