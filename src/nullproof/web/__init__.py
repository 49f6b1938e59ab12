"""The page: a local server that shows reports and answers questions, using the library."""

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
        The folder that keeps uploads while the application runs.
    limits
        Values that replace the defaults of `nullproof.web.limits.Settings`.
    """
    from nullproof.web.app import make_app
    from nullproof.web.limits import Settings

    return make_app(Settings(**limits), folder)
