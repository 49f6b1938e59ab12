"""How few training cells, or added rows, break a prediction, and which ones an enemy would choose.

==========================  =============================================================================
`Radii`                     what `nullproof.radius` finds: fewest cells or rows, label, rival
`certified_accuracy_curve`  how many predictions are right and stay so under any attack: `AccuracyCurve`
`Attack`, `RowAttack`       what `nullproof.poison` finds: cells to blank, or `AddedRows`
`locate_cells`              the cells of an attack in a lazy table, where it is: one query gives their keys
==========================  =============================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nullproof.lazy import public

if TYPE_CHECKING:
    from nullproof.attacks.accuracy import AccuracyCurve as AccuracyCurve
    from nullproof.attacks.accuracy import certified_accuracy_curve as certified_accuracy_curve
    from nullproof.attacks.attack import Attack as Attack
    from nullproof.attacks.attack import RowAttack as RowAttack
    from nullproof.attacks.attack import locate_cells as locate_cells
    from nullproof.attacks.radius import Radii as Radii
    from nullproof.attacks.rows import AddedRows as AddedRows

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "AccuracyCurve": "accuracy",
        "AddedRows": "rows",
        "Attack": "attack",
        "Radii": "radius",
        "RowAttack": "attack",
        "certified_accuracy_curve": "accuracy",
        "locate_cells": "attack",
    },
)
