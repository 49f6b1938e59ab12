"""certify --explain on the command line."""

from __future__ import annotations

import json
from pathlib import Path

from support.command_line import CERTIFY, Runner, one_line


def test_explain_shows_the_cells_of_one_point(run: Runner, folder: Path) -> None:
    """--explain gives one point: a table with bars, or with --json the document; --check looks at it."""
    done = run(*CERTIFY[:5], "--explain", "0", "--binning", "uniform")
    assert done.code == 0
    assert "Point 0: no is" in done.out
    assert "█" in done.out
    assert "all together" in done.out
    told = json.loads(run(*CERTIFY, "--explain", "2", "--rival", "yes", "--json").out)
    assert (told["point"], told["rival"]) == (2, "yes")
    assert [term["kind"] for term in told["terms"]].count("skipped") == 1
    assert run(*CERTIFY, "--explain", "0", "--check").code == 0
    (folder / "test.csv").write_text("town,age\nBonn,40\n")
    assert run(*CERTIFY, "--explain", "0", "--check").code == 1


def test_explain_takes_the_key(run: Runner, folder: Path) -> None:
    """With --key the point is named by it, in what is asked and in what is told."""
    (folder / "test.csv").write_text("town,age,who\nBonn,40,Ann\nUlm,50,Bo\nUlm,30,Bo\n")
    keyed = ("-q", *CERTIFY, "--key", "who", "--explain")
    assert "Point Ann: " in run(*keyed, "Ann").out
    told = json.loads(run(*keyed, "Ann", "--json").out)
    assert (told["point"], told["key"]) == (0, "Ann")
    one_line(run(*keyed, "Bo"), "names points 1, 2 in 'who'; leave --key out")
    one_line(run(*keyed, "Cy"), "no point has this name in 'who'; give one of Ann, Bo, Bo")


def test_explain_refuses_what_is_no_point(run: Runner) -> None:
    """A position that is not there, a label that is not there, and a rival of nothing."""
    one_line(run("-q", *CERTIFY, "--explain", "3"), "from 0 to 2")
    one_line(run("-q", *CERTIFY, "--explain", "-1"), "from 0 to 2")
    one_line(run("-q", *CERTIFY, "--explain", "0", "--rival", "maybe"), "the rival is 'maybe'")
    one_line(run("-q", *CERTIFY, "--rival", "no"), "add --explain POINT")
    one_line(run("-q", *CERTIFY, "--explain", "0", "--all"), "leave one of them out")
