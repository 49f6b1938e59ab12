"""Clumsy calls: each gets one sentence that says what to do, and leaves nothing behind."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.command_line import TRAIN, Runner, one_line

from nullproof import CountIndex, NullproofError

LABEL = "--label churn"
BOTH = f"train.csv test.csv {LABEL}"
_QUESTION = "belongs to the question, not to the counts; leave it out here and give it to certify"
_SETTLED = "is given, but the saved index old.index has settled it; leave it out"

# The files beside train.csv and test.csv.
FILES = {
    "unlabelled.csv": TRAIN.replace("31,Ulm,no", "31,Ulm,"),
    "featureless.csv": "colour,shape\nred,round\n",
    "words.csv": "age,town\nold,Ulm\n",
    "headed.csv": "age,town,churn\n",
    "empty.csv": "",
}

CALLS: dict[str, str] = {
    # Files
    f"certify nowhere.csv {LABEL}": "no such file: nowhere.csv; ",
    f"certify train.csv {LABEL} tset.csv": "no such file: tset.csv; did you mean test.csv",
    f"odds train.csv folder {LABEL}": "folder is a directory; give one file",
    f"radius empty.csv {LABEL}": "empty.csv is empty; give a table with a header row",
    f"clean headed.csv {LABEL}": "headed.csv has a header but no rows",
    f"certify train.csv headed.csv {LABEL}": "headed.csv has a header but no rows",
    f"report unlabelled.csv {LABEL}": "the label column 'churn' has 1 hole",
    f"index empty.csv {LABEL} -o new.index": "empty.csv is empty",
    f"certify train.csv featureless.csv {LABEL}": "the points lack",
    f"clean train.csv words.csv {LABEL}": "column 'age' holds text such as 'old'",
    f"poison - - {LABEL}": "TRAIN and TEST are both standard input",
    "certify old.index": "old.index is a saved index, without rows; name TEST too",
    "poison old.index test.csv": "old.index is a saved index, without rows; give the table",
    "index old.index -o new.index": "old.index is a saved index already; give the table to count",
    f"certify {BOTH} --like train.csv": "is not an index",
    # Columns
    "certify train.csv --label chrun": "no column 'chrun' in the table; did you mean 'churn'",
    "index train.csv -o new.index": "no label column was named; add --label COL",
    f"certify {BOTH} --ignore agee": "ignore names the column 'agee'",
    f"certify {BOTH} --keep agee": "keep names the column 'agee'",
    f"clean {BOTH} --cost agee=2": "costs names 'agee'",
    f"certify {BOTH} --bias agee=0.1": "'agee'",
    # Options that are not there, or not there alone
    f"certify {BOTH} --lable churn": "No such option",
    f"certify {BOTH} --label town": "--label is given 2 times; give it once",
    f"radius {BOTH} --gap 0.1": "--gap belongs to odds, not to radius; leave it out",
    f"odds {BOTH} --bias 0.1": "--bias is about accident",
    f"certify {BOTH} --budget 3": "--budget belongs to clean, not to certify; leave it out",
    "demo --json": "not to demo; leave it out",
    f"index train.csv {LABEL} -o new.index --alpha 1": f"--alpha {_QUESTION}",
    f"index train.csv {LABEL} -o new.index --prior uniform": f"--prior {_QUESTION}",
    f"index train.csv {LABEL} -o new.index --own-missing any": f"--own-missing {_QUESTION}",
    f"index train.csv {LABEL} -o new.index --bias 0.1": f"--bias {_QUESTION}",
    f"index train.csv {LABEL} -o new.index --json": "--json is for answers",
    f"index {BOTH} -o new.index": "index counts TRAIN alone, and TEST belongs to the question",
    f"poison train.csv {LABEL}": "no points to attack were named; give TEST after TRAIN",
    f"index train.csv {LABEL}": "no file was named for the index; add -o FILE",
    f"poison {BOTH} --steps 3 --time-limit 3": "--steps and --time-limit are both given",
    f"report {BOTH} --json --format html": "--json and --format html are both given",
    f"clean {BOTH} --repaired new.csv": "--repaired new.csv needs --answers",
    f"certify {BOTH} --bins 7": "--bins is 7 but no column has uniform or quantile bins",
    f"certify {BOTH} --sheet one": "sheet was given but",
    f"certify - test.csv {LABEL} --memory-limit 1GB": "--memory-limit is given, but - (standard",
    # Options that a saved index makes meaningless
    "certify old.index test.csv --label town": "--label is 'town', but the saved index old.index",
    "certify old.index test.csv --like old.index": "--like is given, but TRAIN old.index is a saved",
    "certify old.index test.csv --memory-limit 1GB": "--memory-limit is given, but old.index is",
    "odds old.index test.csv --missing x": f"--missing {_SETTLED}",
    "radius old.index test.csv --keep age": f"--keep {_SETTLED}",
    "clean old.index test.csv --drop-unlabelled": f"--drop-unlabelled {_SETTLED}",
    f"report {BOTH} --like old.index --ignore age": f"--ignore {_SETTLED}",
    "certify train.csv test.csv --label town --like old.index": "--label is 'town', but the saved",
    # Values
    f"certify {BOTH} --bias 2": "bias",
    f"certify {BOTH} --bias lots": "--bias is 'lots'; give a number from 0 to 1",
    f"odds {BOTH} --alpha=-1": "alpha is -1",
    f"radius {BOTH} --alpha nan": "alpha is nan",
    f"report {BOTH} --prior yes=1": "--prior names yes but the labels are no, yes",
    f"odds {BOTH} --gap 7": "gap is 7.0; give a number from",
    f"clean {BOTH} --confidence 0.2": "confidence is 0.2; give 1 for certain, or odds above 0.5",
    f"clean {BOTH} --cells any": "cells is 'any'; give 'uniform', 'observed' or 'model'",
    f"certify {BOTH} --own-missing none": "--own-missing is 'none'; give 'skip'",
    f"poison {BOTH} --steps many": "Invalid value for '--steps'",
    # Where the answer goes
    f"certify {BOTH} -o out.xlsx": "-o out.xlsx names no format by its ending; end it in .csv,",
    f"poison {BOTH} -o out.json": "end it in .csv or .parquet",
    f"radius {BOTH} -o nowhere/out.csv": "there is no folder nowhere; make it first",
    f"odds {BOTH} -o folder": "names no format by its ending",
    f"index train.csv {LABEL} -o folder": "-o folder is a folder; name a file in it",
    f"index train.csv {LABEL} -o train.csv": "-o train.csv is a file that is read",
    f"clean {BOTH} -o test.csv": "-o test.csv is a file that is read",
    f"certify {BOTH} --like old.index -o old.index": "names no format by its ending",
    f"index train.csv {LABEL} --like old.index -o old.index": "-o old.index is a file that is read",
    f"report {BOTH} -o report.pdf": "report.pdf",
}


@pytest.fixture
def clumsy(folder: Path) -> Path:
    """The folder of a person in a hurry."""
    for name, content in FILES.items():
        (folder / name).write_text(content)
    (folder / "folder").mkdir()
    CountIndex.from_table(folder / "train.csv", "churn").save(folder / "old.index")
    return folder


@pytest.mark.parametrize("call", CALLS)
def test_clumsy_calls(run: Runner, clumsy: Path, call: str) -> None:
    """One sentence, exit code 2, nothing on standard output, and every file as it was."""
    before = {path: path.is_file() and path.read_bytes() for path in clumsy.iterdir()}
    one_line(run("-q", *call.split(), stdin=TRAIN.encode()), CALLS[call])
    assert {path: path.is_file() and path.read_bytes() for path in clumsy.iterdir()} == before
    assert list((clumsy / "folder").iterdir()) == []


COMMANDS = ("certify", "radius", "poison", "odds", "report", "clean", "index")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_lists_what_applies(run: Runner, command: str) -> None:
    """Each option in the help is taken by the command, and no other; flags take no value."""
    said = run(command, "--help").out
    assert "<bool>" not in said
    assert "[[" not in said
    assert ("TEST" in said.partition("Options")[0]) == (command != "index")
    listed = {*re.findall(r"(?<![\w-])--[a-z][a-z-]*", said)}
    for other in COMMANDS:
        for option in re.findall(r"│ [* ]? *(--[a-z-]+)", run(other, "--help").out):
            if option not in listed:
                value = [] if option in ("--check", "--skip-unbreakable", "--json") else ["1"]
                done = run(command, "train.csv", "test.csv", option, *value)
                assert f"nullproof: {option} " in done.err, (command, option)
                assert "leave it out" in done.err


@pytest.mark.parametrize(
    "option",
    [
        {"bins": 3, "binning": "uniform"},
        {"missing": ["x"]},
        {"missing_only": ["x"]},
        {"domains": {"age": ["1"]}},
        {"ignore": ["age"]},
        {"keep": ["age"]},
    ],
)
def test_like_takes_no_other_word(folder: Path, option: dict[str, object]) -> None:
    """What an index to count like has settled is refused in the library too, and not overridden."""
    index = CountIndex.from_table(folder / "train.csv", "churn")
    with pytest.raises(NullproofError, match="is given together with like, which has settled it"):
        CountIndex.from_table(folder / "train.csv", "churn", like=index, **option)  # type: ignore[arg-type]
