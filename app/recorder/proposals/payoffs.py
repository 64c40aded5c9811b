"""Reasons why a primitive might help, from the lowered loops with and without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.recorder.scripts.environment import CACHES, CORES
from app.units import size
from compiler.arith.linear.detect_linear_equation import detect_linear_equation
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Ramp, Var
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import Visitor
from compiler.ir.module import IRModule
from compiler.target.cpu.caches import TYPICAL
from compiler.target.target import Target
from compiler.tir.analysis.memory_traffic import memory_traffic
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, LetStmt

LESS = 0.8
"""Share of the bytes that a primitive leaves at most, where moving fewer of them is worth a word."""
MAX_UNROLLED = 16
"""Iterations of a loop that is worth unrolling."""


class Payoffs:
    """Says why primitives might help for a function; each answer is a sentence, empty if there is no reason.

    Parameters
    ----------
    func : PrimFunc
        Lowered.
    """

    def __init__(self, func: PrimFunc, target: Target) -> None:
        self._func = func
        self._target = target
        self._on_device = target.max_num_threads > 1
        self._moved = {} if self._on_device else _traffic(func)

    def vectorize(self, loop: Var, extent: int | None) -> str:
        """Return why to vectorise an innermost loop."""
        stores = self._stores(loop)
        if not _unit(stores):
            return ""
        lanes = self._target.vector_width(stores[0].dtype)
        if lanes < 2 or extent is None or extent > 4 * lanes:
            return ""
        return f"it is innermost and walks {stores[0].buffer} element by element; a vector holds {lanes}"

    def parallel(self, owner: str, extent: int | None) -> str:
        """Return why to share out an outermost loop of a nest without parallel loops."""
        if self._on_device or extent is None or extent < 2:
            return ""
        return f"no loop of {owner} is parallel; its outermost has {extent:,} iterations for {CORES} cores"

    def unroll(self, extent: int | None) -> str:
        """Return why to unroll a loop that is innermost or almost."""
        if extent is None or not 1 < extent <= MAX_UNROLLED:
            return ""
        return f"only {extent} iterations: no loop counter remains, and values stay in registers from one to the next"

    def split(self, loop: Var, extent: int | None, factor: int) -> str:
        """Return why to split a loop by a factor."""
        stores = self._stores(loop)
        if not _unit(stores) or extent is None or extent % factor:
            return ""
        lanes = self._target.vector_width(stores[0].dtype)
        if factor != lanes or lanes < 2 or extent <= 4 * lanes:
            return ""
        return f"the inner loop is then one vector of {lanes} {stores[0].dtype} of {stores[0].buffer}"

    def move_inside(self, loop: Var, reduction: Var) -> str:
        """Return why a loop should be innermost in place of that of a reduction."""
        stores = self._stores(loop)
        if not _unit(stores):
            return ""
        return (
            f"the reduction {reduction.name} is innermost, each addition waiting for the one before; the sums along "
            f"{loop.name} are independent neighbours"
        )

    def fuse(self, extent: int | None) -> str:
        """Return why to fuse the outermost loop of a nest with the next."""
        if self._on_device or extent is None or extent >= 2 * CORES:
            return ""
        return f"the outermost loop has {extent} iterations, too few to share among {CORES} cores"

    def fewer_bytes(self, after: IRModule) -> str:
        """Return what a primitive saves in the first cache of this machine that it saves something in."""
        if self._on_device:
            return ""
        [func] = (f for f in after.functions.values() if isinstance(f, PrimFunc))
        for (name, before), (_, now) in zip(self._moved.items(), _traffic(func).items(), strict=True):
            if before is not None and now is not None and now <= LESS * before:
                return f"moves {size(now)} into {name} instead of {size(before)}"
        return ""

    def fewer_bytes_by_tile(self, after: IRModule) -> str:
        """Return why a split might help whose inner loop is moved inside, by what that is lowered to."""
        gain = self.fewer_bytes(after)
        return f"with the inner loop moved inside, it {gain}" if gain else ""

    def _stores(self, loop: Var) -> list[_Stride]:
        return [step for step in strides(self._func, loop) if step.write]


def _unit(stores: Sequence[_Stride]) -> bool:
    return bool(stores) and all(step.elements == 1 for step in stores)


def _traffic(func: PrimFunc) -> dict[str, float | None]:
    """Return the bytes that a function moves into each cache, by the model of its loops."""
    return {level.name: memory_traffic(func, level.size, level.line) for level in CACHES or TYPICAL}


@dataclass(frozen=True, slots=True)
class _Stride:
    """An access inside of a loop.

    Attributes
    ----------
    buffer : str
        Name of the buffer.
    dtype : str
        Of its elements.
    write : bool
        Whether it is written.
    elements : int or None
        Elements between two iterations; None if that is not a constant.
    """

    buffer: str
    dtype: str
    write: bool
    elements: int | None


def strides(func: PrimFunc, variable: Var) -> list[_Stride]:
    """Return the accesses in the loops over a variable, each kind once.

    Parameters
    ----------
    func : PrimFunc
        Lowered: with flat buffers.
    variable : Var
        Of the loop; a copy of it with its name will do.

    Returns
    -------
    list of _Stride
        Empty if there is no such loop.
    """
    reader = _Reader(variable.name)
    reader.visit(func.body)
    return list(dict.fromkeys(reader.strides))


class _Reader(Visitor):
    def __init__(self, name: str) -> None:
        self.strides: list[_Stride] = []
        self._name = name
        self._inside: Var | None = None
        self._lets: dict[Var, PrimExpr] = {}

    def visit_For(self, n: For) -> None:
        outer = self._inside
        if n.loop_var.name == self._name:
            self._inside = n.loop_var
        self.visit_Node(n)
        self._inside = outer

    def visit_LetStmt(self, n: LetStmt) -> None:
        self.visit(n.value)
        self._lets[n.var] = substitute(n.value, self._lets)
        self.visit(n.body)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._access(n.buffer, n.indices, False)
        self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._access(n.buffer, n.indices, True)
        self.visit_Node(n)

    def _access(self, buffer: Buffer, indices: Sequence[PrimExpr], write: bool) -> None:
        if self._inside is None or len(indices) != 1:
            return
        index = substitute(indices[0], self._lets)
        linear = detect_linear_equation(index.base if isinstance(index, Ramp) else index, [self._inside])
        step = linear[0] if linear else None
        elements = step.value if isinstance(step, IntImm) else None
        self.strides.append(_Stride(buffer.name, buffer.dtype, write, elements))
