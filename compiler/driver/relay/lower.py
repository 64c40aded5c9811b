"""Lowers a fused function to a kernel: tensor expressions, their schedule, and loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from compiler import te
from compiler.driver.lower import lower_custom_types, lower_program, scheduled_program
from compiler.driver.relay.groups import element_tensors, evaluation_order
from compiler.ir import dtype as dt
from compiler.ir.context_stack import in_this_context
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.instrument import Instrument, first_answer
from compiler.ir.lazy_attribute import lazy_attribute
from compiler.ir.module import IRModule
from compiler.ir.origin import lowering_to
from compiler.relay.expr import Call, Constant, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.implementations import ScheduleMaker, configuration_of, implementation_of
from compiler.relay.operator import OpPattern, RelayOp, operator_of
from compiler.relay.ty import TensorType, tensor_types
from compiler.runtime.arrays.ndarray import NDArray
from compiler.target.target import Target
from compiler.te.definition.flops import schedule_flops
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.create_prim_func import create_prim_func
from compiler.te.scheduling.schedule import Schedule
from compiler.tir import const
from compiler.tir.statements.allocations import constant_count
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.threads.launch_single_thread import LaunchSingleThread
from compiler.topi.schedules import gpu, schedule_rule_for
from compiler.topi.schedules.choice import Configuration, chosen_by
from compiler.topi.tag import Tag


def schedule_group(
    calls: Sequence[Call],
    outputs: Sequence[Tensor],
    target: Target,
    schedules: Mapping[Call, ScheduleMaker],
    numbers: Configuration | None = None,
) -> Schedule:
    """Return the schedule of a fused group, with numbers that are given or those that the current context chooses."""
    hardest = max(calls, key=lambda call: operator_of(call).pattern, default=None)
    if hardest is None:
        return schedule_rule_for(OpPattern.INJECTIVE)(outputs, target)
    if hardest in schedules:
        return schedules[hardest](hardest.attrs, list(outputs), target)
    if "gpu" in target.keys:
        return gpu.schedule_group(outputs, target)
    op = operator_of(hardest)
    if op.schedule is not None:
        with chosen_by((lambda: numbers) if numbers else partial(configuration_of, hardest, target)):
            return op.schedule(hardest.attrs, list(outputs), target)
    return schedule_rule_for(op.pattern)(outputs, target)


@dataclass(slots=True, eq=False)
class KernelDefinition:
    """What a kernel computes, and how."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    schedule: Schedule
    program: PrimFunc | None = None
    """Its loops, where they are not the schedule's."""
    scheduled: Callable[[Configuration], Schedule] | None = None
    """Returns its schedule with other numbers, of those that schedules of operators choose."""

    def blocks(self) -> PrimFunc:
        """Return what it computes as a function of blocks; raises TVMError where they cannot say it."""
        return create_prim_func([*self.inputs, *self.outputs])

    def loops(self) -> IRModule:
        """Return its loops as its schedule says, which are lowered when they are built."""
        return scheduled_program(self.schedule, [*self.inputs, *self.outputs], "main")

    def lowered(self, name: str) -> IRModule:
        """Return its loops as they are compiled."""
        if self.program is not None:
            return lower_program(self.program, None, name)
        return lower_program(self.schedule, [*self.inputs, *self.outputs], name)


@dataclass(eq=False)
class LoweredKernel:
    """What one fused function became; ``flops`` are operations of one call, None if a shape is symbolic.

    ``replaced`` is the definition that the operators gave, in whose place an instrument put ``definition``; ``usual``
    is theirs in any case.
    """

    name: str
    function: Function
    definition: KernelDefinition
    constants: list[NDArray]
    lower: Callable[[], PrimFunc]
    flops: int | None
    bytes: int
    replaced: KernelDefinition | None = None

    @property
    def usual(self) -> KernelDefinition:
        return self.replaced or self.definition

    @lazy_attribute
    def prim_func(self) -> PrimFunc:
        """The loops."""
        return self.lower()

    @property
    def inputs(self) -> list[Tensor]:
        """The first parameters of the loops."""
        return self.definition.inputs

    @property
    def outputs(self) -> list[Tensor]:
        """The last parameters of the loops."""
        return self.definition.outputs

    @property
    def schedule(self) -> Schedule:
        """How the tensors are computed."""
        return self.definition.schedule


def lower_group(function: Function, name: str, target: Target, instruments: Sequence[Instrument] = ()) -> LoweredKernel:
    """Lower a fused function to loops; the first instrument with a definition of its own decides how it is computed."""
    kernel = schedule_kernel(function, name, target, instruments)
    kernel.prim_func  # noqa: B018  what goes wrong there is raised here
    return kernel


def schedule_kernel(
    function: Function, name: str, target: Target, instruments: Sequence[Instrument] = ()
) -> LoweredKernel:
    """Return a kernel whose loops are made when they are read first, as :func:`lower_group` makes them at once."""
    with target:
        group = _Group(function, target)

    def scheduled(numbers: Configuration | None = None) -> Schedule:
        with target, lowering_to("te", function.span):
            return schedule_group(group.calls, group.outputs, target, group.schedules, numbers)

    usual = KernelDefinition(group.inputs, group.outputs, scheduled(), scheduled=scheduled)
    own = first_answer(instrument.kernel_defined(name, function, usual) for instrument in instruments)
    definition = own or usual

    def lower() -> PrimFunc:
        with lowering_to("te", function.span):
            module = definition.lowered(name)
            if "gpu" in target.keys:
                module = LaunchSingleThread()(module)
            loops: PrimFunc = lower_custom_types(module, target)[name]
            return loops

    return LoweredKernel(
        name=name,
        function=function,
        definition=definition,
        constants=group.constants,
        lower=in_this_context(lower),
        flops=schedule_flops(usual.schedule),
        bytes=sum(tensor_bytes(t) for t in (*usual.inputs, *usual.outputs)),
        replaced=usual if own else None,
    )


def tensor_bytes(tensor: Tensor) -> int:
    """Return the size of a tensor whose extents are numbers."""
    count = constant_count(tensor.shape)
    assert count is not None, "kernels have static shapes"
    return count * dt.storage_bytes(tensor.dtype)


class _Group:
    """The tensor expressions of a fused function."""

    def __init__(self, function: Function, target: Target) -> None:
        self._target = target
        self.inputs: list[Tensor] = []
        self.constants: list[NDArray] = []
        self.calls: list[Call] = []
        self.schedules: dict[Call, ScheduleMaker] = {}
        self._constant_inputs: list[Tensor] = []
        self._values: dict[RelayExpr, list[Tensor]] = {}
        for index, param in enumerate(function.params):
            self._values[param] = self._placeholders(param, f"p{index}")
        for expr in evaluation_order(function):
            if expr not in self._values:
                self._values[expr] = self._compute(expr)
        self.inputs += self._constant_inputs
        self.outputs = self._own_outputs(self._values[function.body])

    def _placeholders(self, param: Var, name: str) -> list[Tensor]:
        types = tensor_types([param.checked_type])
        with lowering_to("te", param.span):
            made = [_placeholder(t, name if len(types) == 1 else f"{name}_{i}") for i, t in enumerate(types)]
        self.inputs += made
        return made

    def _compute(self, expr: RelayExpr) -> list[Tensor]:
        match expr:
            case Call() if isinstance(expr.op, RelayOp):
                return self._call(expr)
            case Constant():
                return [self._constant(expr)]
            case Tuple():
                return [t for part in expr.fields for t in self._values[part]]
            case TupleGetItem():
                return self._element(expr)
            case _:
                what = f"a kernel is made of operators and tuples, got {type(expr).__name__} {show(expr)}"
                raise ArgumentError(f"relay.build: {what}")

    def _call(self, call: Call) -> list[Tensor]:
        op = operator_of(call)
        inputs = [t for arg in call.args for t in self._values[arg]]
        with lowering_to("te", call.span):
            made = self._made(op, call, inputs)
        self.calls.append(call)
        return made

    def _made(self, op: RelayOp, call: Call, inputs: list[Tensor]) -> list[Tensor]:
        if (implementation := implementation_of(op)) is not None:
            self.schedules[call], made = implementation(call.attrs, inputs, call.checked_type, self._target)
            return made
        if op.compute is None:
            raise ArgumentError(f"relay.build: {op.name} has no tensor expression definition")
        made = list(op.compute(call.attrs, inputs, call.checked_type))
        _check_shapes(op, call, made)
        return made

    def _constant(self, expr: Constant) -> Tensor:
        if expr.value.ndim == 0:
            value = expr.value.item()
            with lowering_to("te", expr.span):
                return te.compute((), lambda: const(value, expr.data.dtype), name="constant")
        with lowering_to("te", expr.span):
            made = _placeholder(expr.tensor_type, f"c{len(self.constants)}")
        self.constants.append(expr.data)
        self._constant_inputs.append(made)
        return made

    def _element(self, expr: TupleGetItem) -> list[Tensor]:
        return self._values[expr.tuple_value][element_tensors(expr)]

    def _own_outputs(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return tensors that are all different, and none of them an input."""
        taken = set(self.inputs)
        outputs: list[Tensor] = []
        for tensor in tensors:
            made = tensor
            if tensor in taken:
                with lowering_to("te", tensor.op.span):
                    made = te.compute(tensor.shape, lambda *i, t=tensor: t(*i), name="copy", tag=Tag.INJECTIVE)
            taken.add(made)
            outputs.append(made)
        return outputs


def _check_shapes(op: RelayOp, call: Call, made: Sequence[Tensor]) -> None:
    """Refuse a definition of other shapes than the type says, by which memory is planned."""
    types = tensor_types([call.checked_type])
    if len(types) != len(made) or not all(_fits(*each) for each in zip(types, made, strict=True)):
        shapes = ", ".join(str(tuple(t.shape)) for t in made)
        raise ArgumentError(f"relay.build: {op.name} has type {call.checked_type}, and its definition shape {shapes}")


def _fits(t: TensorType, made: Tensor) -> bool:
    known = [n.value if isinstance(n, IntImm) else None for n in made.shape]
    return len(known) == len(t.dims) and all(
        d == n for d, n in zip(t.dims, known, strict=True) if isinstance(d, int) and n is not None
    )


def _placeholder(t: TensorType, name: str) -> Tensor:
    return te.placeholder(t.shape, dtype=t.dtype, name=name)
