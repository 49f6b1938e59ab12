"""The algorithms that the paper compares, written plainly after its text, to compare ours with.

Everything works on a `CodedTable`. NumPy does the passes over it, since a comparison with slow loops
would say little. An attack is a `Poisoning`; GS gives a `Greedy`. The baselines share no code with
our algorithms; here, too, supports are compared as whole numbers.

======================  ==============================================================================
`approximate_decision`  AD: 100 random worlds, certain if they all predict the same
`iterate`               Iterate: Algorithm 1, one pass over the table per point
`iterate_with_index`    Iterate+Index: one pass counts all values, then each point looks up
`random_poisoning`      RP: blank random cells one by one until Iterate says open
`smarter_random`        SR: A1 or A2 by the toss of a coin, against one random rival
`greedy_search`         GS: only A1 or only A2, whichever is shorter
`union`                 any of these for many points: the union of the cells for each
======================  ==============================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nullproof.lazy import public

if TYPE_CHECKING:
    from nullproof.baselines.coded import CodedTable as CodedTable
    from nullproof.baselines.decisions import approximate_decision as approximate_decision
    from nullproof.baselines.decisions import iterate as iterate
    from nullproof.baselines.decisions import iterate_with_index as iterate_with_index
    from nullproof.baselines.poisonings import Greedy as Greedy
    from nullproof.baselines.poisonings import Poisoning as Poisoning
    from nullproof.baselines.poisonings import greedy_search as greedy_search
    from nullproof.baselines.poisonings import random_poisoning as random_poisoning
    from nullproof.baselines.poisonings import smarter_random as smarter_random
    from nullproof.baselines.poisonings import union as union

__all__, __getattr__, __dir__ = public(
    __name__,
    {
        "CodedTable": "coded",
        "Greedy": "poisonings",
        "Poisoning": "poisonings",
        "approximate_decision": "decisions",
        "greedy_search": "poisonings",
        "iterate": "decisions",
        "iterate_with_index": "decisions",
        "random_poisoning": "poisonings",
        "smarter_random": "poisonings",
        "union": "poisonings",
    },
)
