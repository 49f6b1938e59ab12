"""How few training cells break one point.

========  ===============================================================================================
`radius`  the fewest cells to blank until each point is open
`radii`   the same with the label, the rival that catches up, and whose cells they are: `Radii`
========  ===============================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nullproof.lazy import public

if TYPE_CHECKING:
    from nullproof.radii.cells import Radii as Radii
    from nullproof.radii.cells import radii as radii
    from nullproof.radii.cells import radius as radius

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "Radii": "cells",
        "radii": "cells",
        "radius": "cells",
    },
)
