"""Write into the pages what their examples print now: python scripts/refresh_docs.py [PAGE …]

Commands and prompts are run as the tests of the docs run them (tests/test_docs.py), with the tables of the
demo. A shown output that ends in ``…`` keeps as many lines as it had. Read the changes before you commit.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "src/nullproof/demo"
NOT_HERE = ("hypothyroid_train.csv", "adult_train.csv", "titanic.csv")
DEAR = {"spark.md", "postgres.md", "dask.md"}
BLOCK = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXIT = "; echo $?"


def tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def printed(command: str, with_notices: bool) -> str:
    """What a command of nullproof prints."""
    words = shlex.split(command.removesuffix(EXIT), comments=True)[1:]
    done = subprocess.run(
        [sys.executable, "-m", "nullproof", *words], capture_output=True, text=True, check=False
    )
    code = f"{done.returncode}\n" if command.endswith(EXIT) else ""
    return tidy((done.stderr if with_notices else "") + done.stdout + code)


def with_commands(block: re.Match[str]) -> str:
    """A block of commands with their outputs of now."""
    start, *parts = re.split(r"^\$ ", block[1], flags=re.MULTILINE)
    made = [start]
    for part in parts:
        command, _, shown = part.partition("\n")
        shown, blank = shown.strip("\n"), shown.endswith("\n\n")
        is_ours = re.match(r"(nullproof|\./run) (?!serve)", command)
        if shown and is_ours and not any(name in command for name in NOT_HERE):
            now = printed(command, shown.startswith("note:"))
            if shown.endswith("\n…"):
                lines = now.splitlines()[: len(shown.splitlines()) - 1]
                now = "\n".join([*lines, "…"])
            shown = now
        made.append(f"$ {command}\n" + (f"{shown}\n" if shown else "") + ("\n" if blank else ""))
    return "```console\n" + "".join(made) + "```"


class Refresher(doctest.DocTestRunner):
    """Keeps what the prompts print."""

    def __init__(self) -> None:
        super().__init__(verbose=False)
        self.got: list[tuple[doctest.Example, str]] = []

    def report_failure(self, out: object, test: object, example: doctest.Example, got: str) -> None:  # noqa: ARG002
        self.got.append((example, got))


def with_prompts(page: Path, text: str) -> str:
    """The page with what its prompts print now."""
    blank = re.sub(r"^```.*$", "", text, flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(blank, {}, page.name, str(page), 0)
    runner = Refresher()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runner.run(test, out=lambda _: None)
    lines = text.split("\n")
    for example, got in reversed(runner.got):
        first = example.lineno + example.source.count("\n")
        lines[first : first + example.want.count("\n")] = got.rstrip("\n").split("\n")
    return "\n".join(lines)


if __name__ == "__main__":
    named = [Path(name).resolve() for name in sys.argv[1:]]
    os.environ["COLUMNS"] = "80"
    for page in named or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text("utf-8")
        with tempfile.TemporaryDirectory() as folder:
            is_readme = page.name == "README.md"
            with contextlib.chdir(ROOT if is_readme else folder):
                for name, copy in (
                    ("customers.csv", "train.csv"),
                    ("new_customers.csv", "test.csv"),
                ):
                    for target in () if is_readme else (name, copy):
                        shutil.copy(DEMO / name, target)
                made = BLOCK.sub(with_commands, text)
                if ">>> " in made and page.name not in DEAR:
                    made = with_prompts(page, made)
        if made != text:
            page.write_text(made, "utf-8")
            print(page.relative_to(ROOT))
