"""How likely each label is when chance fills the missing cells, and how many worlds predict it.

==============  ============================================================================================
`label_odds`    proven bounds on the odds of each label, for tables of any size: `LabelOdds`
`count_worlds`  the number of worlds in which each label wins one point, exactly: `WorldCounts`
==============  ============================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nullproof.lazy import public

if TYPE_CHECKING:
    from nullproof.odds.exact import WorldCounts as WorldCounts
    from nullproof.odds.exact import count_worlds as count_worlds
    from nullproof.odds.odds import LabelOdds as LabelOdds
    from nullproof.odds.odds import label_odds as label_odds

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "LabelOdds": "odds",
        "WorldCounts": "exact",
        "count_worlds": "exact",
        "label_odds": "odds",
    },
)
