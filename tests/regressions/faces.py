"""Past faults of the command line, the report and the page: what came in, and what must come out."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.command_line import TEST, TRAIN, Done, one_line, ran

TABLES = {"train.csv": TRAIN, "test.csv": TEST}
BOTH = "train.csv test.csv --label churn"
LONG = "9x" * 3000
IDS = "id,a,y\n" + "".join(f"c{n},{'uv'[n % 2]},{n % 2}\n" for n in range(30))


@dataclass(frozen=True)
class Case:
    """Files in a folder, what is typed there, and what must come out.

    ``code`` is the exit code; with 2 there is one line on stderr. ``said`` is in the output or, after an
    error, in that line, which has at most ``longest`` letters; ``unsaid`` is in neither stream.
    """

    typed: str
    code: int = 0
    said: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=lambda: TABLES)
    longest: int = 700
    after: Callable[[Path, Done], bool] | None = None


def check(case: Case) -> None:
    """Type what a case says, and look at what comes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in case.files.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_text(content, "utf-8")
        done = ran(folder, *case.typed.split())
        assert done.code == case.code, done
        if case.code == 2:
            one_line(done, *case.said)
            assert len(done.err) <= case.longest
        assert all(text in done.out + done.err for text in case.said), done
        assert not [text for text in case.unsaid if text in done.out + done.err], done
        assert case.after is None or case.after(folder, done)


CASES: dict[str, Case] = {
    "a negative seed is no mistake of ours": Case(
        f"poison {BOTH} --seed -1", 2, ("seed", "-1"), ("bug in nullproof",)
    ),
    "a number of thousands of letters is not quoted whole": Case(
        f"certify {BOTH} --alpha {LONG}", 2, ("9x9x",), (LONG,)
    ),
    "a cell of thousands of letters is not quoted whole": Case(
        "certify train.csv long.csv --label churn",
        2,
        ("'age'", "xxx"),
        ("x" * 500,),
        {**TABLES, "long.csv": f"town,age\nUlm,{'x' * 9000}\n"},
    ),
    "a report of lists in lists is no report": Case(
        f"report {BOTH} --compare deep.json",
        2,
        ("deep.json",),
        (),
        {**TABLES, "deep.json": "[" * 9999},
    ),
    "what is no report is told before any work": Case(
        "report nothing.csv --label y --compare other.json",
        2,
        ("other.json",),
        (),
        {"other.json": "[1]"},
    ),
    "brackets in a path are no pattern": Case(
        "certify train.csv a[1]/p.csv --label churn -q -o a[1]/out.csv",
        files={**TABLES, "a[1]/p.csv": TEST},
        after=lambda folder, _: (folder / "a[1]" / "out.csv").stat().st_size > 0,
    ),
    "a tie is named, and a small share is not 0": Case(
        "certify train.csv test.csv --label kind -q --alpha 0 --binning uniform",
        said=("tie", "0.7%"),
        files={
            "train.csv": "a,kind\nx,0\nx,1\ny,1\n,1\n",
            "test.csv": "a\nz\n" + "x\n" * 150 + "y\n",
        },
    ),
    "a column that names rows is left out, and told": Case(
        "certify t.csv --label y", said=("'id'", "--keep"), files={"t.csv": IDS}
    ),
    "a whole table leads to the radius": Case(
        "certify t.csv --label y -q",
        said=("nullproof radius t.csv --label y",),
        unsaid=("nullproof clean",),
        files={"t.csv": "a,y\nx,0\ny,1\n"},
    ),
    "a header alone is no table, whatever ends it": Case(
        "certify train.csv h.csv --label churn -q -o out.csv",
        2,
        ("h.csv", "no rows"),
        files={**TABLES, "h.csv": "town,age\n\n\n"},
        after=lambda folder, _: not (folder / "out.csv").exists(),
    ),
    "labels like numbers keep their zeros": Case(
        "certify t.csv --label y --json -q",
        said=('"labels": ["007", "08"]',),
        files={"t.csv": "a,y\nx,007\ny,08\n"},
    ),
}
