"""Programs that a ladder measures, with each prefix of a TE or TensorIR schedule."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.recorder.measuring.shrinking import MALFORMED, shrink_blocks, shrink_schedule
from compiler.driver.lower import lower
from compiler.driver.templates import BlockTemplate, Template, TensorTemplate
from compiler.ir.error import TVMError, show
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var
from compiler.ir.module import IRModule
from compiler.ir.structural import structural_equal
from compiler.runtime.arrays.ndarray import numpy_dtype
from compiler.te.definition.flops import operation_flops, schedule_flops
from compiler.te.definition.numpy_program import NumPyProgram
from compiler.te.definition.numpy_reference import NoNumPyProgram, numpy_program
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.block_definitions import NotDefinitions, definitions_of_blocks
from compiler.te.lowering.create_prim_func import create_prim_func
from compiler.te.scheduling.schedule import Schedule as TensorSchedule
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.schedule.trace import Trace
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import Buffer, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind, Stmt
from compiler.tir.statements.stmt_functor import statements_of

Array = np.ndarray[Any, Any]

MAX_TENSOR_BYTES = 512 << 20
"""The maximum size of a tensor, which is in memory at least twice, as the result and as the reference."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the measured function."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class MeasuredProgram(ABC):
    """A measured function: its schedule prefixes and its reference.

    Attributes
    ----------
    outputs : list of int
        The indices of the output parameters.
    primitives : list of str
        The calls of its schedule.
    lines : list of int or None
        Their lines in the script, None if unknown.
    flops : float or None
        Floating-point operations per call; None if unknown.
    """

    parameters: list[Parameter]
    outputs: list[int]
    primitives: list[str]
    lines: list[int | None]
    flops: float | None

    @abstractmethod
    def lowered(self, count: int | None = None) -> IRModule:
        """Lower ``main`` after ``count`` primitives, by default after all."""

    @abstractmethod
    def definition(self) -> PrimFunc:
        """Return what ``main`` computes, without a schedule, as a function of blocks."""

    def is_derived(self) -> bool:
        """Whether the whole schedule follows from the definition by its primitives.

        What was written as a text after each primitive may be anything.
        """
        return True

    @abstractmethod
    def template(self) -> Template | None:
        """Return its schedule with factors to choose; None if it has no schedule that follows from the definition."""

    @abstractmethod
    def small(self, ratio: int) -> IRModule:
        """Lower ``main`` of a smaller computation under the same schedule.

        Parameters
        ----------
        ratio : int
            The maximum ratio of an axis to its parts.

        Raises
        ------
        NotShrinkable
            There is none.
        """

    @abstractmethod
    def reference(self, inputs: Sequence[Array]) -> tuple[list[Array], NumPyProgram]:
        """Compute the outputs with NumPy, and return them with the NumPy program.

        Raises
        ------
        NoNumPyProgram
            There are none.
        """


class TensorProgram(MeasuredProgram):
    """A scheduled tensor expression.

    Parameters
    ----------
    schedule : TensorSchedule
        The complete schedule.
    args : sequence of Tensor
        The function's arguments in order, placeholders and outputs.

    Raises
    ------
    TVMError
        If an argument is a scalar, or too large.
    """

    def __init__(self, schedule: TensorSchedule, args: Sequence[Tensor | Var]) -> None:
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

    def definition(self) -> PrimFunc:
        _, mapped = self._schedule.replay(0)
        return create_prim_func([mapped(t) for t in self._args])

    def template(self) -> Template | None:
        return TensorTemplate(self._schedule, self._args) if self.primitives else None

    def small(self, ratio: int) -> IRModule:
        small = shrink_schedule(self._schedule, self._args, ratio)
        return lower(small.schedule, small.args, name="main")

    def reference(self, inputs: Sequence[Array]) -> tuple[list[Array], NumPyProgram]:
        for tensor in (stage.op.output(i) for stage in self._schedule.stages for i in range(stage.op.num_outputs)):
            _check_size(tensor.name, _extents(tensor.shape), tensor.dtype)
        return _computed(self._args, self.outputs, inputs)


class BlockProgram(MeasuredProgram):
    """A TensorIR schedule: the program before the first primitive and after each.

    Parameters
    ----------
    programs : sequence of IRModule
        The program before the first primitive, followed by those after each.
    primitives : sequence of str
        The calls.
    trace : str
        The trace of the schedule as JSON; empty if unknown.

    Raises
    ------
    TVMError
        If the program is not a single function of tensors of constant shape, or a tensor is too large.
    """

    def __init__(self, programs: Sequence[IRModule], primitives: Sequence[str], trace: str = "") -> None:
        self._trace = trace
        self._functions = [only_function(program) for program in programs]
        self.primitives = list(primitives)
        self.lines = [None] * len(self.primitives)
        self._buffers = _parameter_buffers(self._functions[0])
        self.parameters = [_parameter(b.name, b.shape, b.dtype) for b in self._buffers]
        written = _written(self._functions[0].body)
        self.outputs = [i for i, b in enumerate(self._buffers) if b in written]
        self._tensors = self._definitions()
        self.flops = self._count_flops()

    def lowered(self, count: int | None = None) -> IRModule:
        return lower(self._functions[-1 if count is None else count], name="main")

    def definition(self) -> PrimFunc:
        return self._functions[0]

    def template(self) -> Template | None:
        if not self._trace or not self.is_derived():
            return None
        return BlockTemplate(self._functions[0], Trace.from_json(self._trace))

    def is_derived(self) -> bool:
        schedule = Schedule(self._functions[0])
        try:
            if self._trace:
                Trace.apply_json_to_schedule(self._trace, schedule)
        except (TVMError, *MALFORMED):
            return False
        return structural_equal(only_function(schedule.mod), self._functions[-1])

    def small(self, ratio: int) -> IRModule:
        return lower(shrink_blocks(self._functions[0], self._trace, ratio), name="main")

    def reference(self, inputs: Sequence[Array]) -> tuple[list[Array], NumPyProgram]:
        if self._tensors is None:
            raise NoNumPyProgram("the blocks of this program are not definitions of tensors")
        return _computed([self._tensors[b] for b in self._buffers], self.outputs, inputs)

    def _definitions(self) -> dict[Buffer, Tensor] | None:
        """Recover the tensor expressions of the blocks, if possible."""
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
    """Check the size of a tensor.

    Raises
    ------
    TVMError
        If it exceeds :data:`MAX_TENSOR_BYTES`.
    """
    size = math.prod(extents) * numpy_dtype(dtype).itemsize
    if size > MAX_TENSOR_BYTES:
        raise TVMError(
            f"measuring needs tensors of at most {MAX_TENSOR_BYTES:,} bytes; {name!r} of shape {extents} has {size:,}"
        )


def _tensors(args: Sequence[Tensor | Var]) -> list[Tensor]:
    """Return the arguments of a function, which must be tensors."""
    for arg in args:
        if not isinstance(arg, Tensor):
            raise TVMError(f"measuring requires functions of tensors; {show(arg)} is a number")
    return [arg for arg in args if isinstance(arg, Tensor)]


def only_function(program: IRModule) -> PrimFunc:
    """Return the only function of a program.

    Raises
    ------
    TVMError
        If there is none, or there are several.
    """
    functions = [func for func in program.functions.values() if isinstance(func, PrimFunc)]
    if len(functions) != 1:
        raise TVMError(f"measuring needs a program of one function; this one has {len(functions)}")
    return functions[0]


def has_parallel_loop(program: IRModule) -> bool:
    """Return whether a program has a parallel loop."""
    bodies = [func.body for func in program.functions.values() if isinstance(func, PrimFunc)]
    return any(loop.kind == ForKind.PARALLEL for body in bodies for loop in statements_of(body, For))


def _written(body: Stmt) -> set[Buffer]:
    """Return the buffers that are stored to, or that blocks declare to write."""
    declared = {region.buffer for block in statements_of(body, Block) for region in block.writes}
    return declared | {store.buffer for store in statements_of(body, BufferStore)}


def _parameter_buffers(function: PrimFunc) -> list[Buffer]:
    for param in function.params:
        if param not in function.buffer_map:
            raise TVMError(f"measuring requires functions of tensors; {param.name} is a number")
    return [function.buffer_map[param] for param in function.params]
