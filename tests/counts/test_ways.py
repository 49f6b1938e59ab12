"""Every way from a table to an index counts as a plain counter does that knows only ``docs/values.md``.

``NULLPROOF_WAYS_TABLES`` (20000) sets how many random tables, ``NULLPROOF_SEED`` says where they start.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from support import nasty_tables, refusals
from support.checking import (
    ALL_OPTIONS,
    MORE,
    SEED,
    SOME_OPTIONS,
    Options,
    carried,
    none_of,
    point_problems,
    problems,
    round_trip_problems,
)
from support.plain_counter import Table
from support.ways import TEXT_WAYS, TYPED_WAYS, Way

from nullproof.counts.index import CountIndex
from nullproof.errors import NullproofError

pytestmark = [
    pytest.mark.filterwarnings("ignore::nullproof.errors.NullproofWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]
typed_ways = pytest.mark.parametrize("way", TYPED_WAYS, ids=lambda way: way.name)
text_ways = pytest.mark.parametrize("way", TEXT_WAYS, ids=lambda way: way.name)
all_ways = pytest.mark.parametrize("way", [*TYPED_WAYS, *TEXT_WAYS], ids=lambda way: way.name)


def drawn_table(way: Way, rng: random.Random) -> Table:
    """Draw a table of the sort that a way carries."""
    if way in TEXT_WAYS:
        return nasty_tables.written_table(rng)
    return nasty_tables.typed_table(rng)


@pytest.mark.parametrize("options", SOME_OPTIONS, ids=str)
@typed_ways
def test_all_cells_of_all_types(way: Way, options: Options, tmp_path: Path) -> None:
    """Each type with all of its nasty cells, with and without holes, has the true counts."""
    found: list[str] = []
    # Where a count is dear, holes come with every other options.
    both = (True, False) if way.n_tables > 50 else (ALL_OPTIONS.index(options) % 2 == 0,)
    for holes in both:
        table = nasty_tables.whole_table(random.Random(SEED), holes)
        found += problems(way, carried(way, table), options, tmp_path)
    none_of(found)


@pytest.mark.parametrize("first", [0.35, 0.7])
@all_ways
def test_cuts_of_all_types(way: Way, first: float, tmp_path: Path) -> None:
    """Columns that the label follows are cut between the same two cells, however near these are."""
    if way in TEXT_WAYS:
        table = nasty_tables.whole_written_table(random.Random(SEED))
    else:
        table = nasty_tables.whole_table(random.Random(SEED), holes=first < 0.4)
    table, options = nasty_tables.cut_table(table, first), Options(binning="mdl")
    none_of(problems(way, carried(way, table), options, tmp_path))


@typed_ways
def test_columns_without_a_known_cell(way: Way, tmp_path: Path) -> None:
    """Columns of holes are left out; those whose type declares values have these for a domain."""
    table = nasty_tables.empty_table(random.Random(SEED))
    for options in ALL_OPTIONS[:2]:
        none_of(problems(way, carried(way, table), options, tmp_path))


@pytest.mark.parametrize("options", SOME_OPTIONS, ids=str)
@text_ways
def test_all_texts_of_files(way: Way, options: Options, tmp_path: Path) -> None:
    """A column of a text file is what all of its known texts are, and has the true counts."""
    table = nasty_tables.whole_written_table(random.Random(SEED))
    none_of(problems(way, carried(way, table), options, tmp_path))


@all_ways
def test_random_tables(way: Way, tmp_path: Path) -> None:
    """Small tables of few and repeated cells, labels of any type, in parts that may be empty."""
    found: list[str] = []
    for number in range(round(way.n_tables * MORE)):
        seed = f"{SEED}-{number}"
        rng = random.Random(seed)
        table, options = drawn_table(way, rng), Options.drawn(rng)
        wrong = problems(way, carried(way, table), options, tmp_path)
        found += [f"seed {seed}: {problem}" for problem in wrong]
    none_of(found)


@all_ways
def test_points_and_round_trips(way: Way, tmp_path: Path) -> None:
    """Rows that come as points any way have the codes, and so the certificates, of the truth.

    An index that was saved is the same when loaded, and so is one counted like it another way.
    """
    found: list[str] = []
    others = [
        other for other in (*TYPED_WAYS, *TEXT_WAYS) if (other in TEXT_WAYS) == (way in TEXT_WAYS)
    ]
    for number in range(round(way.n_tables * MORE / 4)):
        seed = f"{SEED}-points-{number}"
        rng = random.Random(seed)
        table, options = drawn_table(way, rng), Options.drawn(rng)
        other = rng.choice(others)
        wrong = [
            *point_problems(way, table, options, tmp_path),
            *round_trip_problems(way, other, table, options, tmp_path),
        ]
        found += [f"seed {seed}: {problem}" for problem in wrong]
    none_of(found)


# Refusals ----------------------------------------------------------------------------------------


@typed_ways
def test_labels_with_holes_are_refused(way: Way, tmp_path: Path) -> None:
    """A label is never missing: not None, not NaN, not a named spelling."""
    found: list[str] = []
    for table, options in refusals.labels_with_holes():
        found += problems(way, carried(way, table), options, tmp_path)
    none_of(found)


@pytest.mark.parametrize("name", refusals.TYPES)
def test_types_that_are_not_counted_are_refused(name: str, tmp_path: Path) -> None:
    """Structs, maps and bytes are refused in one sentence that names the column, whatever the way."""
    none_of(refusals.unrefused(name, tmp_path))


@pytest.mark.parametrize("name", refusals.FILES)
@pytest.mark.parametrize("limit", [None, "200MB"])
def test_broken_text_files_are_refused(name: str, limit: str | None, tmp_path: Path) -> None:
    """Files that are not UTF-8, ragged, or hold an integer of too many digits are refused."""
    path = tmp_path / "a.csv"
    path.write_bytes(refusals.FILES[name])
    with pytest.raises(NullproofError):
        CountIndex.from_table(str(path), "label", memory_limit=limit)
