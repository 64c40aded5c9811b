"""Attributes that programs give to operators of graphs, under the names of ``tvm.relay.op.op``."""

from __future__ import annotations

import typing
from collections.abc import Callable
from typing import Any

from compiler.classic.relay.op_strategy.selection import OpImplementation, OpSpecialization, OpStrategy
from compiler.classic.relay.program_op import ProgramOp
from compiler.classic.target.generic_func import GenericFunc
from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError
from compiler.ir.extension import offer, public_module
from compiler.ir.op import Op, add_op, register_op_attr, registered_ops
from compiler.ir.types import Type
from compiler.relay.implementations import ScheduleMaker
from compiler.relay.operator import OpPattern
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule
from compiler.topi.schedules import schedule_injective, schedule_reduce

__all__ = [
    "OpImplementation", "OpPattern", "OpSpecialization", "OpStrategy", "get", "register", "register_alter_op_layout",
    "register_broadcast_schedule", "register_compute", "register_convert_op_layout", "register_external_compiler",
    "register_gradient", "register_infer_correct_layout", "register_injective_schedule", "register_legalize",
    "register_pattern", "register_reduce_schedule", "register_schedule", "register_shape_func", "register_stateful",
    "register_strategy",
]  # fmt: skip

Rule = Callable[..., Any]


def get(op_name: str) -> Op:
    """Return the operator of a name."""
    return Op.get(op_name)


def register(op_name: str, describe: str = "") -> ProgramOp:
    """Return a new operator, which has a name only: programs give it its attributes."""
    if op_name in registered_ops():
        raise ArgumentError(f"register: operator {op_name} is already registered")
    return add_op(ProgramOp(op_name, doc=describe))


def register_alter_op_layout(op_name: str, alter_layout: Rule | None = None, level: int = 10) -> Any:
    """Set how AlterOpLayout changes the calls of an operator.

    ``alter_layout`` is a function from attributes, arguments, placeholders of their types, and the type of the result
    to another call of as many arguments, or None; without it, the decorator is returned.
    """
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_legalize(op_name: str, legal_op: Rule | None = None, level: int = 10) -> Any:
    """Set what Legalize puts in place of the calls of an operator.

    ``legal_op`` is a function from attributes, arguments, and their types with that of the result last, to an
    expression, or None; without it, the decorator is returned.
    """
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_convert_op_layout(op_name: str, convert_layout: Rule | None = None, level: int = 10) -> Any:
    """Set how ConvertLayout changes the calls of an operator.

    ``convert_layout`` is a function from attributes, arguments, placeholders of their types and the desired layouts to
    another call of as many arguments, or None; without it, the decorator is returned.
    """
    return register_op_attr(op_name, "FTVMConvertOpLayout", convert_layout, level)


def register_infer_correct_layout(op_name: str, infer_layout: Rule | None = None, level: int = 10) -> Any:
    """Set which layouts the calls of an operator take, for ConvertLayout and AlterOpLayout.

    ``infer_layout`` is a function from attributes, the layouts that the inputs have come into (None when it is asked
    for the call as it is), their old layouts, and the types of the arguments to an InferCorrectLayoutOutput; unknown
    layouts are None.  Without it, the decorator is returned.
    """
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)


def register_pattern(op_name: str, pattern: OpPattern, level: int = 10) -> Any:
    """Set how the calls of an operator are fused."""
    return register_op_attr(op_name, "TOpPattern", pattern, level)


def register_stateful(op_name: str, stateful: bool, level: int = 10) -> Any:
    """Set whether the calls of an operator do more than return a value."""
    return register_op_attr(op_name, "TOpIsStateful", stateful, level)


def register_shape_func(op_name: str, data_dependent: bool, shape_func: Rule | None = None, level: int = 10) -> Any:
    """Set the function that computes the shapes of an operator's results.

    It is an attribute that programs ask for.  The virtual machine itself infers shapes by the operator's type relation,
    from those that the arguments have when it is called.

    Parameters
    ----------
    data_dependent : bool
        Whether the shapes depend on the values of the arguments, not on their shapes alone.
    shape_func : callable, optional
        From attributes, inputs and the numbers of dimensions of the results to a tensor for each result's shape;
        without it, the decorator is returned.
    """
    register_op_attr(op_name, "TShapeDataDependent", data_dependent, level)
    return register_op_attr(op_name, "FShapeFunc", shape_func, level)


def register_gradient(op_name: str, fgradient: Rule | None = None, level: int = 10) -> Any:
    """Set the gradient of an operator.

    ``fgradient`` is a function from the call and the gradient of its result to a gradient for each argument; without
    it, the decorator is returned.
    """
    return register_op_attr(op_name, "FPrimalGradient", fgradient, level)


def register_external_compiler(op_name: str, fexternal: Rule | None = None, level: int = 10) -> Any:
    """Set what an external compiler makes of the calls of an operator."""
    return register_op_attr(op_name, "FTVMExternalCompiler", fexternal, level)


def register_compute(op_name: str, compute: Rule | None = None, level: int = 10) -> Any:
    """Set the definition of an operator as tensor expressions, which its schedules are for.

    ``compute`` is a function from attributes, inputs and the type of the result to tensors; without it, the decorator
    is returned.

    Examples
    --------
    ::

        @relay.op.register_compute("square")
        def square(attrs, inputs, out_type):
            return [topi.multiply(inputs[0], inputs[0])]

        relay.op.register_injective_schedule("square")
    """
    return register_op_attr(op_name, "FTVMCompute", compute, level)


def register_strategy(op_name: str, fstrategy: Rule | None = None, level: int = 10) -> Any:
    """Set the strategy of an operator.

    ``fstrategy`` is a function, often a generic one, from attributes, inputs, the type of the result and a target to an
    OpStrategy; without it, the decorator is returned.
    """
    return register_op_attr(op_name, "FTVMStrategy", fstrategy, level)


def register_schedule(op_name: str, schedule: ScheduleMaker, level: int = 10) -> Any:
    """Set the schedule of an operator: a strategy of what :func:`register_compute` set, else of its row, with it."""
    strategy = GenericFunc(f"{op_name}_strategy")
    strategy.set_default(_ScheduleStrategy(op_name, schedule))
    return register_op_attr(op_name, "FTVMStrategy", strategy, level)


class _ScheduleStrategy:
    """The strategy of one implementation: an operator's definition with a schedule of a program."""

    def __init__(self, op_name: str, schedule: ScheduleMaker) -> None:
        self._op_name = op_name
        self._schedule = schedule

    def __call__(self, attrs: Attrs, inputs: list[Tensor], out_type: Type, target: Target) -> OpStrategy:
        op = Op.get(self._op_name)
        compute = op.get_attr("FTVMCompute") or getattr(op, "compute", None)
        if compute is None:
            raise ArgumentError(f"{op.name} has a schedule but no definition; register one with register_compute")
        strategy = OpStrategy()
        strategy.add_implementation(compute, self._schedule, name=f"{op.name.rpartition('.')[2]}.generic")
        return strategy


def _injective(attrs: Attrs, outs: list[Tensor], target: Target) -> Schedule:
    return schedule_injective(outs, target)


def _reduction(attrs: Attrs, outs: list[Tensor], target: Target) -> Schedule:
    return schedule_reduce(outs, target)


def register_injective_schedule(op_name: str, level: int = 10) -> Any:
    """Set the usual schedule of element-wise computations for an operator."""
    return register_schedule(op_name, _injective, level)


def register_broadcast_schedule(op_name: str, level: int = 10) -> Any:
    """Set the usual schedule of broadcasting computations for an operator, that of element-wise ones."""
    return register_schedule(op_name, _injective, level)


def register_reduce_schedule(op_name: str, level: int = 10) -> Any:
    """Set the usual schedule of reductions for an operator."""
    return register_schedule(op_name, _reduction, level)


if not typing.TYPE_CHECKING:  # a type checker knows all names, and refuses others
    __getattr__, __dir__ = public_module("tvm.relay.op.op", __all__)

offer("tvm.relay.op", __all__, globals())
