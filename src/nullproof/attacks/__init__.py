"""Which cells an enemy would blank: the attack on one point, on many, and where its cells lie.

==============  =========================================================================================
`poison`        the fewest cells that break some points: an `Attack` on each `Target`, made of `Cells`;
                or the fewest rows to add: a `RowAttack`, made of `AddedRows`
`locate_cells`  those cells in a lazy table, where it is: one query gives their keys
`radii`         the fewest cells or rows for each point, with label and rival: `Radii`
==============  =========================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nullproof.lazy import public

if TYPE_CHECKING:
    from nullproof.attacks.attack import Attack as Attack
    from nullproof.attacks.attack import Target as Target
    from nullproof.attacks.locate import locate_cells as locate_cells
    from nullproof.attacks.poisoning import poison as poison
    from nullproof.attacks.row_attack import AddedRows as AddedRows
    from nullproof.attacks.row_attack import RowAttack as RowAttack
    from nullproof.radii.accuracy import AccuracyCurve as AccuracyCurve
    from nullproof.radii.accuracy import certified_accuracy_curve as certified_accuracy_curve
    from nullproof.radii.cells import radii as radii
    from nullproof.radii.results import Radii as Radii

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "AccuracyCurve": "nullproof.radii.accuracy",
        "AddedRows": "row_attack",
        "Attack": "attack",
        "Radii": "nullproof.radii.results",
        "RowAttack": "row_attack",
        "Target": "attack",
        "certified_accuracy_curve": "nullproof.radii.accuracy",
        "locate_cells": "locate",
        "poison": "poisoning",
        "radii": "nullproof.radii.cells",
    },
)
