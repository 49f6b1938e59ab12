"""Cuts where the label changes: Fayyad and Irani's rule against a brute force that tries every cut."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.plain_bins import TooCloseError, true_cuts

from nullproof.tables import cuts as cuts_module
from nullproof.tables.bins import ONE_BIN, Rows, bin_edges, mdl_edges
from nullproof.tables.cuts import CELLS, between, cell_cuts, cells_of
from nullproof.tables.grids import Cells

Row = tuple[float, int]


def counted(rows: list[Row]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The distinct numbers of some rows, and their counts by label."""
    numbers, labels = sorted({x for x, _ in rows}), sorted({label for _, label in rows})
    counts = Counter(rows)
    return np.array(numbers), np.array([[counts[x, y] for y in labels] for x in numbers])


def mdl_cuts(values: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[float, ...]:
    """The cuts of a line on which every number is a cell of its own, counted by label."""
    which, labels = np.nonzero(counts)
    if not len(which):
        return ()
    cells = Cells(values, values, counts.sum(axis=1))
    return mdl_edges(cells, which, Rows(labels, counts[which, labels]))[1:-1]


def drawn_rows(rng: random.Random) -> list[Row]:
    """Rows whose labels follow their numbers more or less, often with ties."""
    size, n_labels = rng.randint(2, 40), rng.randint(1, 4)
    spread, noise = rng.choice((2, 4, 9, 40)), rng.choice((0, 0.1, 0.3, 1))
    rows = []
    for _ in range(size):
        x = rng.randrange(spread)
        label = x * n_labels // spread if rng.random() >= noise else rng.randrange(n_labels)
        rows.append((x * rng.choice((1.0, 0.75)), label))
    return rows


@pytest.mark.parametrize("seed", range(8))
def test_cuts_equal_those_of_the_brute_force(seed: int) -> None:
    """Every cut is tried, each piece is cut again, by the definition: the same neighbours are parted."""
    rng, close, cut = random.Random(seed), 0, 0
    for _ in range(150):
        rows = drawn_rows(rng)
        try:
            expected = true_cuts([(Fraction(x), label) for x, label in rows])
        except TooCloseError:
            close += 1
            continue
        cut += bool(expected)
        middles = tuple(float((a + b) / 2) for a, b in expected)
        assert mdl_cuts(*counted(rows)) == middles, (seed, rows)
    assert close < 15
    assert cut > 50


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        # H = 1, gain = 1 > (log2 5 + log2 7 - 2) / 6 = 0.52
        ("aaabbb", (3.5,)),
        # gain = 1 > (log2 1 + log2 7 - 2) / 2 = 0.40
        ("ab", (1.5,)),
        # The best cut leaves 2/3 bits: gain = 0.25 < (log2 2 + log2 7 - (1.84 - 2)) / 3 = 1.32
        ("aba", ()),
        # The best cut is after aa: gain = 0.459 < (log2 5 + log2 7 - (2 - 1.62)) / 6 = 0.79
        ("aababb", ()),
        # gain = 0.252 > (log2 35 + log2 7 - (1.84 - 2)) / 36 = 0.225, but not in half as many rows.
        ("a" * 12 + "b" * 12 + "a" * 12, (12.5, 24.5)),
        ("aaaaaabbbbbbaaaaaa", ()),
        # Three labels: gain = 0.918 > (log2 11 + log2 25 - (4.75 - 2)) / 12 = 0.44, then 4.5 again.
        ("aaaabbbbcccc", (4.5, 8.5)),
        ("aaaa", ()),
        ("a", ()),
        ("", ()),
    ],
)
def test_cuts_worked_out_by_hand(labels: str, expected: tuple[float, ...]) -> None:
    """The numbers 1, 2, … with these labels are cut there."""
    names = sorted({*labels})
    counts = np.array([[label == name for name in names] for label in labels], dtype=np.int64)
    values = np.arange(1.0, len(labels) + 1)
    assert mdl_cuts(values, counts.reshape(len(labels), len(names))) == expected


def test_a_tie_goes_to_the_lower_cut() -> None:
    """Counts that are their own mirror image tie; when one of the cuts pays, it is the lower one."""
    mirror = np.array([[30, 5], [4, 4], [5, 30]])
    assert mdl_cuts(np.arange(3.0), mirror) == (0.5,)
    assert mdl_cuts(np.arange(3.0), mirror[:, ::-1]) == (0.5,)


def test_a_tie_goes_to_the_cut_nearest_the_middle_by_rows() -> None:
    """The first cut and the last leave the same entropy; after the first the last would not pay."""
    counts = np.array([[0, 12, 0], [0, 0, 8], [0, 4, 0], [12, 8, 4]])
    assert mdl_cuts(np.arange(4.0), counts) == (0.5, 1.5, 2.5)


def test_edges_lie_between_neighbours() -> None:
    """The middle, or the upper neighbour where no double lies between; never the lower one."""
    tiny, huge = 5e-324, 1.7976931348623157e308
    above = math.nextafter(1.0, 2.0)
    assert between(1.0, above) == above
    assert between(above, math.nextafter(above, 2.0)) == math.nextafter(above, 2.0)
    assert between(0.0, tiny) == tiny
    assert between(-tiny, 0.0) == 0.0
    assert math.copysign(1.0, between(-tiny, 0.0)) == 1.0
    assert between(-huge, huge) == 0.0
    assert between(huge / 2, huge) == pytest.approx(0.75 * huge)
    assert between(math.nextafter(huge, 0.0), huge) == huge
    rng = np.random.default_rng(3)
    for low, high in np.sort(rng.normal(size=(500, 2)) * 10.0 ** rng.integers(-300, 300, (500, 1))):
        assert low < between(low, high) <= high


def random_column(seed: int, n: int = 300) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw whole numbers and labels that follow them."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(-1000, 1000, n).astype(np.float64)
    return cells, np.digitize(cells + rng.normal(size=n) * 200, [-300, 400]) * 1


def edges(cells: NDArray[Any], labels: NDArray[Any]) -> tuple[float, ...]:
    return bin_edges(cells, 5, "mdl", rows=Rows(labels))


@pytest.mark.parametrize("n", [300, 5000])
def test_neither_row_order_nor_names_of_labels_matter(n: int) -> None:
    """Shuffled rows, and labels numbered otherwise, have the same edges."""
    rng = np.random.default_rng(n)
    cells, labels = random_column(n, n)
    cells = cells + rng.normal(size=n)
    found = edges(cells, labels)
    assert len(found) > 3
    for _ in range(5):
        order, names = rng.permutation(n), rng.permutation(5)
        assert edges(cells[order], names[labels[order]]) == found


@pytest.mark.parametrize("seed", range(10))
def test_shifts_and_powers_of_two_move_the_edges(seed: int) -> None:
    """Edges move with the numbers, as long as doubles hold these exactly."""
    cells, labels = random_column(seed)
    found = np.array(edges(cells, labels))
    assert len(found) > 2
    for shift, scale in ((0, 2.0**40), (0, 2.0**-900), (2.0**30, 1), (-17, 0.5), (3, -4)):
        moved = np.array(edges((cells + shift) * scale, labels))
        expected = (found + shift) * scale
        if scale > 0:
            assert moved.tolist() == expected.tolist()
        else:
            assert len(moved) == len(expected)


@pytest.mark.parametrize("n_labels", [2, 4])
def test_noise_is_not_cut(n_labels: int) -> None:
    """Of 1,000 columns that say nothing of the label at most 1 % are cut."""
    rng = np.random.default_rng(20 + n_labels)
    cut = 0
    for _ in range(1000):
        n = int(rng.integers(100, 500))
        cells = rng.choice(
            np.array([rng.normal(size=n), rng.integers(0, 9, n), rng.random(n) ** 9])
        )
        cut += edges(cells, rng.integers(0, n_labels, n)) != ONE_BIN
    assert cut <= 10


def plain_cells(totals: list[int]) -> list[int]:
    """The cell of each number by the definition, number by number."""
    n_rows = sum(totals)
    n_light = sum(total for total in totals if total * CELLS < n_rows)
    begin, cell, found = 0, -1, []
    before: int | None = None
    for total in totals:
        heavy = total * CELLS >= n_rows
        share = None if heavy else begin * CELLS // n_light
        cell += heavy or share != before
        begin, before = begin + (0 if heavy else total), share
        found.append(cell)
    return found


@pytest.mark.parametrize("seed", range(5))
def test_cells_hold_about_equally_many_rows(seed: int) -> None:
    """About 1,024 cells; none holds two shares of the rows unless it is one number alone."""
    rng = np.random.default_rng(seed)
    totals = rng.integers(1, 10, int(rng.integers(1025, 9000)))
    totals[rng.integers(0, len(totals), seed)] = 10 ** rng.integers(2, 6)
    cells = cells_of(totals)
    assert cells.tolist() == plain_cells(totals.tolist())
    rows = np.bincount(cells, totals)
    many = rows > 2 * totals.sum() / CELLS
    assert (np.bincount(cells)[many] == 1).all()
    assert CELLS / 2 < len(rows) <= CELLS + 2 * seed
    few = totals[:CELLS]
    assert cells_of(few).tolist() == [*range(CELLS)]


def test_many_numbers_are_cut_between_cells() -> None:
    """The edge between two labels is found to a cell; a number of many rows is told from its neighbours."""
    values = np.arange(100_000.0)
    counts = np.stack([values < 31_415, values >= 31_415], axis=1).astype(np.int64)
    # The cell that holds both labels has one of the other on each side.
    cuts = np.array(mdl_cuts(values, counts))
    assert (np.abs(cuts - 31_415) <= 100_000 / CELLS).all()
    counts[:, :] = 1
    counts[50_000] = (1, 5000)
    assert mdl_cuts(values, counts) == (49_999.5, 50_000.5)


def test_equal_neighbours_are_not_parted() -> None:
    """Moments that no double parts stay together, whatever their labels."""
    values, counts = np.array([1.0, 1.0, 2.0, 2.0]), np.array([[9, 0], [0, 9], [9, 0], [0, 9]])
    assert cell_cuts(values, values, counts) == ()
    assert mdl_cuts(values, np.array([[9, 0], [9, 0], [0, 9], [0, 9]])) == (1.5,)


def test_many_labels() -> None:
    """So many labels that three to their number is no double."""
    n = 700
    counts = np.eye(n, dtype=np.int64) * 1000
    assert len(mdl_cuts(np.arange(float(n)), counts)) == n - 1


def test_a_gain_that_hardly_exceeds_its_price_does_not_pay() -> None:
    """Between 2**-37 and 2**-36 bits a row above its price (worked out to 50 digits), it is no gain."""
    ends = np.array([0.0, 1.0])
    for left, right, cuts in (
        ((251_453, 248_572), (248_469, 251_444), ()),
        ((251_382, 248_407), (248_472, 251_352), ()),
        ((251_453 + 60, 248_572 - 60), (248_469, 251_444), (0.5,)),
    ):
        assert cell_cuts(ends, ends, np.array([left, right])) == cuts


def test_at_exactly_the_slack(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best cut ties with itself, however small the slack; a gain must exceed its price by more."""
    monkeypatch.setattr(cuts_module, "_SLACK", 0.0)
    counts = np.array([[3, 0], [3, 0], [0, 3], [0, 3]])
    assert mdl_cuts(np.arange(4.0), counts) == (1.5,)
    # Five rows of one label: the gain is 10 - 0 - 4, the price log2 4 + log2 1 - (10/5 - 0 - 4/4) = 1.
    monkeypatch.setattr(cuts_module, "_SLACK", 1.0)
    parts = [[5, 5], [1, 1], [4, 4]]
    assert not cuts_module._pays(parts, [10.0, 0.0, 4.0])
    assert cuts_module._pays(parts, [math.nextafter(10.0, 11.0), 0.0, 4.0])


def test_of_mirrored_cuts_the_lower_one_is_taken() -> None:
    """Lines that are their own mirror image with labels renamed tie, whatever their logarithms round to."""
    rng, n_cut = np.random.default_rng(8), 0
    for _ in range(300):
        n_labels, n_cells = int(rng.integers(3, 7)), int(rng.integers(3, 9))
        half = rng.integers(0, 1000, (n_cells // 2, n_labels)) * rng.integers(0, 2, n_labels)
        half[:, 0] += 1  # every cell has rows
        renamed = np.arange(n_labels)[::-1]
        middle = rng.integers(1, 1000, (n_cells % 2, n_labels))
        counts = np.concatenate([half, middle + middle[:, renamed], half[::-1, renamed]])
        found = cuts_module._best(cuts_module._running(counts))
        if found is not None:
            n_cut += 1
            assert found <= n_cells / 2
    assert n_cut > 100


def test_labels_stand_in_an_order_of_their_counts() -> None:
    """By those in the last cell, then in the one before; labels without rows are left out."""
    counts = np.array([[3, 0, 1, 0], [2, 0, 5, 1], [0, 0, 1, 4]])
    expected = cuts_module._running(counts)
    assert expected.shape == (4, 4)
    assert expected[:, 0].tolist() == [0, 0, 0, 0]
    assert expected[:-1, 1].tolist() == [3, 1, 0]
    assert sorted(expected[:-1, -1].tolist()) == [5, 5, 7]
    assert expected[-1].tolist() == [0, 4, 12, 17]
    for order in ([1, 0, 3, 2], [3, 2, 1, 0], [2, 3, 0, 1]):
        assert cuts_module._running(counts[:, order]).tolist() == expected.tolist()


def test_labels_that_differ_in_one_cell() -> None:
    """They stand in the order of that cell, whichever it is."""
    for cell in range(4):
        counts = np.array([[3, 3], [5, 5], [1, 1], [4, 4]])
        counts[cell] = (300, 7)
        running = [cuts_module._running(one)[:-1, -1].tolist() for one in (counts, counts[:, ::-1])]
        assert running[0] == running[1] == sorted(counts.sum(axis=0).tolist())


def test_logarithms_are_the_same_looked_up() -> None:
    """What is looked up for fewer than 4,096 rows is what is worked out for as many."""
    for n_rows in (4095, 4096):
        counts = np.array([[1, 1000, n_rows - 1], [0, n_rows - 1000, 1], [1, n_rows, n_rows]])
        worked_out = cuts_module._bits(counts, 10**6)
        assert cuts_module._bits(counts, n_rows).tolist() == worked_out.tolist()
        half = n_rows // 2
        assert mdl_cuts(np.array([0.0, 1.0]), np.array([[half, 0], [0, n_rows - half]])) == (0.5,)


def test_1024_cells() -> None:
    """Up to 1,024 cells stay as they are; of one more with equally many rows two are put together."""
    assert cells_of(np.ones(1024, dtype=np.int64)).tolist() == [*range(1024)]
    assert int(cells_of(np.ones(1025, dtype=np.int64))[-1]) == 1023
    # One in 1,024 rows is enough to stay alone, also where it begins in the middle of a share.
    for place in (1000, 1001):
        totals = np.ones(2047, dtype=np.int64)
        totals[place] = 2
        cells = cells_of(totals)
        assert (cells == cells[place]).sum() == 1
