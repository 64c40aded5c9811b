"""What there was to choose from, where a script asked for an element too many or ends at the dot before a name."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from app.artifacts import SCRIPT_NAME
from compiler.ir.error import counted
from compiler.ir.expr.primexpr import IntImm, IterVar
from compiler.te import Schedule, Stage
from compiler.te.scheduling.primitives import primitives_of

MAX_ELEMENTS = 8
"""How many elements of a sequence are named."""
_UNPACKING = re.compile(r"(not enough|too many) values to unpack")
_BEFORE_THE_DOT = re.compile(r"(\w+)(\[[^\]]*\])?$")
_NOTHING: Any = object()
"""The value of what is not found."""


def elements(exc: BaseException, tb: TracebackType | None) -> str:
    """Return ``; C.op.axis has 2 axes: i, j`` where a sequence was asked for another one, or for more or fewer at once.

    The sequence is found again by its expression, if that calls nothing: attributes of what is the compiler's, elements
    and names.
    """
    unpacks = isinstance(exc, ValueError) and _UNPACKING.match(str(exc))
    if not isinstance(exc, IndexError) and not unpacks:
        return ""
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if tb is None or tb.tb_frame.f_code.co_filename != SCRIPT_NAME:
        return ""
    asked = _asked(tb, bool(unpacks))
    frame = tb.tb_frame
    found = _value(asked, {**frame.f_globals, **frame.f_locals}) if asked is not None else _NOTHING
    if asked is None or type(found) not in (tuple, list):
        return ""
    if not found:
        return f"; {ast.unparse(asked)} is empty"
    axes = all(isinstance(element, IterVar) for element in found)
    known = axes or all(type(element) in (int, IntImm) for element in found)
    listed = [element.var.name if axes else str(element) for element in found[:MAX_ELEMENTS] if known]
    more = ", …" if len(found) > MAX_ELEMENTS else ""
    number = counted(len(found), "axis", "axes") if axes else counted(len(found), "element")
    return f"; {ast.unparse(asked)} has {number}" + (f": {', '.join(listed)}{more}" if listed else "")


def _asked(tb: TracebackType, unpacks: bool) -> ast.expr | None:
    """Return the expression of the sequence that the innermost instruction of a traceback took apart."""
    *_, place = (at for at, _ in zip(tb.tb_frame.f_code.co_positions(), range(tb.tb_lasti // 2 + 1), strict=False))
    tree = ast.parse("".join(linecache.getlines(SCRIPT_NAME)))
    for node in ast.walk(tree):
        if unpacks and isinstance(node, ast.Assign) and any(_place(target) == place for target in node.targets):
            return node.value
        if not unpacks and isinstance(node, ast.Subscript) and _place(node) == place:
            return node.value
    return None


def _place(node: ast.expr) -> tuple[int, int | None, int, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    """Evaluate an expression that calls nothing of the script's."""
    match node:
        case ast.Name(name):
            return names.get(name, _NOTHING)
        case ast.Constant(constant):
            return constant
        case ast.Attribute(owner, name) if _is_ours(of := _value(owner, names)):
            return getattr(of, name)
        case ast.Subscript(owner, index):
            of, at = _value(owner, names), _value(index, names)
            return of[at] if at is not _NOTHING and (_is_ours(of) or type(of) in (tuple, list)) else _NOTHING
    return _NOTHING


def _is_ours(value: object) -> bool:
    return type(value).__module__.startswith("compiler.")


def after_a_dot(line: int | None, column: int) -> str:
    """Return ``: a name is expected after the dot; a stage has split, …`` where a line ends before that name."""
    before = linecache.getline(SCRIPT_NAME, line or 0)[:column].rstrip()
    if not before.endswith("."):
        return ""
    owner, source = _BEFORE_THE_DOT.search(before[:-1]), "".join(linecache.getlines(SCRIPT_NAME))
    if owner is None or not re.search(rf"\b{owner[1]}\s*=\s*(tvm\.)?te\.create_schedule\(", source):
        return ": a name is expected after the dot"
    kind, what = (Stage, "a stage") if owner[2] else (Schedule, "the schedule")
    return f": a name is expected after the dot; {what} has {', '.join(sorted(primitives_of(kind)))}"
