"""Programs that a ladder measures, with each prefix of a TE or TensorIR schedule."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.driver.lower import lower
from compiler.ir.error import TVMError, show
from compiler.ir.module import IRModule
from compiler.ir.primexpr import IntImm, PrimExpr, Var
from compiler.runtime.ndarray import numpy_dtype
from compiler.te.block_definitions import NotDefinitions, definitions_of_blocks
from compiler.te.flops import operation_flops, schedule_flops
from compiler.te.numpy_program import NumPyProgram
from compiler.te.numpy_reference import NoNumPyProgram, numpy_program
from compiler.te.schedule import Schedule
from compiler.te.shrinking import shrink_blocks, shrink_schedule
from compiler.te.tensor import Tensor
from compiler.tir.block import Block
from compiler.tir.buffer import Buffer, BufferStore
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import For, ForKind
from compiler.tir.stmt_functor import StmtVisitor

Array = np.ndarray[Any, Any]

MAX_TENSOR_BYTES = 512 << 20
"""Of each tensor: its values are in memory at least twice, as what is computed and as what it is compared with."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An argument of the function that is measured."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class MeasuredProgram(ABC):
    """A function whose prefixes can be lowered, with what its results are compared with.

    Attributes
    ----------
    parameters : list of Parameter
    outputs : list of int
        Positions of the parameters that it writes.
    primitives : list of str
        The calls that shaped its schedule.
    lines : list of int or None
        The script's line of each, where it is known.
    flops : float or None
        Floating-point operations a call; None if they are not known.
    """

    parameters: list[Parameter]
    outputs: list[int]
    primitives: list[str]
    lines: list[int | None]
    flops: float | None

    @abstractmethod
    def lowered(self, count: int | None = None) -> IRModule:
        """Return the function ``main`` after ``count`` primitives; after all of them by default."""

    @abstractmethod
    def small(self, ratio: int) -> IRModule:
        """Return the function ``main`` of a smaller computation under the same schedule.

        Parameters
        ----------
        ratio : int
            How many times as long an axis is as its parts, at most.

        Raises
        ------
        NotShrinkable
            There is none.
        """

    @abstractmethod
    def reference(self, inputs: Sequence[Array]) -> tuple[list[Array], NumPyProgram]:
        """Return the outputs as NumPy computes them, and the calls that do.

        Raises
        ------
        NoNumPyProgram
            There are none.
        """


class TensorProgram(MeasuredProgram):
    """A schedule of tensor expressions.

    Parameters
    ----------
    schedule : Schedule
        As the user left it.
    args : sequence of Tensor
        The function's arguments, placeholders and outputs, in the user's order.

    Raises
    ------
    TVMError
        An argument is a number, or too large.
    """

    def __init__(self, schedule: Schedule, args: Sequence[Tensor | Var]) -> None:
        self._schedule = schedule
        self._args = _tensors(args)
        outputs = set(schedule.outputs)
        self.parameters = [_parameter(t.name, t.shape, t.dtype) for t in self._args]
        self.outputs = [i for i, t in enumerate(self._args) if t.op in outputs]
        self.primitives = [primitive.label for primitive in schedule.primitives]
        self.lines = [primitive.line for primitive in schedule.primitives]
        self.flops = schedule_flops(schedule)

    def lowered(self, count: int | None = None) -> IRModule:
        if count is None:
            return lower(self._schedule, self._args, name="main")
        prefix, mapped = self._schedule.replay(count)
        return lower(prefix, [mapped(t) for t in self._args], name="main")

    def small(self, ratio: int) -> IRModule:
        small = shrink_schedule(self._schedule, self._args, ratio)
        return lower(small.schedule, small.args, name="main")

    def reference(self, inputs: Sequence[Array]) -> tuple[list[Array], NumPyProgram]:
        for tensor in (stage.op.output(i) for stage in self._schedule.stages for i in range(stage.op.num_outputs)):
            _check_size(tensor.name, _extents(tensor.shape), tensor.dtype)
        return _computed(self._args, self.outputs, inputs)


class BlockProgram(MeasuredProgram):
    """A TensorIR schedule: the program before any primitive, and after each.

    Parameters
    ----------
    programs : sequence of IRModule
        The program before the first primitive, followed by those after each.
    primitives : sequence of str
        The calls.
    trace : str
        How the last program was made of the first, in JSON; empty if that is not known.

    Raises
    ------
    TVMError
        The program is not one function of tensors of constant shape, or one is too large.
    """

    def __init__(self, programs: Sequence[IRModule], primitives: Sequence[str], trace: str = "") -> None:
        self._trace = trace
        self._functions = [only_function(program) for program in programs]
        self.primitives = list(primitives)
        self.lines = [None] * len(self.primitives)
        self._buffers = _parameter_buffers(self._functions[0])
        self.parameters = [_parameter(b.name, b.shape, b.dtype) for b in self._buffers]
        writes = _Writes()
        writes.visit(self._functions[0].body)
        self.outputs = [i for i, b in enumerate(self._buffers) if b in writes.buffers]
        self._tensors = self._definitions()
        self.flops = self._count_flops()

    def lowered(self, count: int | None = None) -> IRModule:
        return lower(self._functions[-1 if count is None else count], name="main")

    def small(self, ratio: int) -> IRModule:
        return lower(shrink_blocks(self._functions[0], self._trace, ratio), name="main")

    def reference(self, inputs: Sequence[Array]) -> tuple[list[Array], NumPyProgram]:
        if self._tensors is None:
            raise NoNumPyProgram("the blocks of this program are not definitions of tensors")
        return _computed([self._tensors[b] for b in self._buffers], self.outputs, inputs)

    def _definitions(self) -> dict[Buffer, Tensor] | None:
        """Return what the blocks compute as tensor expressions, where it can be said so."""
        try:
            return definitions_of_blocks(self._functions[0])
        except NotDefinitions:
            return None

    def _count_flops(self) -> float | None:
        counts = [operation_flops(tensor.op) for tensor in (self._tensors or {}).values()]
        return sum(count or 0 for count in counts) or None


def _computed(
    tensors: Sequence[Tensor], outputs: Sequence[int], arrays: Sequence[Array]
) -> tuple[list[Array], NumPyProgram]:
    results = [tensors[i] for i in outputs]
    inputs = {t: a for t, a in zip(tensors, arrays, strict=True) if t not in results}
    return numpy_program(results, inputs)


def _parameter(name: str, shape: Sequence[PrimExpr], dtype: str) -> Parameter:
    extents = _extents(shape)
    if len(extents) != len(shape):
        raise TVMError(f"measuring needs constant shapes; {name!r} has {tuple(shape)}")
    _check_size(name, extents, dtype)
    return Parameter(name, extents, dtype)


def _extents(shape: Iterable[PrimExpr]) -> tuple[int, ...]:
    return tuple(extent.value for extent in shape if isinstance(extent, IntImm))


def _check_size(name: str, extents: tuple[int, ...], dtype: str) -> None:
    """Reject a tensor that there is no memory for.

    Raises
    ------
    TVMError
        It is larger than :data:`MAX_TENSOR_BYTES`.
    """
    size = math.prod(extents) * numpy_dtype(dtype).itemsize
    if size > MAX_TENSOR_BYTES:
        raise TVMError(
            f"measuring needs tensors of at most {MAX_TENSOR_BYTES:,} bytes; {name!r} of shape {extents} has {size:,}"
        )


def _tensors(args: Sequence[Tensor | Var]) -> list[Tensor]:
    """Return the arguments of a function, none of which may be a number."""
    for arg in args:
        if not isinstance(arg, Tensor):
            raise TVMError(f"measuring requires functions of tensors; {show(arg)} is a number")
    return [arg for arg in args if isinstance(arg, Tensor)]


def only_function(program: IRModule) -> PrimFunc:
    """Return the function of a program.

    Raises
    ------
    TVMError
        There is none, or there are several.
    """
    functions = [func for func in program.functions.values() if isinstance(func, PrimFunc)]
    if len(functions) != 1:
        raise TVMError(f"measuring needs a program of one function; this one has {len(functions)}")
    return functions[0]


def has_parallel_loop(program: IRModule) -> bool:
    """Return whether a function of a program has a loop whose iterations run on several threads."""
    loops = _ParallelLoops()
    for func in program.functions.values():
        if isinstance(func, PrimFunc):
            loops.visit(func.body)
    return loops.present


class _ParallelLoops(StmtVisitor):
    """Looks for parallel loops."""

    def __init__(self) -> None:
        self.present = False

    def visit_For(self, n: For) -> None:
        self.present |= n.kind == ForKind.PARALLEL
        self.visit_Node(n)


class _Writes(StmtVisitor):
    """Collects the buffers that are stored, or that a block says to write."""

    def __init__(self) -> None:
        self.buffers: set[Buffer] = set()

    def visit_BufferStore(self, n: BufferStore) -> None:
        self.buffers.add(n.buffer)

    def visit_Block(self, n: Block) -> None:
        self.buffers.update(region.buffer for region in n.writes)
        self.visit_Node(n)


def _parameter_buffers(function: PrimFunc) -> list[Buffer]:
    for param in function.params:
        if param not in function.buffer_map:
            raise TVMError(f"measuring requires functions of tensors; {param.name} is a number")
    return [function.buffer_map[param] for param in function.params]
