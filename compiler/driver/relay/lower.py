"""A group of operators becomes one kernel: its tensor expressions, their schedule, and the loops made of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from compiler import te
from compiler.driver.lower import lower, lower_custom_types
from compiler.driver.relay.schedule import schedule_group
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.instrument import Instrument, first_answer
from compiler.ir.origin import lowering_to
from compiler.ir.primexpr import IntImm
from compiler.relay.analysis.traversal import operands, post_order
from compiler.relay.expr import Call, Constant, GraphExpr, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.op_strategy import ScheduleMaker, program_strategy, select_implementation
from compiler.relay.operator import RelayOp, operator_of
from compiler.relay.ty import TensorType, tensor_types
from compiler.runtime.ndarray import NDArray
from compiler.target.target import Target
from compiler.te.flops import schedule_flops
from compiler.te.schedule import Schedule
from compiler.te.tensor import Tensor
from compiler.tir import const
from compiler.tir.function import PrimFunc
from compiler.tir.transform.launch_single_thread import LaunchSingleThread
from compiler.topi.tag import Tag

MAX_NAME_LENGTH = 80

StructuralKey = tuple[object, ...]
"""What fused functions that become the same kernel have in common; hashable."""


@dataclass(slots=True, eq=False)
class KernelDefinition:
    """What a kernel computes, and how.

    Parameters
    ----------
    inputs, outputs : list of Tensor
        The parameters of the loops, in order.
    schedule : Schedule
        How the tensors are computed.
    """

    inputs: list[Tensor]
    outputs: list[Tensor]
    schedule: Schedule


@dataclass(slots=True, eq=False)
class LoweredKernel:
    """What one fused function became.

    Parameters
    ----------
    name : str
        Name of the kernel.
    function : Function
        The group of operators.
    definition : KernelDefinition
        What was lowered.
    constants : list of NDArray
        Values of the last inputs: tensors that the group itself contains.
    prim_func : PrimFunc
        The loops, lowered.
    flops : int or None
        Floating-point operations of one call; None where a shape is symbolic.
    bytes : int
        Size of all inputs and outputs.
    replaced : KernelDefinition or None
        The one that the operators gave, in whose place an instrument put ``definition``; None where none did.
    """

    name: str
    function: Function
    definition: KernelDefinition
    constants: list[NDArray]
    prim_func: PrimFunc
    flops: int | None
    bytes: int
    replaced: KernelDefinition | None = None

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
    """Lower a fused function to loops.

    Parameters
    ----------
    function : Function
        Type-checked; calls of operators, tuples and their elements.
    name : str
        Name of the kernel.
    target : Target
        What it is scheduled for.
    instruments : sequence of Instrument
        The first that gives a definition of its own decides how the kernel is computed.

    Returns
    -------
    LoweredKernel

    Raises
    ------
    ArgumentError
        If an operator of the group has no definition as tensor expressions.
    """
    with target:
        group = _Group(function, target)
        with lowering_to("te", function.span):
            schedule = schedule_group(group.calls, group.outputs, target, group.schedules)
    usual = KernelDefinition(group.inputs, group.outputs, schedule)
    own = first_answer(instrument.kernel_defined(name, function, usual) for instrument in instruments)
    definition = own or usual
    with lowering_to("te", function.span):
        module = lower(definition.schedule, [*definition.inputs, *definition.outputs], name=name)
        if "gpu" in target.keys:
            module = LaunchSingleThread()(module)
        module = lower_custom_types(module, target)
    return LoweredKernel(
        name=name,
        function=function,
        definition=definition,
        constants=group.constants,
        prim_func=module[name],
        flops=schedule_flops(usual.schedule),
        bytes=sum(tensor_bytes(t) for t in (*usual.inputs, *usual.outputs)),
        replaced=usual if own else None,
    )


def tensor_bytes(tensor: Tensor) -> int:
    """Return the size of a tensor whose extents are numbers."""
    size = dt.storage_bytes(tensor.dtype)
    for extent in tensor.shape:
        assert isinstance(extent, IntImm), "kernels have static shapes"
        size *= extent.value
    return size


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
        for expr in post_order(function.body, _parts):
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
        if program_strategy(op) is not None:
            chosen, made = select_implementation(op, call.attrs, inputs, call.checked_type, self._target)
            self.schedules[call] = chosen.schedule
            return made
        if op.compute is None:
            raise ArgumentError(f"relay.build: {op.name} has no definition as tensor expressions")
        return list(op.compute(call.attrs, inputs, call.checked_type))

    def _constant(self, expr: Constant) -> Tensor:
        if expr.value.ndim == 0:
            value = expr.value.item()
            with lowering_to("te", expr.span):
                scalar: Tensor = te.compute((), lambda: const(value, expr.data.dtype), name="constant")
                return scalar
        with lowering_to("te", expr.span):
            made = _placeholder(expr.tensor_type, f"c{len(self.constants)}")
        self.constants.append(expr.data)
        self._constant_inputs.append(made)
        return made

    def _element(self, expr: TupleGetItem) -> list[Tensor]:
        fields = expr.tuple_value.checked_type.fields
        before = len(tensor_types(fields[: expr.index]))
        count = len(tensor_types([fields[expr.index]]))
        return self._values[expr.tuple_value][before : before + count]

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


def _placeholder(t: TensorType, name: str) -> Tensor:
    return te.placeholder(t.shape, dtype=t.dtype, name=name)


def _parts(expr: GraphExpr) -> tuple[GraphExpr, ...]:
    """Return what is computed before an expression; an operator is not."""
    return expr.args if isinstance(expr, Call) else operands(expr)


def group_calls(function: Function) -> list[Call]:
    """Return the calls of operators in a fused function, in order of evaluation."""
    return [e for e in post_order(function.body, _parts) if isinstance(e, Call)]


def can_lower(function: Function) -> bool:
    """Return whether a fused function can become machine code.

    Every operator is then defined as tensor expressions, all shapes are static, and no value is of a type that only
    NumPy computes with, such as bfloat16.
    """
    calls = group_calls(function)
    if any(not _is_defined(c) for c in calls):
        return False
    types = [p.checked_type for p in function.params] + [c.checked_type for c in calls]
    return all(t.is_static and _has_code(t.dtype) for t in tensor_types(types))


def _is_defined(call: Call) -> bool:
    op = call.op
    return isinstance(op, RelayOp) and (op.compute is not None or program_strategy(op) is not None)


def has_program_strategy(function: Function) -> bool:
    """Return whether a program says how an operator of a fused function is computed.

    Parameters
    ----------
    function : Function

    Returns
    -------
    bool
    """
    return any(program_strategy(operator_of(call)) is not None for call in group_calls(function))


def _has_code(dtype: str) -> bool:
    parsed = dt.parse(dtype)
    return parsed.code in ("bool", "float") or parsed.is_custom or (parsed.code in ("int", "uint") and parsed.bits >= 8)


def kernel_name(function: Function, module: str) -> str:
    """Return TVM's name for the kernel of a fused function, such as ``tvmgen_default_fused_nn_conv2d_nn_relu``."""
    names = [re.sub(r"\W", "_", operator_of(call).name) for call in group_calls(function)]
    name = f"{module}_fused_" + "_".join(names or ["copy"])
    return name[:MAX_NAME_LENGTH].rstrip("_")


class KernelNames:
    """Gives the kernels of one model names that differ.

    Parameters
    ----------
    module : str
        What they begin with.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._taken: Counter[str] = Counter()

    def name(self, function: Function) -> str:
        """Return a new kernel's name: numbered from the second of its operators on.

        Parameters
        ----------
        function : Function
            The group of operators.

        Returns
        -------
        str
        """
        name = kernel_name(function, self._module)
        self._taken[name] += 1
        return name if self._taken[name] == 1 else f"{name}_{self._taken[name] - 1}"


def structural_key(function: Function) -> StructuralKey:
    """Return what two fused functions have in common exactly if they become the same kernel."""
    number: dict[GraphExpr, int] = {}
    key: list[object] = []
    for param in function.params:
        number[param] = len(number)
        key.append(str(param.checked_type))
    for expr in post_order(function.body, _parts):
        if expr in number:
            continue
        number[expr] = len(number)
        key.append(_node_key(expr, number))
    return (*key, number[function.body])


def _node_key(expr: GraphExpr, number: dict[GraphExpr, int]) -> tuple[object, ...]:
    match expr:
        case Call():
            attrs = tuple(sorted((k, repr(v)) for k, v in expr.attrs.items()))
            return (operator_of(expr).name, attrs, tuple(number[a] for a in expr.args), str(expr.checked_type))
        case Constant():
            return ("constant", expr.data.dtype, expr.data.shape, expr.value.tobytes())
        case TupleGetItem():
            return ("element", number[expr.tuple_value], expr.index)
        case Tuple():
            return ("tuple", tuple(number[f] for f in expr.fields))
        case _:
            return (type(expr).__name__,)
