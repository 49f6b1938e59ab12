"""Excel files (.xlsx): one sheet as a table, read by fastexcel once nothing in the file can hurt it."""

from __future__ import annotations

import importlib
import logging
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

from nullproof.errors import NullproofError, missing_extra, notice
from nullproof.tables.contents import KINDS, Content, FileOptions
from nullproof.tables.headers import numbered_names, refuse_repeated, tell_of_data, with_names
from nullproof.tables.text_files import mixes_up
from nullproof.tables.values import date_text, text, time_text
from nullproof.words import cut, some

if TYPE_CHECKING:
    import polars as pl

_WORKBOOK = "xl/workbook.xml"
_SHEETS = "xl/worksheets/"
_BLOCK = 1 << 22
_CELL = rb"""r\s*=\s*["']"""
_COLUMNS = re.compile(_CELL + rb"([A-Za-z]{1,3})[0-9]")
_ROWS = re.compile(_CELL + rb"[A-Za-z]{1,3}([0-9]{1,9})")
_LATE_ROWS = re.compile(_CELL + rb"[A-Za-z]{1,3}([0-9]{6,9})")
_BOOLEAN = re.compile(rb"""\st\s*=\s*["']b["']""")
# How the reader writes numbers and moments among texts, and some texts look.
_NO_TEXT = r"^-?[0-9]"
# A moment without a day, in milliseconds since 1970: the day before the first that Excel has.
_DAY = 86_400_000
_NO_DAY = -25_568 * _DAY
# The reader keeps every cell between the outermost ones; about 30 bytes each.
_MOST_CELLS = 50_000_000
_NUMBERED = re.compile(r"_[0-9]+$")
_SILENCE = logging.NullHandler()
_DAMAGE = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, ValueError)


def read_excel(content: Content, *, as_text: Collection[str], options: FileOptions) -> pl.DataFrame:
    """Read the sheet that is named, or the first that has cells."""
    has_booleans = _refuse_damage(content)
    try:
        fastexcel = importlib.import_module("fastexcel")
    except ImportError:
        raise missing_extra("reading an Excel file", "excel") from None
    for logger in ("fastexcel", "calamine"):
        # They log every empty column; whoever logs himself still gets that.
        logging.getLogger(logger).addHandler(_SILENCE)
    try:
        book = fastexcel.read_excel(
            str(content.path) if content.data is None else content.data  # a path is not copied
        )
        if options.sheet is None:
            name, sheet = _first_sheet(book, content, options.header)
        else:
            name = options.sheet
            sheet = _named_sheet(book, name, content, options.header)
        names, frame = _table(book, name, sheet, content, options.header)
        mixed = [s.name for s in frame if _may_be_mixed(s, has_booleans)]
        if mixed:
            frame = frame.with_columns(_mixed(book, name, options.header, frame.height, mixed))
        where = f"the sheet {name!r} of {content.name}"
        return _typed(with_names(frame, names, where), as_text)
    except BaseException as problem:
        if type(problem).__module__.partition(".")[0] not in (
            "fastexcel",
            "_fastexcel",
            "pyo3_runtime",
        ):
            raise
        said = " ".join(str(problem).split("Context:")[0].split())[:200]
        raise NullproofError(
            f"{content.name} is not an Excel file that can be read: {said}; save it again as .xlsx, or "
            "as CSV"
        ) from problem


def _load(book: Any, name: str, has_header: bool) -> Any:
    """Parse a sheet; the one thing here that takes long."""
    return book.load_sheet(name, header_row=0 if has_header else None, schema_sample_rows=None)


def _named_sheet(book: Any, name: str, content: Content, has_header: bool) -> Any:
    if name not in book.sheet_names:
        raise NullproofError(
            f"{content.name} has no sheet {name!r}; it has {some(map(repr, book.sheet_names), 10)}"
        )
    sheet = _load(book, name, has_header)
    if not sheet.width:
        raise NullproofError(f"the sheet {name!r} of {content.name} is empty; name another sheet")
    return sheet


def _first_sheet(book: Any, content: Content, has_header: bool) -> tuple[str, Any]:
    """The first sheet that has cells, and a notice if others have some too."""
    name, sheet, left = "", None, list(book.sheet_names)
    while left and (sheet is None or not sheet.width):
        name = left.pop(0)
        sheet = _load(book, name, has_header)
    if sheet is None or not sheet.width:
        raise content.empty()
    filled = [name, *(other for other in left if _head(book, other).height)]
    if len(filled) > 1:
        notice(
            f"{content.name} has {len(filled)} sheets with cells ({some(map(repr, filled), 10)}) and the "
            "first was read; name another with sheet= or --sheet"
        )
    return name, sheet


def _head(book: Any, name: str) -> pl.DataFrame:
    """The first row of a sheet, as text."""
    options = {"header_row": None, "n_rows": 1, "dtypes": "string"}
    frame: pl.DataFrame = book.load_sheet(name, **options).to_polars()
    return frame


def _names(book: Any, name: str, sheet: Any) -> list[str]:
    """The names as they are written: the reader makes up some and tells repeated ones apart."""
    columns = sheet.available_columns()
    names = [column.name for column in columns]
    made_up = any(column.column_name_from != "looked_up" for column in columns)
    if made_up or any(_NUMBERED.sub("", own) in names for own in names if _NUMBERED.search(own)):
        return [cell or "" for cell in _head(book, name).row(0)]
    return names


def _table(
    book: Any, name: str, sheet: Any, content: Content, has_header: bool
) -> tuple[list[str], pl.DataFrame]:
    """The names of the columns, and their cells as the reader has them."""
    where = f"the sheet {name!r} of {content.name}"
    header = _names(book, name, sheet) if has_header else numbered_names(sheet.width)
    if has_header:
        refuse_repeated(header, where)
        tell_of_data(header, where)
    frame = _without_last_blanks(sheet.to_polars())
    if not frame.height:
        raise NullproofError(f"{where} has a header but no rows; give at least one row")
    return header, frame


def _without_last_blanks(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows up to the last that has a cell."""
    import polars as pl

    held = frame.select(pl.any_horizontal(pl.all().is_not_null()).alias("held"))["held"]
    places = held.arg_true()
    return frame.head(int(places[-1]) + 1 if len(places) else 0)


def _may_be_mixed(series: pl.Series, has_booleans: bool) -> bool:
    """Whether cells of a column may be of several kinds, which the reader brings to one in its own way."""
    import polars as pl

    if series.dtype == pl.String:
        return bool(series.str.contains(_NO_TEXT).any())
    if series.dtype == pl.Datetime:
        return bool(_without_day(series.dt.timestamp("ms")).any())
    if not has_booleans or not series.dtype.is_numeric():
        return False
    return bool(((series == 0) | (series == 1)).any())


def _without_day(moments: pl.Series) -> pl.Series:
    return moments.is_between(_NO_DAY, _NO_DAY + _DAY, closed="left").fill_null(value=False)


def _mixed(
    book: Any, name: str, has_header: bool, n_rows: int, columns: Collection[str]
) -> list[pl.Series]:
    """Columns that may be of several kinds, by what each of their cells is.

    Left alone, the reader takes true for 1 among numbers, and rounds numbers among texts to nine digits.
    """
    header = 0 if has_header else None
    kinds = [
        book.load_sheet(name, header_row=header, dtypes=kind).to_polars().head(n_rows)
        for kind in ("string", "float", "boolean", "datetime")
    ]
    return [_by_cells(*(kind[column] for kind in kinds)) for column in columns]


def _by_cells(
    written: pl.Series, numbers: pl.Series, truths: pl.Series, moments: pl.Series
) -> pl.Series:
    """One column, read as four types: numbers or times of day if all cells are, else texts."""
    import polars as pl

    # Numbers have a truth value too, texts have none; besides numbers only moments are read as moments.
    is_number = truths.is_not_null() & ~written.is_in(["true", "false"])
    ticks = moments.dt.timestamp("ms").set(truths.is_not_null(), None)
    known = written.is_not_null()
    if is_number.equals(known):
        return numbers
    if _without_day(ticks).equals(known):
        return moments.dt.time()
    cells = zip(written, numbers.set(~is_number, None), ticks, strict=True)
    return pl.Series(written.name, [_written(*cell) for cell in cells], pl.String)


def _written(written: str | None, number: float | None, tick: int | None) -> str | None:
    if number is not None:
        return text(number)
    if tick is None:
        return written
    time = tick - _NO_DAY
    return time_text(time * 1_000_000) if 0 <= time < _DAY else date_text(tick * 1000)


def _typed(frame: pl.DataFrame, as_text: Collection[str]) -> pl.DataFrame:
    """Whole numbers as such (Excel has doubles only), and texts where they are asked for."""
    import polars as pl

    columns = {}
    for series in frame:
        if series.dtype.is_float() and not mixes_up(series) and _are_whole(series):
            series = series.cast(pl.Int64)
        if series.name in as_text and series.dtype != pl.String:
            series = pl.Series(
                series.name, [None if x is None else text(x) for x in series.to_list()], pl.String
            )
        columns[series.name] = series
    return pl.DataFrame(columns)


def _are_whole(series: pl.Series) -> bool:
    known = series.drop_nulls()
    return bool((known == known.round()).all())


def _refuse_damage(content: Content) -> bool:
    """Unpack the file once, with its checksums: no part is damaged, and no cell lies too far out.

    Tells whether some cell may be true or false.
    """
    has_booleans = False
    try:
        with content.open() as stream, zipfile.ZipFile(stream) as archive:
            _refuse_other_archives(content, archive)
            for part in archive.infolist():
                if part.filename.startswith(_SHEETS):
                    has_booleans |= _refuse_far_cells(content, lambda: _blocks(archive, part))  # noqa: B023
                else:
                    for _ in _blocks(archive, part):
                        pass
    except NullproofError:
        raise
    except _DAMAGE as problem:
        raise NullproofError(
            f"{content.name} is a damaged Excel file: {cut(str(problem), 200)}; save it again as .xlsx, "
            "or as CSV"
        ) from problem
    return has_booleans


def _blocks(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """A part, unpacked; each block begins with the end of the one before it."""
    rest = b""
    with archive.open(part) as unpacked:
        while block := unpacked.read(_BLOCK):
            # The name of a cell may lie across two blocks.
            yield rest + block
            rest = block[-20:]


def _refuse_other_archives(content: Content, archive: zipfile.ZipFile) -> None:
    names = archive.namelist()
    if _WORKBOOK in names:
        return
    if "mimetype" in names and b"opendocument" in archive.read("mimetype")[:100]:
        what = "is an OpenDocument file (.ods); save it as .xlsx or CSV"
    elif any(name.startswith("xl/") for name in names):
        what = "is a binary Excel file (.xlsb); save it as .xlsx or CSV"
    else:
        what = f"is a zip archive; unpack it and give a {KINDS}"
    raise NullproofError(f"{content.name} {what}")


def _refuse_far_cells(content: Content, blocks: Callable[[], Iterator[bytes]]) -> bool:
    """One cell at the far end of a sheet would make the reader fill the memory with empty ones.

    Tells whether some cell may be true or false.
    """
    has_booleans = False
    letters: set[bytes] = set()
    rows: set[bytes] = {b"99999"}
    for block in blocks():
        letters.update(_COLUMNS.findall(block))
        rows.update(_LATE_ROWS.findall(block))
        has_booleans = has_booleans or _BOOLEAN.search(block) is not None
    n_columns = max(map(_place, letters), default=1)
    if n_columns * max(map(int, rows)) <= _MOST_CELLS:
        return has_booleans
    # So far all rows up to the 99,999th were taken for that one, which saves time.
    n_rows = max(int(row) for block in blocks() for row in {b"1", *_ROWS.findall(block)})
    if n_columns * n_rows > _MOST_CELLS:
        raise NullproofError(
            f"{content.name} has cells as far out as row {n_rows:,} and column {n_columns:,}; delete those "
            "that lie outside the table, or save the sheet as CSV"
        )
    return has_booleans


def _place(letters: bytes) -> int:
    """The number of a column, from A = 1."""
    place = 0
    for letter in letters.upper():
        place = place * 26 + letter - ord("A") + 1
    return place
