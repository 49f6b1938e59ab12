"""How few training cells, or added rows, break one point.

==========================  =============================================================================
`radius`                    the fewest cells to blank or falsify, or rows to add, until each point is open
`radii`                     the same with the label, the rival, and whose cells or rows they are: `Radii`
`certified_accuracy_curve`  how many predictions are right and stay so under any attack: `AccuracyCurve`
==========================  =============================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nullproof.lazy import public

if TYPE_CHECKING:
    from nullproof.radii.accuracy import AccuracyCurve as AccuracyCurve
    from nullproof.radii.accuracy import certified_accuracy_curve as certified_accuracy_curve
    from nullproof.radii.cells import radii as radii
    from nullproof.radii.cells import radius as radius
    from nullproof.radii.results import Radii as Radii

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "AccuracyCurve": "accuracy",
        "Radii": "results",
        "certified_accuracy_curve": "accuracy",
        "radii": "cells",
        "radius": "cells",
    },
)
