"""How few training cells, or added rows, break one point.

========  ===============================================================================================
`radius`  the fewest cells to blank or falsify, or rows to add, until each point is open
`radii`   the same with the label, the rival that catches up, and whose cells or rows they are: `Radii`
========  ===============================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nullproof.lazy import public

if TYPE_CHECKING:
    from nullproof.radii.cells import radii as radii
    from nullproof.radii.cells import radius as radius
    from nullproof.radii.results import Radii as Radii

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "Radii": "results",
        "radii": "cells",
        "radius": "cells",
    },
)
