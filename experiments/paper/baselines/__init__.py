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

from experiments.paper.baselines.coded import CodedTable
from experiments.paper.baselines.decisions import approximate_decision, iterate, iterate_with_index
from experiments.paper.baselines.poisonings import (
    Greedy,
    Poisoning,
    greedy_search,
    random_poisoning,
    smarter_random,
    union,
)

__all__ = [
    "CodedTable",
    "Greedy",
    "Poisoning",
    "approximate_decision",
    "greedy_search",
    "iterate",
    "iterate_with_index",
    "random_poisoning",
    "smarter_random",
    "union",
]
