"""How likely each label is, how many worlds predict it, what a random world looks like.

===============  ========================================================================================
`label_odds`     proven bounds of the odds of each label, for tables of any size: `Odds`
`count_worlds`   the number of worlds in which each label wins one point, exactly: `WorldCounts`
`sampled_odds`   the odds of each label, estimated from drawn worlds
`sample_worlds`  drawn worlds, as the counts that a point sees of them
`Learned`        chances of each missing cell by the rest of its row, for ``cells`` of plans and odds
`draw`           one drawn world as a completed table, for any model or for multiple imputation
===============  ========================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nullproof.lazy import public

if TYPE_CHECKING:
    from nullproof.odds.labels import Odds as Odds
    from nullproof.odds.labels import label_odds as label_odds
    from nullproof.odds.learned import Learned as Learned
    from nullproof.odds.samples import draw as draw
    from nullproof.odds.samples import sample_worlds as sample_worlds
    from nullproof.odds.samples import sampled_odds as sampled_odds
    from nullproof.odds.worlds import WorldCounts as WorldCounts
    from nullproof.odds.worlds import count_worlds as count_worlds

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "Learned": "learned",
        "Odds": "labels",
        "WorldCounts": "worlds",
        "count_worlds": "worlds",
        "draw": "samples",
        "label_odds": "labels",
        "sample_worlds": "samples",
        "sampled_odds": "samples",
    },
)
