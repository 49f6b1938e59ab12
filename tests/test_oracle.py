"""The judge on trial: hand-computed cases, then laws the oracle must obey by itself."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from fractions import Fraction

import pytest
from support import oracle, strategies
from support.strategies import PAPER_LABELS, PAPER_ROWS

HALF = Fraction(1, 2)


def test_world_count_of_paper_example() -> None:
    """One hole with six values and two with four make 96 distinct worlds."""
    domains = oracle.seen_domains(PAPER_ROWS, 2)
    assert [len(domain) for domain in domains] == [4, 6]
    every = list(oracle.worlds(PAPER_ROWS, domains))
    assert len(every) == len(set(every)) == 96
    assert all(oracle.is_world(world, PAPER_ROWS, domains) for world in every)


@pytest.mark.parametrize(
    ("fills", "expected"),
    [
        (("b", "a", "b"), (Fraction(4, 9) * 3 / 4 * 3 / 4, Fraction(5, 9) * 2 / 5 * 1 / 5)),
        (("d", "a", "a"), (Fraction(4, 9) * 3 / 4 * 2 / 4, Fraction(5, 9) * 3 / 5 * 1 / 5)),
    ],
)
def test_supports_of_paper_example(
    fills: tuple[str, str, str], expected: tuple[Fraction, Fraction]
) -> None:
    """Both worlds shown in the paper have the supports printed there."""
    world = list(PAPER_ROWS)
    world[3], world[6], world[7] = ("a", fills[0]), (fills[1], "u4"), (fills[2], "u5")
    domains = oracle.seen_domains(PAPER_ROWS, 2)
    values = oracle.supports(world, PAPER_LABELS, ("a", "b"), domains)
    assert (values["l*"], values["l"]) == expected


def test_paper_example_is_certain() -> None:
    """The starred label wins all 96 worlds; 1/6 against 1/15 is the closest it gets."""
    domains = oracle.seen_domains(PAPER_ROWS, 2)
    every = oracle.outcomes(PAPER_ROWS, PAPER_LABELS, ("a", "b"), domains)
    assert oracle.certain_label(every) == "l*"
    assert min(values["l*"] for values in every) == Fraction(1, 6)
    assert max(values["l"] for values in every) == Fraction(1, 15)


def test_supports_of_paper_poisoning_example() -> None:
    """The complete table of the paper's second example has the supports printed there."""
    first = [("a", "b"), ("a", "u1"), ("u2", "b"), ("u3", "b")]
    second = [("a", "b"), ("u1", "b"), ("u2", "u3"), ("u4", "u5"), ("u6", "u7")]
    domains = oracle.seen_domains(first + second, 2)
    values = oracle.supports(first + second, PAPER_LABELS, ("a", "b"), domains)
    assert values["l*"] == Fraction(4, 9) * 2 / 4 * 3 / 4
    assert values["l"] == Fraction(5, 9) * 1 / 5 * 2 / 5


def test_one_value_domain_forces_its_missing_cells() -> None:
    """A hole in a one-value column has one candidate, so there is one world, without doubt."""
    rows, labels = [(None,), (None,), ("a",), ("a",)], ["A", "A", "A", "B"]
    domains = oracle.seen_domains(rows, 1)
    assert list(oracle.worlds(rows, domains)) == [(("a",),) * 4]
    every = oracle.outcomes(rows, labels, ("a",), domains)
    assert every == [{"A": Fraction(3, 4), "B": Fraction(1, 4)}]
    assert oracle.certain_label(every) == "A"


def test_value_outside_the_domain_never_appears() -> None:
    """No world puts an unseen value into a hole: with smoothing the point can still be certain."""
    rows, labels = [("a",), ("a",), ("b",), ("b",), (None,), (None,)], list("AAAABB")
    domains = oracle.seen_domains(rows, 1)
    every = oracle.outcomes(rows, labels, ("z",), domains, alpha=1)
    assert every == [{"A": Fraction(4, 6) * 1 / 6, "B": Fraction(2, 6) * 1 / 4}]
    assert oracle.certain_label(every) == "A"
    without = oracle.outcomes(rows, labels, ("z",), domains)
    assert without == [{"A": 0, "B": 0}]
    assert oracle.possible_labels(without) == {"A", "B"}


def test_declared_values_widen_the_worlds() -> None:
    """A declared value nobody was seen with is a candidate of every hole, and of the total."""
    rows, labels, domains = [("a",), (None,)], ["A", "B"], [("a", "b")]
    assert set(oracle.worlds(rows, domains)) == {(("a",), ("a",)), (("a",), ("b",))}
    every = oracle.outcomes(rows, labels, ("b",), domains, alpha=1)
    assert {(values["A"], values["B"]) for values in every} == {
        (HALF / 3, HALF / 3),
        (HALF / 3, HALF * 2 / 3),
    }
    assert not oracle.certain(every)


def test_candidate_sets_limit_the_worlds() -> None:
    """A cell with candidates takes those and nothing else of the domain."""
    rows, domains = [({"a", "c"}, "x")], [("a", "b", "c"), ("x",)]
    assert set(oracle.worlds(rows, domains)) == {(("a", "x"),), (("c", "x"),)}
    assert not oracle.is_world([("b", "x")], rows, domains)
    assert not oracle.is_world([("a", "y")], rows, domains)
    assert not oracle.is_world([], rows, domains)


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        (None, (Fraction(2, 3), Fraction(1, 3))),
        ("uniform", (HALF, HALF)),
        ({"A": 3, "B": 2}, (Fraction(3, 5), Fraction(2, 5))),
        ({"A": 0.5, "B": 0.1}, (HALF / (HALF + Fraction(0.1)), 1 - HALF / (HALF + Fraction(0.1)))),
    ],
)
def test_priors(prior: oracle.Prior, expected: tuple[Fraction, Fraction]) -> None:
    """Priors are label frequencies, equal, or the exact shares of the given numbers."""
    rows, labels = [("a",)] * 3, ["A", "A", "B"]
    values = oracle.supports(rows, labels, ("a",), [("a",)], prior=prior)
    assert (values["A"], values["B"]) == expected


def test_float_alpha_is_its_dyadic_rational() -> None:
    """The float 0.1 is a fraction over 2**55, not a tenth."""
    exact = oracle.support(Fraction(1), (0,), 1, [("a",)], 0.1)
    assert exact == Fraction(0.1) / (1 + Fraction(0.1)) != Fraction(1, 11)


def test_label_without_rows() -> None:
    """A label nobody carries has no support, unless smoothing gives it some."""
    rows, labels, names = [("a",)], ["A"], ["A", "B"]
    bare = oracle.supports(rows, labels, ("a",), [("a", "b")], prior="uniform", all_labels=names)
    assert bare == {"A": HALF, "B": 0}
    smooth = oracle.supports(
        rows, labels, ("a",), [("a", "b")], alpha=1, prior="uniform", all_labels=names
    )
    assert smooth == {"A": HALF * 2 / 3, "B": HALF * 1 / 2}


def test_tie_is_no_prediction() -> None:
    """Two labels that tie in the only world are both possible and the point is open."""
    every = oracle.outcomes([("a",), ("a",)], ["A", "B"], ("a",), [("a",)])
    assert oracle.winners(every[0]) == {"A", "B"}
    assert not oracle.certain(every)
    assert oracle.undominated(every) == {"A", "B"}


def test_incomplete_point_ranges_over_its_candidates() -> None:
    """A point is certain only if all values it may hold lead to the same single label."""
    rows, labels, domains = [("a",), ("a",), ("b",)], ["A", "A", "B"], [("a", "b")]
    verdicts = {
        point: oracle.certain_label(oracle.outcomes(rows, labels, (point,), domains))
        for point in ("a", "b", None, frozenset("a"), frozenset("az"))
    }
    assert verdicts == {
        "a": "A",
        "b": "B",
        None: None,
        frozenset("a"): "A",
        frozenset("az"): None,
    }


def test_undominated_can_exceed_the_possible() -> None:
    """With three labels a label can lose every outcome although no single rival always beats it."""
    every = [
        {"A": Fraction(3), "B": Fraction(1), "C": Fraction(2)},
        {"A": Fraction(1), "B": Fraction(3), "C": Fraction(2)},
    ]
    assert oracle.possible_labels(every) == {"A", "B"}
    assert oracle.undominated(every) == {"A", "B", "C"}


def test_reachable_counts_fill_a_box() -> None:
    """T1: for a complete point the reachable counts are all vectors between low and high."""
    rng = random.Random(20240601)
    for _ in range(300):
        case = strategies.random_case(rng)
        point = tuple(rng.choice(domain) for domain in case.domains)
        reached = oracle.reachable_counts(case.rows, case.labels, point, case.domains)
        sides = [
            range(*_low_and_beyond(case, point, label, j))
            for label in oracle.distinct(case.labels)
            for j in range(len(point))
        ]
        flat = {tuple(itertools.chain(*counts)) for counts in reached}
        assert flat == set(itertools.product(*sides)), case


def _low_and_beyond(
    case: strategies.Case, point: oracle.Row, label: oracle.Label, j: int
) -> tuple[int, int]:
    """Return low and high + 1 of one label and feature by their definition in T1."""
    sets = [
        set(oracle.candidates(row[j], case.domains[j]))
        for row, own in zip(case.rows, case.labels, strict=True)
        if own == label
    ]
    low = sum(options == {point[j]} for options in sets)
    high = sum(point[j] in options for options in sets)
    return low, high + 1


def test_remembering_supports_changes_nothing() -> None:
    """Outcomes from distinct counts equal those of a plain walk over worlds and completions."""
    rng = random.Random(20240602)
    for _ in range(80):
        case = strategies.random_case(rng)
        for point in case.points:
            plain = [
                oracle.supports(
                    world, case.labels, filled, case.domains, alpha=case.alpha, prior=case.prior
                )
                for world in oracle.worlds(case.rows, case.domains)
                for filled in oracle.completions(point, case.domains)
            ]
            quick = case.outcomes(point)
            assert {tuple(values.items()) for values in plain} == {
                tuple(values.items()) for values in quick
            }, case


def test_random_tables_cover_what_they_should() -> None:
    """The generator really makes ties, holes, sets, strange points and all kinds of verdicts."""
    rng = random.Random(20240603)
    met: Counter[str] = Counter()
    for _ in range(600):
        case = strategies.random_case(rng)
        cells = [cell for row in case.rows for cell in row]
        asked = [cell for point in case.points for cell in point]
        every = case.outcomes(case.points[0])
        facts = {
            "null": None in cells,
            "set": any(isinstance(cell, frozenset) for cell in cells),
            "forced": any(
                row[j] is None and len(domain) == 1
                for row in case.rows
                for j, domain in enumerate(case.domains)
            ),
            "declared": case.domains != oracle.seen_domains(case.rows, len(case.features)),
            "unseen": any(cell in strategies.UNSEEN for cell in asked),
            "open point": None in asked,
            "set in point": any(isinstance(cell, frozenset) for cell in asked),
            "tie": any(len(oracle.winners(values)) > 1 for values in every),
            "certain": oracle.certain(every),
            "open": not oracle.certain(every),
            "one label": len(set(case.labels)) == 1,
            "four labels": len(set(case.labels)) == 4,
            "loose": oracle.undominated(every) != oracle.possible_labels(every),
            "many worlds": len(strategies.holes(case)) >= 5,
        }
        assert oracle.certain(every) == (len(oracle.undominated(every)) == 1)
        met.update(facts)
    assert all(met.values()), met
