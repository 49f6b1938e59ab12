"""Options that say nothing are refused alike, whichever function or method is given them."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.refusing import refuses

import nullproof
from nullproof import CertifiedNB, CountIndex, NullproofError, attacks, cleaning, odds

FEATURE = "f0"
CELLS = ["a", None, "b"]
LABELS = [*"AAB"]
ROWS = pd.DataFrame({FEATURE: CELLS})
INDEX = CountIndex.from_rows([(cell,) for cell in CELLS], LABELS, features=[FEATURE])
# What every function that is asked about an index needs beside its options.
GIVEN = {"index": INDEX, "points": ROWS, "point": ("b",), "table": ROWS, "labels": LABELS}
MODULES = (nullproof, attacks, cleaning, odds)
NO_BIAS: list[Any] = [-0.1, 1.1, math.nan, math.inf, -math.inf, "0.5", "much", None, [0.1], -1, 2]
NO_BIAS += [Fraction(11, 10)]
NO_WORD: list[Any] = ["Skip", "ignore", "", None, True, 1, ["skip"]]
IN_ORDER = r"prior.*in the order of index\.labels"
# What is given for an option, and what the sentence says.
BAD: dict[str, list[tuple[Any, str]]] = {
    "alpha": [
        *((bad, "alpha") for bad in (-1, -0.1, math.inf, math.nan, "1", None, 1e-7, 1e7)),
        *((bad, "alpha") for bad in (Fraction(-1, 9), Fraction(10**40 + 1, 10**40))),
    ],
    "prior": [
        *((bad, "prior") for bad in ([0, 0], [1, -1], [1, math.nan], [1, "1"], "even")),
        *((bad, "prior.*2 labels") for bad in ([1], [1, 1, 1])),
        ([1e-10, 1], "prior"),
        # A mapping or a series has no order that is the labels'.
        *((bad, IN_ORDER) for bad in ({"A": 0.9, "B": 0.1}, {0.9, 0.1}, 5)),
        *((bad, IN_ORDER) for bad in (pd.Series([0.9, 0.1]), np.array(0.5))),
    ],
    "bias": [
        *((bad, "the bias is") for bad in NO_BIAS),
        *(({FEATURE: bad}, f"the bias of '{FEATURE}' is") for bad in NO_BIAS),
        ({"*": 2}, r"the bias of '\*' is 2"),
        ({"nowhere": 0.1}, f"bias.*'nowhere'.*'?{FEATURE}"),
    ],
    "fixed": [
        *((bad, "fixed") for bad in (0.5, FEATURE, {"*": 1})),
        ({"g": 0}, "'g'.*not a feature"),
        *(({FEATURE: bad}, f"the bias of '{FEATURE}' is") for bad in (2, "x", math.nan)),
    ],
    "own_missing": [(bad, "own_missing.*'skip'") for bad in NO_WORD],
    "key": [(5, "key")],
    "threat": [("labels", "threat")],
}


def takers(option: str) -> list[Callable[..., Any]]:
    """Every public function that takes an index and this option."""
    named = {name: getattr(module, name) for module in MODULES for name in module.__all__}
    functions: list[Any] = [one for one in named.values() if inspect.isfunction(one)]
    return [
        question
        for question in [*functions, cleaning.Cleaner]
        if {"index", option} <= {*inspect.signature(question).parameters}
    ]


def ask(question: Callable[..., Any], option: str, bad: Any) -> None:
    """Ask about the table with one option, and all else as it has to be."""
    takes = inspect.signature(question).parameters
    question(**{name: GIVEN[name] for name in takes if name in GIVEN}, **{option: bad})


test_bad_options_are_refused = refuses(
    "What is none of the values of an option is one sentence that names it, from every function.",
    ask,
    *(
        (question, option, bad, words)
        for option, values in BAD.items()
        for question, (bad, words) in itertools.product(takers(option), values)
    ),
)


@pytest.mark.parametrize(
    ("option", "bad", "words"),
    [
        *(
            (option, *case)
            for option in BAD
            if option in CertifiedNB().get_params()
            for case in BAD[option]
        ),
        ("bins", 7, "bins.*7"),
        ("binning", "equal", "binning.*'equal'"),
        ("domains", {"f7": ["a"]}, "domains.*'f7'"),
    ],
)
def test_bad_parameters(option: str, bad: Any, words: str) -> None:
    """An estimator refuses them when it is fitted, not before, and when it is asked with them later."""
    model = CertifiedNB(**{option: bad})
    with pytest.raises(NullproofError, match=words):
        model.fit(ROWS, LABELS)
    assert not hasattr(model, "index_")
    for question in takers(option):
        fitted = CertifiedNB().fit(ROWS, LABELS)
        method = getattr(fitted.set_params(**{option: bad}), question.__name__, None)
        if method is not None:
            with pytest.raises(NullproofError, match=words):
                method(ROWS)
