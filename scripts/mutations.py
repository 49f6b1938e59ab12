"""The small changes that scripts/mutants.py makes to a module, one at a time.

Another comparison, another operator, a number one larger, a least for a greatest, a condition turned
round, an argument of ``and`` and ``or`` joined the other way. Types, texts and messages stay as they are.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

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
    """One change: where, what was there, what is there now, and the code of the module with it.

    ``lines`` are those whose tests may notice it; none for what runs when the module is imported. Of
    changes of one line that read the same, ``place`` tells which it is, from 1.
    """

    line: int
    text: str
    before: str
    after: str
    lines: frozenset[int]
    code: CodeType
    place: int = 1

    def __str__(self) -> str:
        which = f"  (number {self.place} on the line)" if self.place > 1 else ""
        return f"line {self.line}: {self.before}  →  {self.after}{which}"

    @property
    def names(self) -> set[tuple[Any, ...]]:
        """How a list of changes may name it: with its like on the line, or alone."""
        plain = (self.text, self.before, self.after)
        return {plain, (*plain, self.place)}


def mutants(source: str, path: str) -> list[Mutant]:
    """Every module that differs from this one by one small change, in the order of the lines."""
    tree = ast.parse(source)
    skipped = {id(node) for node in _annotations(tree)}
    written = source.splitlines()
    found = []
    for node, lines in [*_placed(tree, frozenset(), inside=False)]:
        if id(node) in skipped:
            continue
        for number in range(_ways(node)):
            before, kept = _shown(node), _kept(node)
            _change(node, number)
            code = compile(ast.fix_missing_locations(tree), path, "exec")
            text = written[node.lineno - 1].strip()
            found.append(Mutant(node.lineno, text, before, _shown(node), lines, code))
            vars(node).update(kept)
    return [*_numbered(sorted(found, key=lambda one: one.line))]


def _numbered(found: list[Mutant]) -> Iterator[Mutant]:
    """Tell changes apart that read the same."""
    seen: Counter[tuple[Any, ...]] = Counter()
    for one in found:
        key = (one.line, one.before, one.after)
        seen[key] += 1
        yield one._replace(place=seen[key])


def _placed(
    node: ast.AST, lines: frozenset[int], *, inside: bool
) -> Iterator[tuple[ast.expr | ast.stmt, frozenset[int]]]:
    """All expressions and statements, each with the lines that run when it does."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST):
                continue
            # Defaults and types are worked out where the function is defined.
            within = inside or (isinstance(node, ast.FunctionDef | ast.Lambda) and name == "body")
            own = lines
            if isinstance(child, ast.stmt):
                own = frozenset({child.lineno})
            if isinstance(child, ast.expr | ast.stmt):
                if isinstance(child, ast.expr):
                    own |= frozenset(range(child.lineno, (child.end_lineno or child.lineno) + 1))
                yield child, own if within else frozenset()
            yield from _placed(child, own, inside=within)


def _kept(node: ast.AST) -> dict[str, object]:
    """What a node holds, to be put back."""
    return {
        name: [*value] if isinstance(value, list) else value for name, value in vars(node).items()
    }


def _shown(node: ast.AST) -> str:
    return ast.unparse(node.test if isinstance(node, ast.If | ast.While) else node)


def _ways(node: ast.AST) -> int:
    """In how many ways a node is changed."""
    match node:
        case ast.Compare(ops=ops):
            return len(ops)
        case ast.BinOp(op=op) | ast.AugAssign(op=op):
            return int(type(op) in _OPERATED)
        case ast.BoolOp() | ast.IfExp():
            return 1
        case ast.If(test=test) | ast.While(test=test):
            # The others are changed by themselves.
            return int(isinstance(test, ast.Name | ast.Attribute | ast.Call | ast.Subscript))
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
        case ast.If(test=test) | ast.While(test=test):
            node.test = ast.UnaryOp(ast.Not(), test)
        case ast.Constant(value=value):
            node.value = not value if isinstance(value, bool) else value + 1
        case ast.Call(func=ast.Name() | ast.Attribute() as called):
            node.func, part = copy.copy(called), "id" if isinstance(called, ast.Name) else "attr"
            setattr(node.func, part, _NAMED[getattr(called, part)])


def _annotations(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes that decide nothing: within types, and within the messages of errors."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, ast.FunctionDef):
            every = [*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs]
            parts = [node.returns, *(one.annotation for one in every), *node.decorator_list]
        elif isinstance(node, ast.ClassDef):
            parts = [*node.decorator_list]
        elif isinstance(node, ast.AnnAssign):
            parts = [node.annotation]
        elif isinstance(node, ast.Raise | ast.JoinedStr):
            parts = [node]
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            # It only tells of a fault that is elsewhere.
            parts = [node]
        for part in parts:
            if part is not None:
                yield from ast.walk(part)
