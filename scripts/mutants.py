"""Break one thing at a time in what decides, and see that a test fails: ./check --mutants [MODULE …]

A mutant is a module with one small change: another comparison, another operator, a number one larger, a
condition turned round. It is killed if one of the module's tests fails or takes far too long. What
survives either shows a test that is lacking, or changes nothing that anybody can see: those are listed
with the reason in tests/mutants.toml.
"""

from __future__ import annotations

import argparse
import ast
import copy
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SETTINGS = ROOT / "tests" / "mutants.toml"
# As many random tables as catch a fault within seconds.
FEW = {
    "NULLPROOF_TABLES": "400",
    "NULLPROOF_WAYS_TABLES": "100",
    "NULLPROOF_RADIUS_TABLES": "60",
    "NULLPROOF_ODDS_TABLES": "40",
    "NULLPROOF_CLEANING_TABLES": "40",
    "NULLPROOF_JOINT_TABLES": "15",
    "NULLPROOF_LIMITED_TABLES": "100",
}
_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_OPERATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_TURNED = {"min": "max", "any": "all", "minimum": "maximum", "argmin": "argmax", "floor": "ceil"}
_NAMED = {**_TURNED, **{other: name for name, other in _TURNED.items()}}


class Mutant(NamedTuple):
    """One change: its line, what was there, what is there now, and the whole module."""

    line: int
    text: str
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.before}  →  {self.after}"


def mutants(source: str) -> Iterator[Mutant]:
    """Every module that differs from this one by one small change, in the order of the lines."""
    tree = ast.parse(source)
    # Types, texts and examples are not what decides.
    places = [place for place, node in enumerate(ast.walk(tree)) if isinstance(node, _KINDS)]
    skipped = {id(node) for node in _annotations(tree)}
    nodes = [*ast.walk(tree)]
    found = []
    for place in places:
        if id(nodes[place]) in skipped:
            continue
        for number in range(_ways(nodes[place])):
            changed = copy.deepcopy(tree)
            node = [*ast.walk(changed)][place]
            before = ast.unparse(node)
            _change(node, number)
            after = ast.unparse(node)
            if after != before:
                text = source.splitlines()[node.lineno - 1].strip()
                found.append(Mutant(node.lineno, text, before, after, ast.unparse(changed)))
    yield from sorted(found, key=lambda one: one.line)


_KINDS = (
    ast.Compare,
    ast.BinOp,
    ast.AugAssign,
    ast.BoolOp,
    ast.UnaryOp,
    ast.Constant,
    ast.Call,
    ast.IfExp,
)


def _ways(node: ast.AST) -> int:
    """In how many ways a node is changed."""
    match node:
        case ast.Compare(ops=ops):
            return len(ops)
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            return int(type(op) in _OPERATED)
        case ast.BoolOp() | ast.IfExp():
            return 1
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            return 1
        case ast.Constant(value=bool() | int() | float()):
            return 1
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return int(name in _NAMED)
    return 0


def _change(node: ast.AST, number: int) -> None:
    match node:
        case ast.Compare(ops=ops):
            ops[number] = _COMPARED[type(ops[number])]()
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            node.op = _OPERATED[type(op)]()
        case ast.BoolOp(op=op):
            node.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.IfExp(body=body, orelse=other):
            node.body, node.orelse = other, body
        case ast.UnaryOp(op=ast.Not()):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
        case ast.UnaryOp():
            node.op = ast.UAdd()
        case ast.Constant(value=value):
            node.value = not value if isinstance(value, bool) else value + 1
        case ast.Call(func=ast.Name() | ast.Attribute() as called):
            part = "id" if isinstance(called, ast.Name) else "attr"
            setattr(called, part, _NAMED[getattr(called, part)])


def _annotations(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes within types, and within the messages of errors."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef):
            every = [*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs]
            parts = [
                node.returns,
                *(argument.annotation for argument in every),
                *node.decorator_list,
            ]
        elif isinstance(node, ast.ClassDef):
            parts = [*node.decorator_list]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.Raise | ast.JoinedStr):
            parts = [node]
        for part in parts:
            if part is not None:
                yield from ast.walk(part)


class Bench:
    """A copy of the package in which one module at a time is replaced, and its tests."""

    def __init__(self, module: str, tests: list[str], folder: Path) -> None:
        self.path = folder / "src" / "nullproof" / f"{module.replace('.', '/')}.py"
        shutil.copytree(ROOT / "src", folder / "src")
        self.source = self.path.read_text("utf-8")
        self.tests = tests
        self.environment = {
            **os.environ,
            **FEW,
            "PYTHONPATH": str(folder / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        start = time.monotonic()
        if not self.passes(600):
            raise SystemExit(f"the tests of {module} fail as they are; mend them first")
        self.limit = 3 * (time.monotonic() - start) + 10

    def passes(self, limit: float) -> bool:
        """Whether all tests pass within some seconds."""
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:randomly",
            "-p",
            "no:cacheprovider",
        ]
        try:
            done = subprocess.run(
                [*command, *self.tests],
                cwd=ROOT,
                env=self.environment,
                capture_output=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0

    def survives(self, mutant: Mutant) -> bool:
        """Whether no test notices the change."""
        self.path.write_text(mutant.source, "utf-8")
        try:
            return self.passes(self.limit)
        finally:
            self.path.write_text(self.source, "utf-8")


def tried(
    module: str, tests: list[str], known: set[tuple[str, str, str]], part: tuple[int, int]
) -> int:
    """Try the mutants of a module, or one part of them; how many survived that are not known."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(module, tests, Path(folder))
        every = [*mutants(bench.source)][part[0] - 1 :: part[1]]
        kept = [
            mutant for mutant in every if (mutant.text, mutant.before, mutant.after) not in known
        ]
        survivors = 0
        for done, mutant in enumerate(kept, 1):
            if bench.survives(mutant):
                survivors += 1
                print(f"{module}, {mutant}", flush=True)
            if done % 25 == 0:
                print(
                    f"  {module}: {done} of {len(kept)} tried, {survivors} survived",
                    file=sys.stderr,
                    flush=True,
                )
    killed, same = len(kept) - survivors, len(every) - len(kept)
    print(f"{module}: {killed} of {len(kept)} killed, {same} known to change nothing", flush=True)
    return survivors


def main() -> None:
    """Try the modules that are named, or all that decide."""
    settings = tomllib.loads(SETTINGS.read_text("utf-8"))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "modules", nargs="*", help="such as verdicts or radii.cells; by default all"
    )
    parser.add_argument("--part", default="1/1", help="one part of the mutants, e.g. 2/5")
    given = parser.parse_args()
    unknown = [name for name in given.modules if name not in settings["tests"]]
    if unknown:
        parser.error(f"{unknown[0]} is none of {', '.join(settings['tests'])}")
    first, of = (int(number) for number in given.part.split("/"))
    n_left = 0
    for module in given.modules or settings["tests"]:
        same = settings.get("same", {}).get(module, [])
        known = {(one["line"], one["before"], one["after"]) for one in same}
        n_left += tried(module, settings["tests"][module], known, (first, of))
    sys.exit(n_left > 0)


if __name__ == "__main__":
    main()
