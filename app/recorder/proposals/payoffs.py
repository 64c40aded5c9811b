"""Reasons why a primitive might help, from the lowered loops with and without it."""

from __future__ import annotations

from collections.abc import Sequence

from app.recorder.proposals.strides import Stride, strides
from app.recorder.scripts.environment import CACHES, CORES
from app.units import size
from compiler.ir.expr.primexpr import Var
from compiler.ir.module import IRModule
from compiler.target.cpu.caches import TYPICAL
from compiler.target.target import Target
from compiler.tir.analysis.memory_traffic import memory_traffic
from compiler.tir.statements.function import PrimFunc

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

    def _stores(self, loop: Var) -> list[Stride]:
        return [step for step in strides(self._func, loop) if step.write]


def _unit(stores: Sequence[Stride]) -> bool:
    return bool(stores) and all(step.elements == 1 for step in stores)


def _traffic(func: PrimFunc) -> dict[str, float | None]:
    """Return the bytes that a function moves into each cache, by the model of its loops."""
    return {level.name: memory_traffic(func, level.size, level.line) for level in CACHES or TYPICAL}
