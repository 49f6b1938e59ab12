"""Which missing cells of the training table to look up first, and when to stop.

=================  ================================================================================
`cleaning_plan`    which cells to look up first: a `CleaningPlan`, one `Step` after another
`Cleaner`          a loop with a person: it proposes cells, takes answers, says when to stop
`Cell`             a cell to look up: row and column
=================  ================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nullproof.lazy import public

if TYPE_CHECKING:
    from nullproof.cleaning.cleaner import Cleaner as Cleaner
    from nullproof.cleaning.plan import Cell as Cell
    from nullproof.cleaning.plan import CleaningPlan as CleaningPlan
    from nullproof.cleaning.plan import Step as Step
    from nullproof.cleaning.plan import cleaning_plan as cleaning_plan

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "Cell": "plan",
        "Cleaner": "cleaner",
        "CleaningPlan": "plan",
        "Step": "plan",
        "cleaning_plan": "plan",
    },
)
