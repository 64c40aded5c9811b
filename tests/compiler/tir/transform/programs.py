"""Programs to transform, by hand and at random, and the check that a pass keeps what they compute."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from compiler.ir.expr.primexpr import PrimExpr, Range, Var, const
from compiler.ir.expr.substitute import post_order_visit
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.ir.structural import assert_structural_equal
from compiler.ir.transform import Pass, PassContext
from compiler.tir.expressions import op as tir
from compiler.tir.interpreter import interpret
from compiler.tir.script import from_source
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import FROM_SCHEDULE, PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize
from compiler.tir.statements.stmt import Allocate, BufferStore, For, ForKind, IfThenElse, LetStmt, Stmt, seq

SIZE = 48


def loop(var: Var, extent: Any, body: Stmt, kind: ForKind = ForKind.SERIAL) -> For:
    """Return a loop from zero."""
    return For(var, 0, extent, kind, body)


def function(body: Stmt, *buffers: Buffer, scalars: tuple[Var, ...] = ()) -> PrimFunc:
    """Return a function whose parameters are the scalars and the buffers."""
    handles = [Var(b.name, "handle") for b in buffers]
    attrs = {"global_symbol": "main", "tir.noalias": True}
    return PrimFunc((*handles, *scalars), body, None, dict(zip(handles, buffers, strict=True)), attrs)


def allocate(buffer: Buffer, body: Stmt) -> Allocate:
    """Return ``body`` with memory for a buffer of one dimension."""
    return Allocate(buffer.data, buffer.dtype, buffer.shape, const(True), body)


def realize(buffer: Buffer, body: Stmt, *bounds: tuple[Any, Any]) -> BufferRealize:
    """Return ``body`` with a region of a buffer, given as pairs of begin and extent."""
    box = tuple(Range.from_min_extent(low, extent) for low, extent in bounds)
    return BufferRealize(buffer, box, const(True), body)


def apply(func: PrimFunc, *passes: Pass, config: dict[str, Any] | None = None) -> PrimFunc:
    """Return the function after some passes."""
    mod = IRModule({"main": func})
    with PassContext(config=config or {}):
        for each in passes:
            mod = each(mod)
    return mod["main"]  # type: ignore[no-any-return]


def program(
    body: str, params: str = "A: T.Buffer((64,), 'int32'), C: T.Buffer((64,), 'int32'), n: T.int32"
) -> PrimFunc:
    """Return the function ``main`` with the statements of a text."""
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    return from_source(f"@T.prim_func\ndef main({params}):\n{lines}")  # type: ignore[no-any-return]


def assert_pass(
    each: Pass,
    before: str | PrimFunc,
    expected: str | PrimFunc | None = None,
    *,
    config: dict[str, Any] | None = None,
    values: Sequence[int | dict[str, int]] = (0, 3, 9),
    from_schedule: bool = False,
    **signature: str,
) -> None:
    """Check what a pass makes of a program, and that it computes the same for some values of its scalars.

    Parameters
    ----------
    each : Pass
    before, expected : str or PrimFunc
        Functions, or the statements of one.  Without ``expected`` the pass returns the function that it was given.
    config : dict, optional
        Of the context.
    values : sequence of int or dict
        Of ``n``, or of all scalar parameters; empty for a program that cannot be run.
    from_schedule : bool
        Whether the functions bear the mark of those that were lowered from a schedule of tensor expressions.
    **signature
        ``params`` of :func:`program`.
    """

    def function_of(given: str | PrimFunc) -> PrimFunc:
        func = program(given, **signature) if isinstance(given, str) else given
        return func.with_attr(FROM_SCHEDULE, True) if from_schedule else func

    func = function_of(before)
    after = apply(func, each, config=config)
    if expected is None:
        assert after is func, f"changed to\n{after}"
    else:
        assert_structural_equal(after, function_of(expected))
        for value in values:
            assert_same(func, after, scalars=value if isinstance(value, dict) else {"n": value})


def arguments(func: PrimFunc, seed: int = 0, scalars: dict[str, int] | None = None) -> list[Any]:
    """Return arguments for a function: small numbers, so that integers do not overflow."""
    rng = np.random.default_rng(seed)
    given = scalars or {}
    result: list[Any] = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is None:
            result.append(given[param.name])
            continue
        shape = [given[d.name] if isinstance(d, Var) else int(d) for d in buffer.shape]  # type: ignore[call-overload]
        values = rng.integers(0, 100, shape)
        result.append(values.astype("int8" if buffer.dtype == "bool" else buffer.dtype))
    return result


def results(func: PrimFunc, seed: int = 0, scalars: dict[str, int] | None = None) -> list[Any]:
    """Return the arrays that a run of the function leaves behind."""
    args = arguments(func, seed, scalars)
    interpret(func, args)
    return [a for a in args if isinstance(a, np.ndarray)]


def assert_same(before: PrimFunc, after: PrimFunc, seed: int = 0, scalars: dict[str, int] | None = None) -> None:
    """Check that two functions compute the same, without reading or writing where they must not."""
    for a, b in zip(results(before, seed, scalars), results(after, seed, scalars), strict=True):
        np.testing.assert_array_equal(a, b)


def nodes(n: Any, kind: type[Any]) -> list[Any]:
    """Return the nodes of a class within a function or a statement."""
    found: list[Any] = []

    def note(item: Node) -> None:
        if isinstance(item, kind):
            found.append(item)

    post_order_visit(n.body if isinstance(n, PrimFunc) else n, note)
    return found


Draw = Callable[[st.SearchStrategy[Any]], Any]


class _Maker:
    """Makes a random program: loops, guards, lets and local arrays around stores that stay in their buffers."""

    def __init__(self, draw: Draw, kinds: tuple[ForKind, ...], likely: bool) -> None:
        self.draw = draw
        self.kinds = kinds
        self.likely = likely
        self.source = decl_buffer((SIZE,), "int32", name="A")
        self.target = decl_buffer((SIZE,), "int32", name="C")
        self.vars: list[PrimExpr] = [const(3), Var("n")]
        self.scalar = self.vars[1]
        self.arrays = [self.source, self.target]
        self.count = 0

    def fresh(self, name: str) -> str:
        self.count += 1
        return f"{name}{self.count}"

    def number(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def index(self, depth: int = 2) -> PrimExpr:
        """Return an integer expression of the variables at hand."""
        if depth == 0 or self.number(0, 3) == 0:
            return self.draw(st.sampled_from(self.vars)) * self.number(0, 5) + self.number(-3, 9)
        a, b = self.index(depth - 1), self.index(depth - 1)
        which = self.number(0, 6)
        if which == 0:
            return a - b
        if which == 1:
            return a // self.number(1, 7)
        if which == 2:
            return a % self.number(1, 9)
        if which == 3:
            return tir.max(a, b) if self.number(0, 1) else tir.min(a, b)
        return a + b

    def element(self, buffer: Buffer) -> Any:
        extent: Any = buffer.shape[0]
        return buffer[self.index() % extent]

    def value(self, depth: int = 2) -> PrimExpr:
        if depth == 0:
            return self.element(self.draw(st.sampled_from(self.arrays)))
        a, b = self.value(depth - 1), self.value(depth - 1)
        which = self.number(0, 4)
        if which == 0:
            return tir.if_then_else(self.condition(), a, b)
        if which == 1:
            return a + self.index()
        return a + b if which == 2 else tir.max(a, b - 7)

    def condition(self) -> PrimExpr:
        found = self.index(1) < self.number(0, 30)
        return tir.likely(found) if self.likely and self.number(0, 1) else found

    def store(self) -> Stmt:
        buffer = self.draw(st.sampled_from(self.arrays[1:]))
        extent: Any = buffer.shape[0]
        return BufferStore(buffer, self.value() % 997, (self.index() % extent,))

    def statement(self, depth: int) -> Stmt:
        if depth == 0:
            return self.store()
        which = self.number(0, 6)
        if which <= 1:
            return seq([self.statement(depth - 1) for _ in range(self.number(1, 3))])
        if which <= 3:
            return self.loop(depth)
        if which == 4:
            other = self.statement(depth - 1) if self.number(0, 1) else None
            return IfThenElse(self.condition(), self.statement(depth - 1), other)
        if which == 5:
            var = Var(self.fresh("t"))
            value = self.index()
            self.vars.append(var)
            body = self.statement(depth - 1)
            self.vars.pop()
            return LetStmt(var, value, body)
        return self.local_array(depth)

    def loop(self, depth: int) -> Stmt:
        var = Var(self.fresh("i"))
        kind = self.draw(st.sampled_from(self.kinds))
        extent = self.number(1, 5)
        self.vars.append(var)
        body = self.statement(depth - 1)
        self.vars.pop()
        return loop(var, extent, body, kind)

    def local_array(self, depth: int) -> Stmt:
        """An array is filled before anything reads it."""
        buffer = decl_buffer((self.draw(st.sampled_from([4, 8, 12])),), "int32", name=self.fresh("L"))
        var = Var(self.fresh("f"))
        self.vars.append(var)
        fill = loop(var, buffer.shape[0], BufferStore(buffer, self.value(1) % 997, (var,)))
        self.vars.pop()
        self.arrays.append(buffer)
        body = self.statement(depth - 1)
        self.arrays.pop()
        return allocate(buffer, seq([fill, body]))


@st.composite
def functions(
    draw: Draw, kinds: tuple[ForKind, ...] = (ForKind.SERIAL,), likely: bool = False, depth: int = 4
) -> PrimFunc:
    """Draw a function of a scalar ``n`` and two arrays, the second of which it changes."""
    maker = _Maker(draw, kinds, likely)
    body = seq([maker.statement(depth) for _ in range(maker.number(1, 3))])
    assert isinstance(maker.scalar, Var)
    func = function(body, maker.source, maker.target, scalars=(maker.scalar,))
    return func.with_attr(FROM_SCHEDULE, draw(st.booleans()))
