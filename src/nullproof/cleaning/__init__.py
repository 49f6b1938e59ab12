"""Which missing cells to look up first, and when to stop.

===================  ====================================================================================
`cleaning_plan`      which cells to fill first: a `CleaningPlan`, one `Step` after another
`Cleaner`            a loop with a person: it proposes cells, takes answers, says when to stop
`simulate_cleaning`  how far each order of work gets where the true values are known: a `Curve`
`feature_effects`    what would become certain if one feature had no holes: `FeatureEffects`
`Cell`               a cell to look up: row, column, and the table it is of, ``"training"`` or ``"points"``
`cases`              the fewest and the most cells that each point can need: `Cases`
===================  ====================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nullproof.lazy import public

if TYPE_CHECKING:
    from nullproof.cleaning.cleaner import Cleaner as Cleaner
    from nullproof.cleaning.course import Step as Step
    from nullproof.cleaning.features import FeatureEffects as FeatureEffects
    from nullproof.cleaning.features import feature_effects as feature_effects
    from nullproof.cleaning.holes import Cell as Cell
    from nullproof.cleaning.needs import Cases as Cases
    from nullproof.cleaning.needs import cases as cases
    from nullproof.cleaning.plan import CleaningPlan as CleaningPlan
    from nullproof.cleaning.plan import cleaning_plan as cleaning_plan
    from nullproof.cleaning.simulation import Curve as Curve
    from nullproof.cleaning.simulation import simulate_cleaning as simulate_cleaning

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "Cases": "needs",
        "Cell": "holes",
        "Cleaner": "cleaner",
        "CleaningPlan": "plan",
        "Curve": "simulation",
        "FeatureEffects": "features",
        "Step": "course",
        "cases": "needs",
        "cleaning_plan": "plan",
        "feature_effects": "features",
        "simulate_cleaning": "simulation",
    },
)
