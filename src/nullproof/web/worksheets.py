"""Worksheets: the missing cells to look up as a file to fill in, and filled ones that come back."""

from __future__ import annotations

import io
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nullproof.cleaning.plan import goal_in_words
from nullproof.cleaning.worksheet import Work, read_lines
from nullproof.errors import NullproofError
from nullproof.web.descriptions import shown_name
from nullproof.web.origins import retell
from nullproof.web.problems import RequestError
from nullproof.web.settings import MEGABYTE
from nullproof.web.uploads import ZIP, workbook_size
from nullproof.words import many

# One comes as a question, which has 4 MB at most; packed, it may hold far more.
_LARGEST = 64 * MEGABYTE


@dataclass(frozen=True)
class Sheet:
    """A worksheet that came back, filled in; small enough to stay in memory."""

    name: str
    content: bytes
    busy: bool = False

    @property
    def size(self) -> int:
        return len(self.content)

    def discard(self) -> None:
        """Nothing but memory is held."""

    def check(self, folder: Path) -> int:
        """Refuse what is no worksheet, and count its lines; ``folder`` is for a moment's file."""
        if self.is_workbook and workbook_size(io.BytesIO(self.content)) > _LARGEST:
            raise RequestError(
                413,
                f"{shown_name(self.name)} is larger than {_LARGEST // MEGABYTE} MB unpacked; send it in "
                "parts",
            )
        with _on_disk([self], folder) as (paths, by_name):
            try:
                return len(read_lines(paths[0]))
            except NullproofError as problem:
                raise RequestError(400, by_name(str(problem))) from problem

    @property
    def is_workbook(self) -> bool:
        return self.content.startswith(ZIP)


def take(work: Work, sheets: Sequence[Sheet], folder: Path) -> dict[str, Any] | None:
    """Take the answers of worksheets, all or none; messages name them as the person does."""
    with _on_disk(sheets, folder) as (paths, by_name):
        try:
            return work.take(paths)
        except RequestError:
            raise
        except NullproofError as problem:
            raise NullproofError(by_name(str(problem))) from problem
        finally:
            retell(by_name)


def answers_told(brought: dict[str, Any], work: Work) -> str:
    """Say how many answers were taken, and how many predictions reach the goal of the plan now."""
    was, now = brought["n_done_before"], brought["n_done"]
    said = (
        f"{many(brought['n_answers'], 'answer')} taken: {now:,} of "
        f"{many(len(work.points), 'prediction')} {goal_in_words(work.model)}"
    )
    return f"{said}, as many as before." if was == now else f"{said} now, {was:,} did before."


def written(work: Work, folder: Path) -> str:
    """The cells that are left, as the worksheet that `nullproof clean` writes."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        path = Path(place) / "worksheet.csv"
        work.write_worksheet(path, work.plan(None))
        return path.read_text("utf-8")


@contextmanager
def _on_disk(
    sheets: Sequence[Sheet], folder: Path
) -> Iterator[tuple[list[Path], Callable[[str], str]]]:
    """Files of worksheets under names of our own, and what puts their own names into a message."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        names: dict[Path, str] = {}
        for sheet in sheets:
            path = Path(place) / f"{secrets.token_hex(8)}{'.xlsx' if sheet.is_workbook else '.csv'}"
            path.write_bytes(sheet.content)
            names[path] = shown_name(sheet.name)

        def by_name(message: str) -> str:
            for path, name in names.items():
                message = message.replace(str(path), name).replace(path.name, name)
            return message

        yield [*names], by_name
