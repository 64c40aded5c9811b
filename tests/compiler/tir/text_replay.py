"""Runs the text of a lowered program as plain Python, and notes what it does: the reference for recorded accesses.

TVMScript is Python's syntax.  The text is parsed by :mod:`ast`, launches and grids become loops, and what stands in for
``T`` are a dozen functions over NumPy; neither the IR nor its interpreter has a part in it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Begin:
    """An iteration begins."""

    loop: str
    value: int


@dataclass(frozen=True, slots=True)
class Access:
    """Elements that are read or written at once: neighbours of one distance, or a single one."""

    memory: int
    write: bool
    line: int
    elements: tuple[int, ...]


Event = Begin | Access


@dataclass
class Replay:
    """What the program did, in its order."""

    events: list[Event] = field(default_factory=list)

    def access(self, memory: int, write: bool, line: int, elements: Array) -> None:
        places = [int(e) for e in elements]
        if len({b - a for a, b in pairwise(places)}) > 1:
            self.events += [Access(memory, write, line, (place,)) for place in places]
        else:
            self.events.append(Access(memory, write, line, tuple(places)))


@dataclass
class _Pointer:
    """Memory, which buffers look at."""

    number: int
    data: Array


class _Buffer:
    """What a program indexes; an element of a vector type is several of memory."""

    def __init__(self, replay: Replay, pointer: _Pointer, lanes: int = 1) -> None:
        self._replay, self._lanes = replay, lanes
        self.data = pointer

    def _places(self, index: Any) -> Array:
        if isinstance(index, slice):
            first = np.arange(index.start, index.stop, index.step or 1)
        else:
            first = np.atleast_1d(index)
        return (first[:, None] * self._lanes + np.arange(self._lanes)).ravel()

    def __getitem__(self, index: Any) -> Any:
        places = self._places(index)
        self._replay.access(self.data.number, False, _line(), places)
        values = self.data.data[places]
        return values[0] if len(places) == 1 else values

    def __setitem__(self, index: Any, value: Any) -> None:
        places = self._places(index)
        self._replay.access(self.data.number, True, _line(), places)
        self.data.data[places] = value


def plain(name: str) -> str:
    """Return the name of a loop without what tells it apart in the text: of two loops ``i``, one is ``i_1`` there."""
    return re.sub(r"_\d+$", "", name.replace(".", "_"))


def _line() -> int:
    return sys._getframe(2).f_lineno


def _lanes(dtype: str) -> tuple[str, int]:
    element, _, lanes = dtype.partition("x")
    return element, int(lanes or 1)


class _Loops(ast.NodeTransformer):
    """Makes a loop of each launch and of each axis of a grid, and lets every iteration say that it begins."""

    def visit_For(self, node: ast.For) -> ast.AST:
        call, target = node.iter, node.target
        if isinstance(target, ast.Tuple) and isinstance(call, ast.Call):
            loops, body = list(zip(target.elts, call.args, strict=True)), node.body
            for name, extent in reversed(loops):
                body = [_for(name, ast.Call(ast.Name("range", ast.Load()), [extent], []), body, node)]
            return self.visit(body[0])  # type: ignore[no-any-return]
        body = self._statements(node.body)
        assert isinstance(target, ast.Name)
        said = ast.parse(f"begin({target.id!r}, {target.id})").body
        return _for(target, call, [*said, *body], node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list, node.returns = [], None
        for argument in node.args.args:
            argument.annotation = None
        node.body = self._statements(node.body)
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        node.body = self._statements(node.body)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
        node.test = self.visit(node.test)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "if_then_else":
            return ast.copy_location(ast.IfExp(*node.args), node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "Let":
            return ast.copy_location(_let(node), node)
        return node

    def _statements(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for place, statement in enumerate(statements):
            value = statement.value if isinstance(statement, ast.Assign) else None
            if isinstance(value, ast.Call) and ast.unparse(value.func) == "T.launch_thread":
                assert isinstance(statement, ast.Assign)
                values = ast.Call(ast.Name("range", ast.Load()), [value.args[1]], [])
                loop = _for(statement.targets[0], values, list(statements[place + 1 :]), statement)
                return [*made, self.visit(loop)]
            made.append(self.visit(statement))
        return made


def _let(call: ast.Call) -> ast.Call:
    """Make ``(lambda x: value)(1)`` of ``T.Let(value, where={x: 1})``."""
    [where] = [keyword.value for keyword in call.keywords]
    assert isinstance(where, ast.Dict)
    names = [ast.arg(name.id) for name in where.keys if isinstance(name, ast.Name)]
    head = ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Call(ast.Lambda(head, call.args[0]), where.values, [])


def _for(target: ast.expr, values: ast.expr, body: list[ast.stmt], place: ast.stmt) -> ast.For:
    return ast.copy_location(ast.For(target, values, body, []), place)


def replay(text: Iterable[str], arrays: Sequence[Array]) -> Replay:
    """Run a module of one function, which changes the arrays.

    Parameters
    ----------
    text : iterable of str
        Its lines.
    arrays : sequence of numpy.ndarray
        The function's arguments.

    Returns
    -------
    Replay
    """
    replayed, pointers = Replay(), {}

    def allocate(shape: list[int], dtype: str, scope: str = "global") -> _Pointer:
        element, lanes = _lanes(dtype)
        number = pointers.setdefault(_line_of_caller(), len(arrays) + len(pointers))
        return _Pointer(number, np.zeros(int(np.prod(shape)) * lanes, element))

    def buffer(shape: Any, dtype: str = "float32", data: _Pointer | None = None, **_: Any) -> _Buffer:
        assert data is not None
        return _Buffer(replayed, data, _lanes(dtype)[1])

    def begin(name: str, value: int) -> None:
        replayed.events.append(Begin(plain(name), value))

    script = SimpleNamespace(
        allocate=allocate,
        Buffer=buffer,
        func_attr=lambda _: None,
        attr=lambda *_: nullcontext(),
        bool=bool,
        likely=lambda condition: condition,
        Ramp=lambda base, stride, lanes: base + stride * np.arange(lanes),
        Broadcast=lambda value, lanes: np.full(lanes, value) if np.ndim(value) == 0 else np.tile(value, lanes),
        float32=np.float32,
        int32=int,
        max=np.maximum,
        min=np.minimum,
        Select=np.where,
        parallel=range,
        unroll=range,
        serial=range,
    )
    tree = _Loops().visit(ast.parse(re.sub(r"T\.prefetch\(.*", "pass", "\n".join(text))))
    [module] = [n for n in tree.body if isinstance(n, ast.ClassDef)]
    tree.body = [n for n in module.body if isinstance(n, ast.FunctionDef)]
    scope: dict[str, Any] = {"T": script, "begin": begin}
    exec(compile(ast.fix_missing_locations(tree), "<text>", "exec"), scope)
    flat = [array.reshape(-1) for array in arrays]
    scope["main"](*(_Buffer(replayed, _Pointer(number, data)) for number, data in enumerate(flat)))
    return replayed


def _line_of_caller() -> int:
    return sys._getframe(2).f_lineno
