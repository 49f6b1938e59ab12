"""Excel files made cell by cell."""

from __future__ import annotations

import datetime as dt
import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Rows = Sequence[Sequence[Any]]


def workbook(rows: Rows | Mapping[str, Rows]) -> bytes:
    """An Excel file with these cells, on one sheet or on several by name; None writes no cell."""
    # Other things in this module are for tests that write no Excel file.
    import xlsxwriter

    sheets = rows if isinstance(rows, Mapping) else {"table": rows}
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer, {"in_memory": True}) as book:
        day = book.add_format({"num_format": "dd/mm/yyyy"})
        time = book.add_format({"num_format": "hh:mm:ss"})
        for name, cells in sheets.items():
            sheet = book.add_worksheet(name)
            for i, row in enumerate(cells):
                for j, cell in enumerate(row):
                    _write(sheet, i, j, cell, day, time)
    return buffer.getvalue()


def _write(sheet: Any, i: int, j: int, cell: Any, day: Any, time: Any) -> None:
    if isinstance(cell, dt.time):
        sheet.write_datetime(i, j, cell, time)
    elif isinstance(cell, dt.date):
        sheet.write_datetime(i, j, cell, day)
    elif isinstance(cell, str):
        sheet.write_string(i, j, cell)
    elif cell is not None:
        sheet.write(i, j, cell)


def with_part(book: bytes, part: str, change: Callable[[bytes], bytes]) -> bytes:
    """The same file with one of its parts changed, and whole all the same."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(book)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(content) if name == part else content)
    return buffer.getvalue()


def with_less_declared(book: bytes, part: str) -> bytes:
    """The same file with an entry that declares one byte for a part that holds more."""
    changed = bytearray(book)
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        local = archive.getinfo(part).header_offset
    central = book.rindex(part.encode()) - 46
    for start in (local + 22, central + 24):
        changed[start : start + 4] = (1).to_bytes(4, "little")
    return bytes(changed)
