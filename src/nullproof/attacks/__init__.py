"""How few training cells, or added rows, break a prediction, and which ones an attacker would choose.

==========================  =============================================================================
`Radii`                     what `nullproof.radius` finds: fewest cells or rows, label, rival
`certified_accuracy_curve`  how many predictions stay right under any attack: `AccuracyCurve`
`Attack`                    what `nullproof.poison` finds: cells to blank, or `AddedRows`
==========================  =============================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nullproof.lazy import public

if TYPE_CHECKING:
    from nullproof.attacks.accuracy import AccuracyCurve as AccuracyCurve
    from nullproof.attacks.accuracy import certified_accuracy_curve as certified_accuracy_curve
    from nullproof.attacks.attack import Attack as Attack
    from nullproof.attacks.radius import Radii as Radii
    from nullproof.attacks.rows import AddedRows as AddedRows

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "AccuracyCurve": "accuracy",
        "AddedRows": "rows",
        "Attack": "attack",
        "Radii": "radius",
        "certified_accuracy_curve": "accuracy",
    },
)
