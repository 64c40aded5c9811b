"""Schedules as templates: the primitives that a program has called, with other factors.

::

    xo, xi = s[C].split(x, factor=32)                 xo, xi = s[C].split(x, factor=64)
    s[C].reorder(xo, k, xi)                →          s[C].reorder(xo, k, xi)
    s[C].vectorize(xi)                                s[C].vectorize(xi)
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

from compiler.driver.lower import scheduled_program
from compiler.ir.expr.primexpr import IntImm, IterVar
from compiler.ir.module import IRModule
from compiler.te.definition.tensor import Operation, Tensor
from compiler.te.scheduling.factors import factors_of, with_factors
from compiler.te.scheduling.primitives import Primitive
from compiler.te.scheduling.replay import replay_onto
from compiler.te.scheduling.schedule import Schedule as TensorSchedule
from compiler.te.script import write_script as write_tensor_script
from compiler.tir.schedule.instruction import Instruction
from compiler.tir.schedule.random_variables import LoopRV
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.schedule.trace import Trace
from compiler.tir.schedule.writing import write_script
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For

Choose: TypeAlias = Callable[[str, Sequence[int]], int]
"""Takes what a factor is called, and what it may be: first what it is in the program."""
_FAR, _NEAR = 8, 2
"""How many times as large or as small a factor may become; the latter where its loop is unrolled or vectorized, since
the code grows with it."""
_LONGEST = 1 << 24
"""The longest loop whose divisors are looked for."""
_FEW = 3
"""With fewer divisors than these, a loop is also split into parts that do not divide it."""
_GROWING = ("unroll", "vectorize", "Unroll", "Vectorize")
_BOUND = ("bind", "rfactor", "tensorize", "Bind", "RFactor", "Tensorize")
"""Primitives that may need loops of the very extent that they have."""


@dataclass(frozen=True)
class Filled:
    """A template with factors: its loops, which are lowered when they are built, and what writes it as a script."""

    loops: Callable[[], IRModule]
    script: Callable[[str, str], str]
    """Takes the target and the title."""


class Template(ABC):
    """A schedule whose factors can be chosen."""

    @abstractmethod
    def filled(self, choose: Choose) -> Filled:
        """Return the schedule with chosen factors; raises TVMError where a primitive refuses one."""

    @cached_property
    def digest(self) -> str:
        """What tells it from the other schedules of a function."""
        loops = self.filled(lambda name, options: options[0]).loops()
        return hashlib.sha256(loops.script().encode()).hexdigest()[:8]


class TensorTemplate(Template):
    """A schedule of tensor expressions; ``args`` are tensors that it knows."""

    def __init__(self, schedule: TensorSchedule, args: Sequence[Tensor]) -> None:
        self._schedule, self._args = schedule, args
        self._reaches = _Reaches()
        for p in reversed(schedule.primitives):
            self._reaches.note(p.name, _axes(p), _listed(p.result))

    def filled(self, choose: Choose) -> Filled:
        names = _Names(choose)
        extents: dict[object, int] = {}
        chosen = []
        for p in self._schedule.primitives:
            _extents_of(p.operations, extents)
            chosen.append(self._chosen(p, names, extents))
        new = TensorSchedule(self._schedule.outputs)
        mapped = replay_onto(new, chosen)
        args = [mapped(a) for a in self._args]
        return Filled(
            partial(scheduled_program, new, args, "main"),
            lambda target, title: write_tensor_script(new, args, target, "main", title),
        )

    def _chosen(self, p: Primitive, names: _Names, extents: dict[object, int]) -> Primitive:
        made, changed = _listed(p.result), dict[str, int]()
        if p.name == "fuse" and all(axis in extents for axis in _axes(p)):
            extents[p.result] = math.prod(extents[axis] for axis in _axes(p))
        for at, (argument, (axis, value)) in enumerate(factors_of(p).items()):
            outer, inner = made[at::2] if p.name == "tile" else made
            if not isinstance(value, int) or axis not in extents:
                continue
            name, extent = f"{p.stage}.{axis.var.name}.{argument}", extents[axis]
            size = names.choose(name, value, extent, self._reaches.least((outer, inner)))
            rest = -(-extent // size)
            extents[outer], extents[inner] = (size, rest) if argument == "nparts" else (rest, size)
            changed[argument] = size
        return with_factors(p, changed) if changed else p


class BlockTemplate(Template):
    """The steps of a TensorIR schedule of a function."""

    def __init__(self, func: PrimFunc, trace: Trace) -> None:
        self._func, self._trace = func, trace
        self._reaches = _Reaches()
        for inst in reversed(trace.insts):
            self._reaches.note(inst.kind.name, inst.inputs, inst.outputs)

    def filled(self, choose: Choose) -> Filled:
        names, schedule = _Names(choose), Schedule(self._func, seed=1, error_render_level="fast")
        self._trace.apply_revised(schedule, partial(self._chosen, names, schedule))
        return Filled(lambda: schedule.mod, partial(write_script, self._func, schedule))

    def _chosen(self, names: _Names, schedule: Schedule, inst: Instruction, inputs: list[Any]) -> list[Any]:
        """Return the inputs of a step, a split's with chosen sizes of all loops but one."""
        if inst.kind.name != "Split":
            return inputs
        loop, *given = inputs
        sizes = [size.value if isinstance(size, IntImm) else size for size in given]
        split = schedule.get(loop)
        free = sizes.index(None) if None in sizes else 0
        others = [at for at in reversed(range(len(sizes))) if at != free]
        if not isinstance(split, For) or not all(isinstance(sizes[at], int) for at in others):
            return inputs
        if not isinstance(split.extent, IntImm):
            return inputs
        chosen, left = list(sizes), split.extent.value
        for at in others:
            name = f"{split.loop_var.name}.part{at}"
            chosen[at] = names.choose(name, sizes[at], left, self._reaches.least(inst.outputs))
            left = -(-left // chosen[at])
        if chosen == sizes:
            return inputs
        chosen[free] = None
        return [loop, *chosen]


def _listed(made: Any) -> Sequence[Any]:
    return made if isinstance(made, list | tuple) else (made,)


def _axes(p: Primitive) -> list[IterVar]:
    """Return the loops that a primitive is called with."""
    given = (value for argument in (*p.args, *p.kwargs.values()) for value in _listed(argument))
    return [value for value in given if isinstance(value, IterVar)]


class _Reaches:
    """How far the factors of loops may go: asked of what the last primitives do with their parts."""

    def __init__(self) -> None:
        self._by_loop: dict[object, int] = {}

    def least(self, loops: Iterable[object]) -> int:
        """Return how far a factor may go that makes some loops."""
        return min((self._by_loop.get(loop, _FAR) for loop in loops), default=_FAR)

    def note(self, name: str, inputs: Iterable[object], outputs: Iterable[object]) -> None:
        """Take notice of a primitive, of the last one first."""
        most = 1 if name in _BOUND else _NEAR if name in _GROWING else self.least(outputs)
        for loop in inputs:
            if isinstance(loop, IterVar | LoopRV):
                self._by_loop[loop] = min(most, self._by_loop.get(loop, _FAR))


class _Names:
    """Names factors apart."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._counts: Counter[str] = Counter()

    def choose(self, name: str, value: int, extent: int, reach: int) -> int:
        """Return a size, of a part of a loop, that is at most ``reach`` times as large or as small as it was."""
        self._counts[name] += 1
        count = self._counts[name]
        return self._choose(name if count == 1 else f"{name}{count}", _sizes(value, extent, reach))


def _sizes(value: int, extent: int, reach: int) -> list[int]:
    """Return a size and others that it may become: divisors of the extent, or where they are few, any powers of two."""
    low, high = max(1, -(-value // reach)), min(value * reach, extent)
    small = [n for n in range(1, 1 + math.isqrt(extent)) if extent % n == 0] if extent <= _LONGEST else []
    sizes = {n for d in small for n in (d, extent // d) if low <= n <= high}
    if len(sizes) < _FEW:
        sizes |= {n for power in range(1, 4) for n in (value << power, value >> power) if low <= n <= high}
    return [value, *sorted(sizes - {value})]


def _extents_of(operations: Iterable[Operation], extents: dict[object, int]) -> None:
    """Take notice of the extents of the loops that operations have without primitives."""
    for op in operations:
        for axis in op.root_iter_vars:
            if axis not in extents and axis.dom is not None and isinstance(axis.dom.extent, IntImm):
                extents[axis] = axis.dom.extent.value
