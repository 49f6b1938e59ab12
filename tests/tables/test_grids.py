"""Cells of a line of numbers: by the definition, without rounding but that of one difference."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from nullproof.tables.grids import GRID, SHARE, Stretches, dealt, dense, gathered, tally

Row = tuple[Any, int]


def plain_cells(rows: list[Row], n_rows: int) -> list[list[Row]]:
    """The cells of some numbers, each with how often it occurs, in order: theory 11 word by word."""
    low, high = rows[0][0], rows[-1][0]
    if low == high or sum(n for _, n in rows) * 1024 <= n_rows:
        return [rows]
    offsets = [difference(x, low, high) for x, _ in rows]
    width = Fraction(1)
    while offsets[-1] / width >= 2**14:
        width *= 2
    while offsets[-1] / width < 2**13:
        width /= 2
    numbered: dict[int, list[Row]] = {}
    for row, offset in zip(rows, offsets, strict=True):
        numbered.setdefault(offset // width, []).append(row)
    found: list[list[Row]] = []
    run: list[Row] = []
    for number in sorted(numbered):
        cell = numbered[number]
        crowded = len(cell) > 1 and sum(n for _, n in cell) * 1024 > n_rows
        if run and not (crowded and number - 1 in numbered):
            found += plain_cells(run, n_rows)
            run = []
        if crowded:
            run = run + cell
        else:
            found.append(cell)
    return found + (plain_cells(run, n_rows) if run else [])


def difference(x: Any, low: Any, high: Any) -> Fraction:
    """How far a number is from the least one, as a double; half of it where the whole is none."""
    half = 2 if Fraction(high) - Fraction(low) >= 2**1024 - 2**970 else 1
    return Fraction(float((Fraction(x) - Fraction(low)) / half))


def drawn(rng: random.Random) -> list[float]:
    """Numbers that crowd in many ways."""
    n = rng.choice((2, 30, 500, 3000, 9000))
    kind = rng.randrange(7)
    scale = 2.0 ** rng.choice((0, 0, -1060, 1000, 40))
    if kind == 0:
        return [rng.gauss(0, 1) * scale for _ in range(n)]
    if kind == 1:
        return [math.exp(rng.gauss(0, 1) * rng.choice((1, 9))) for _ in range(n)]
    if kind == 2:
        return [float(rng.randrange(50)) * scale for _ in range(n)]
    if kind == 3:
        return [rng.choice((0.0, 0.0, rng.random() ** 40)) for _ in range(n)]
    if kind == 4:
        return [rng.choice((-1.7e308, 1.7e308)) * rng.random() for _ in range(n)]
    if kind == 5:
        return [rng.choice((1e6, 5.0, -3e9)) + rng.random() * 1e-3 for _ in range(n)]
    return [rng.choice((5e-324, 1e-300, 1.0, 1e300, -1e-5, rng.random())) for _ in range(n)]


@pytest.mark.parametrize("seed", range(60))
def test_cells_by_the_definition(seed: int) -> None:
    """The same cells as word by word, with and without weights, and in any order of rows."""
    rng = random.Random(seed)
    numbers = drawn(rng)
    distinct = sorted({*numbers})
    counts = dict.fromkeys(distinct, 0)
    for x in numbers:
        counts[x] += 1
    expected = plain_cells([(x, counts[x]) for x in distinct], len(numbers))
    cells, which = dealt(np.array(numbers))
    assert cells.lows.tolist() == [cell[0][0] for cell in expected]
    assert cells.highs.tolist() == [cell[-1][0] for cell in expected]
    assert cells.totals.tolist() == [sum(n for _, n in cell) for cell in expected]
    places = {x: k for k, cell in enumerate(expected) for x, _ in cell}
    assert which.tolist() == [places[x] for x in numbers]
    weights = np.array([counts[x] for x in distinct])
    weighed, place = dealt(np.array(distinct), weights)
    assert weighed.totals.tolist() == cells.totals.tolist()
    assert place.tolist() == [places[x] for x in distinct]


def test_up_to_2047_rows_every_number_is_a_cell() -> None:
    """Then two numbers of one cell always crowd."""
    numbers = np.random.default_rng(1).normal(size=2 * SHARE - 1) ** 9
    assert len(dealt(numbers)[0].lows) == len(numbers)


def test_no_cell_is_crowded() -> None:
    """A cell of several numbers has at most one in 1,024 rows; a heavy number is alone."""
    rng = np.random.default_rng(2)
    numbers = np.concatenate([np.zeros(30_000), np.exp(rng.normal(size=70_000) * 5)])
    cells, _ = dealt(numbers)
    several = cells.lows < cells.highs
    assert int(cells.totals[several].max()) * SHARE <= len(numbers)
    assert cells.totals[~several].max() == 30_000
    assert len(cells.lows) < 2 * GRID


def edges_of(numbers: NDArray[Any]) -> list[float]:
    cells, _ = dealt(numbers)
    return [*cells.lows.tolist(), *cells.highs.tolist()]


def test_shifts_and_powers_of_two_move_the_cells() -> None:
    """Cells move with the numbers, as long as doubles hold these exactly; moments as whole numbers."""
    whole = np.random.default_rng(3).integers(-(10**7), 10**7, 20_000)
    numbers = whole.astype(np.float64)
    found = edges_of(numbers)
    for shift, scale in ((0, 2.0**900), (0, 2.0**-1060), (3.0 * 2**30, 1), (-17, 0.5)):
        expected = [(x + shift) * scale for x in found]
        assert edges_of((numbers + shift) * scale) == expected
    assert edges_of(whole) == found
    assert edges_of(whole + 2**60) == [int(x) + 2**60 for x in found]


def assert_plain(numbers: list[Any], n_rows: int | None = None) -> int:
    """Compare the cells with those by the definition; give how many there are."""
    counts = Counter(numbers)
    rows = sorted(counts.items())
    expected = plain_cells(rows, n_rows or len(numbers))
    cells, which = dealt(np.array(numbers), n_rows=n_rows)
    assert cells.lows.tolist() == [cell[0][0] for cell in expected]
    assert cells.highs.tolist() == [cell[-1][0] for cell in expected]
    places = {x: k for k, cell in enumerate(expected) for x, _ in cell}
    assert which.tolist() == [places[x] for x in numbers]
    return len(expected)


@pytest.mark.parametrize("power", [12, 13, 14, -990, -1060, 1023])
def test_lines_of_every_width(power: int) -> None:
    """Also where cells are as wide as 1 or 2, and where widths are hardly doubles."""
    rng = random.Random(power)
    assert_plain([rng.random() ** 3 * 2.0**power for _ in range(2100)])


def test_several_stretches() -> None:
    """Two crowded stretches, of the same and of very different widths, side by side and apart."""
    rng = random.Random(5)
    for scales, step in (
        ((1.0, 1.0), 16384.0),
        ((1.0, 1e-300), 1.0),
        ((1.0, 1e-6, 1e-320), 1e3),
    ):
        numbers = [
            k * step + rng.random() ** 9 * scale * step / 3e4
            for k, scale in enumerate(scales)
            for _ in range(2200 // len(scales))
        ]
        assert assert_plain([*numbers, -step, 4 * step]) > len(scales)


def test_a_stretch_of_a_longer_line() -> None:
    """What is crowded follows from the rows of the whole line."""
    rng = random.Random(6)
    numbers = [rng.random() ** 5 for _ in range(2200)]
    sizes = [assert_plain(numbers, n_rows) for n_rows in (2200, 22_000, 2200 * 1024)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > sizes[1]
    assert sizes[-1] == 1
    # Exactly one in 1,024 rows does not crowd.
    assert len(dealt(np.array(numbers), n_rows=2200 * 1024)[0].lows) == 1
    assert len(dealt(np.array(numbers), n_rows=2200 * 1024 - 1)[0].lows) > 1


def test_cells_of_two_stretches_are_no_neighbours() -> None:
    """The last cell of one is not beside the first of the next, even where a stretch has all its cells."""
    stretches = Stretches(np.array([0.0, 16384.0]), np.array([16383.0, 32767.0]))
    ends = stretches.keys(
        np.array([0.0, 16382.0, 16383.0, 16384.0, 32767.0]), np.array([0, 0, 0, 1, 1])
    )
    assert np.diff(ends[:3]).tolist() == [GRID - 2, 1]
    assert ends[3] - ends[2] > 1
    assert ends[4] - ends[3] == GRID - 1


@pytest.mark.parametrize("power", [0, 1, -1, -600, -1040])
def test_each_stretch_has_cells_of_its_own_width(power: int) -> None:
    """Also where the cells of one alone are as wide as 1, or need two factors."""
    width = 2.0**power
    stretches = Stretches(np.array([0.0, 16384.0]), np.array([8192.0 * width, 24576.0]))
    spots = np.array([0.0, width, 1.5 * width, 8191.0 * width, 16384.0, 16385.5, 24575.0])
    keys = stretches.keys(spots, np.array([0] * 4 + [1] * 3))
    assert (keys[:4] - keys[0]).tolist() == [0, 1, 1, 8191]
    assert (keys[4:] - keys[4]).tolist() == [0, 1, 8191]


@pytest.mark.parametrize("n_rows", [200, 3000])
@pytest.mark.parametrize("n_codes", [1, 2, 6, 8, 300])
def test_rows_of_each_code(n_codes: int, n_rows: int) -> None:
    """Each row counts once, or as often as its weight says; codes without rows count nothing."""
    rng = random.Random(n_codes)
    codes = [rng.randrange(n_codes) for _ in range(n_rows)]
    weights = [rng.randrange(5) for _ in codes]
    plain, weighed = Counter(codes), Counter[int]()
    for code, weight in zip(codes, weights, strict=True):
        weighed[code] += weight
    for given, expected in ((None, plain), (np.array(weights), weighed)):
        found = tally(np.array(codes), given, n_codes + 2)
        assert found.dtype == np.int64
        assert found.tolist() == [expected[code] for code in range(n_codes + 2)]


@pytest.mark.parametrize("far", [0, 40, 2**21, 2**31, 2**40])
def test_distinct_keys(far: int) -> None:
    """Each key once, in order, and the place of every key; however far they lie apart."""
    keys = np.array([7, far + 9, 7, 0, far + 9, 3])
    found, where = dense(keys)
    assert found.tolist() == sorted({*keys.tolist()})
    assert found[where].tolist() == keys.tolist()


def test_groups_put_together() -> None:
    """The least of the least and the greatest of the greatest, and the rows of all."""
    lows, highs = np.array([3.0, 1.0, 5.0]), np.array([4.0, 2.5, 5.0])
    cells = gathered((lows, highs), np.array([0, 0, 2]), np.array([10, 1, 7]), 3)
    assert cells.lows.tolist() == [1.0, math.inf, 5.0]
    assert cells.highs.tolist() == [4.0, -math.inf, 5.0]
    assert cells.totals.tolist() == [11, 0, 7]
    whole = gathered((lows.astype(int), highs.astype(int)), np.array([0, 0, 2]), None, 3)
    assert whole.lows.tolist() == [1, 2**63 - 1, 5]
    assert whole.highs.tolist() == [4, -(2**63), 5]
    assert whole.totals.tolist() == [2, 0, 1]
