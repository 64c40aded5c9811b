"""The stores of a lowered function, with what decides how fast each of them runs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir import dtype as dt
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import (
    Add,
    Call,
    Cast,
    Div,
    FloorDiv,
    FloorMod,
    IntImm,
    Max,
    Min,
    Mod,
    Mul,
    PrimExpr,
    Ramp,
    Select,
    Sub,
    Var,
)
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.node import Node
from compiler.ir.structural import structural_equal
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Allocate, For, ForKind, IfThenElse, LetStmt, While

Lets = dict[Var, PrimExpr]
_DIVISIONS = (FloorDiv, FloorMod, Div, Mod)


class Unmodelled(TVMError):
    """Something in a function that the model does not know."""


@dataclass(frozen=True, slots=True)
class Access:
    """A load or a store.

    Attributes
    ----------
    steps : dict
        Elements that it moves with each loop around it; None where that is not a constant.
    lane_step : int or None
        Elements between two lanes of a vector; 0 where all lanes are the same or there is one.
    """

    buffer: Buffer
    write: bool
    steps: dict[Var, int | None]
    lane_step: int | None

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return max(1, dt.bits(self.buffer.dtype) // 8)

    def moves(self, loop: Var) -> int | None:
        """Return the bytes that it moves with a loop."""
        step = self.steps.get(loop, 0)
        return None if step is None else abs(step) * self.size


@dataclass(frozen=True, slots=True)
class Statement:
    """A store with the loops around it, the outermost first, and what it computes each time.

    Attributes
    ----------
    multiplies, adds : int
        Operations on values, of which one of each is a multiply-add; ``adds`` has all that are no products.
    conditions : tuple of PrimExpr
        Those of branches around and in it.
    divisions : tuple of PrimExpr
        Integer divisions by what is no power of two.
    externs, intrinsics : tuple of str
        Functions of a library that it calls once for each element, and those that become instructions.
    accumulates : bool
        Whether it adds to the element that it stores.
    widened : bool
        Whether it computes with float64 what was read as float32.
    """

    store: BufferStore
    loops: tuple[For, ...]
    accesses: tuple[Access, ...]
    lanes: int
    multiplies: int
    adds: int
    conditions: tuple[PrimExpr, ...]
    divisions: tuple[PrimExpr, ...]
    externs: tuple[str, ...]
    intrinsics: tuple[str, ...]
    accumulates: bool
    widened: bool

    @property
    def name(self) -> str:
        """Name of the buffer that is stored to."""
        return self.store.buffer.name

    @property
    def trips(self) -> int:
        """How often it runs."""
        return math.prod(extent(loop) for loop in self.loops)

    @property
    def operations(self) -> int:
        """Instructions of a processor that multiplies and adds in one."""
        return max(1, self.multiplies, self.adds)

    @property
    def innermost(self) -> For | None:
        """The loop that carries it out again and again, if there is one."""
        return next((loop for loop in reversed(self.loops) if extent(loop) > 1), None)

    @property
    def parallel(self) -> For | None:
        """The loop around it that threads share."""
        return next((loop for loop in self.loops if loop.kind is ForKind.PARALLEL), None)

    @property
    def target(self) -> Access:
        """The store itself."""
        return self.accesses[0]

    def repeated(self, expr: PrimExpr) -> int:
        """Return how often an expression is evaluated: not in each iteration of a loop that it does not depend on."""
        loop = self.innermost
        return self.trips if loop is None or loop.loop_var in free_vars((expr,)) else self.trips // extent(loop)


def extent(loop: For) -> int:
    """Return the iterations of a loop.

    Raises
    ------
    Unmodelled
        They are not a constant.
    """
    if not isinstance(loop.extent, IntImm):
        raise Unmodelled(f"the loop {loop.loop_var.name} has an extent that is not a constant")
    return max(1, loop.extent.value)


def allocated(func: PrimFunc) -> set[str]:
    """Return the names of the arrays that a function allocates."""
    return {node.buffer_var.name for node in _nodes(func.body) if isinstance(node, Allocate)}


def statements(func: PrimFunc) -> list[Statement]:
    """Return the stores of a lowered function, in their order.

    Raises
    ------
    Unmodelled
        There is a loop whose iterations are not known.
    """
    return list(_statements(func.body, (), {}, ()))


def _statements(
    stmt: Node, loops: tuple[For, ...], lets: Lets, conditions: tuple[PrimExpr, ...]
) -> Iterator[Statement]:
    if isinstance(stmt, While):
        raise Unmodelled("a while loop ends after as many iterations as its values say")
    if isinstance(stmt, BufferStore):
        yield _statement(stmt, loops, lets, conditions)
    elif isinstance(stmt, LetStmt):
        yield from _statements(stmt.body, loops, {**lets, stmt.var: substitute(stmt.value, lets)}, conditions)
    elif isinstance(stmt, For):
        extent(stmt)
        yield from _statements(stmt.body, (*loops, stmt), lets, conditions)
    else:
        if isinstance(stmt, IfThenElse):
            conditions = (*conditions, substitute(stmt.condition, lets))
        for child in _children(stmt):
            if not isinstance(child, PrimExpr):
                yield from _statements(child, loops, lets, conditions)


def _statement(store: BufferStore, loops: tuple[For, ...], lets: Lets, conditions: tuple[PrimExpr, ...]) -> Statement:
    value = substitute(store.value, lets)
    nodes = list(_nodes(value))
    computed = [node for node in nodes if not _is_index(node)]
    loads = {str((load.buffer.name, load.indices)): load for load in nodes if isinstance(load, BufferLoad)}
    indices = [substitute(index, lets) for index in store.indices]
    inside = [node for index in indices for node in _nodes(index)]
    calls = [node for node in computed if isinstance(node, Call)]
    names = [str(getattr(call.op, "name", call.op)).removeprefix("tir.") for call in calls]
    divisions = {
        str(node): node
        for node in (*inside, *nodes, *(n for c in conditions for n in _nodes(c)))
        if isinstance(node, _DIVISIONS) and dt.is_integral(node.dtype) and not _is_cheap(node)
    }
    branches = [call.args[0] for call, name in zip(calls, names, strict=True) if name == "if_then_else"]
    own = [load for load in loads.values() if load.buffer.data is store.buffer.data]
    return Statement(
        store=store,
        loops=loops,
        accesses=(
            _access(store.buffer, indices, True, loops),
            *(_access(load.buffer, list(load.indices), False, loops) for load in loads.values()),
        ),
        lanes=dt.lanes(value.dtype),
        multiplies=sum(isinstance(node, (Mul, Div)) for node in computed),
        adds=sum(isinstance(node, (Add, Sub, Max, Min, Select)) for node in computed),
        conditions=(*conditions, *branches),
        divisions=tuple(divisions.values()),
        externs=tuple(str(c.args[0]) for c, n in zip(calls, names, strict=True) if n.endswith("extern")),
        intrinsics=tuple(n for n in names if n in _FUNCTIONS),
        accumulates=any(
            all(structural_equal(a, b) for a, b in zip(load.indices, indices, strict=True)) for load in own
        ),
        widened=any(
            isinstance(node, Cast)
            and dt.element(node.dtype) == "float64"
            and dt.element(node.value.dtype) in ("float32", "float16")
            for node in computed
        ),
    )


_FUNCTIONS = frozenset({
    "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "tanh", "sigmoid", "erf", "pow", "sin", "cos", "tan",
    "sqrt", "rsqrt", "atan", "atan2", "sinh", "cosh", "asin", "acos",
})  # fmt: skip


def _is_index(node: Node) -> bool:
    """Return whether an expression is an integer that counts: of addresses, not of values."""
    return isinstance(node, PrimExpr) and dt.element(node.dtype) in ("int32", "int64") and not isinstance(node, Call)


def _is_cheap(node: PrimExpr) -> bool:
    divisor = getattr(node, "b", None)
    return isinstance(divisor, IntImm) and divisor.value > 0 and divisor.value & (divisor.value - 1) == 0


def _access(buffer: Buffer, indices: list[PrimExpr], write: bool, loops: tuple[For, ...]) -> Access:
    if len(indices) != 1:
        return Access(buffer, write, {loop.loop_var: None for loop in loops}, None)
    index, lane_step = indices[0], 0
    if isinstance(index, Ramp):
        lane_step = index.stride.value if isinstance(index.stride, IntImm) else None  # type: ignore[assignment]
        index = index.base
    elif dt.lanes(index.dtype) > 1:
        return Access(buffer, write, {loop.loop_var: None for loop in loops}, None)
    used = free_vars((index,))
    steps = {loop.loop_var: _step(index, loop.loop_var) for loop in loops if loop.loop_var in used}
    return Access(buffer, write, steps, lane_step)


def _step(index: PrimExpr, var: Var) -> int | None:
    linear = detect_linear_equation(index, [var])
    return linear[0].value if linear and isinstance(linear[0], IntImm) else None


def _children(node: Node) -> Iterator[Node]:
    for name in type(node).children:
        child = getattr(node, name)
        for each in child if isinstance(child, (tuple, list)) else (child,):
            if isinstance(each, Node):
                yield each


def _nodes(root: Node) -> Iterator[Node]:
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(_children(node))
