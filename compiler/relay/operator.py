"""Operators of graphs: everything that is known about one stands in one row.

Type inference, fusion, lowering, differentiation, constant folding, the interpreter, the importers and the
documentation read the row; none of them knows an operator by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from compiler.ir.attrs import REQUIRED, AttrField, Attrs, attr_fields, attrs_type_key
from compiler.ir.attrs.dict_attrs import NO_ATTRS
from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.extension import extension_point
from compiler.ir.op import ArgumentInfo, Op, registered_ops
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, GraphExpr, Tuple, TupleWrapper, as_expr, const
from compiler.relay.graph_node import mint_here
from compiler.relay.op_documentation import Documentation, Parameter
from compiler.relay.op_levels import support_level
from compiler.tir.layout.data_layout import Layout
from compiler.topi.tag import OpPattern as OpPattern

if TYPE_CHECKING:
    from compiler.target.target import Target
    from compiler.te.definition.tensor import Tensor
    from compiler.te.scheduling.schedule import Schedule

A = TypeVar("A", bound=Attrs)


class RelationError(TVMError):
    """Incompatible types; inference adds the operator and the place."""


Types = tuple[Type, ...]
"""The types of an operator's inputs."""
PartialTypes = tuple[Type | None, ...]
"""The same before all are known."""
Array = npt.NDArray[Any]
"""What a reference computes with."""
Relation = Callable[[Types, A], Type]
"""``relation(input_types, attrs)`` returns the output type.  Every input type is known; raises RelationError."""
Completion = Callable[[PartialTypes, A], Sequence[Type | None]]
"""``complete(input_types, attrs)`` returns types for inputs whose type is None, as far as the others tell."""
Compute = Callable[[A, "list[Tensor]", Type], "list[Tensor]"]
"""``compute(attrs, inputs, out_type)``: te.Tensors (tuples flattened in order) to te.Tensors."""
ScheduleRule = Callable[[A, "list[Tensor]", "Target"], "Schedule"]
"""``schedule(attrs, outputs, target)`` returns the te.Schedule of a group whose hardest operator this is."""
Reference = Callable[..., Any]
"""``reference(attrs, *arrays)``: NumPy arrays (tuples as tuples of arrays) to an array or a tuple of arrays."""
Gradient = Callable[[Call, Expr], Sequence[RelayExpr]]
"""``gradient(call, output_gradient)`` returns one expression for each argument; ``call`` is type-checked."""
AlterLayout = Callable[[Call, Sequence[Any], "Target"], Call | None]
"""``alter_layout(call, arg_types, target)`` returns the call in the layout that the target likes, or None."""


@dataclass(frozen=True, slots=True)
class InferCorrectLayoutOutput:
    """The layouts that a call has, or must have, and the attributes that go with them.

    Each element of a tuple counts as one input; a layout is None if nobody knows it.
    """

    input_layouts: Sequence[Layout | None]
    output_layouts: Sequence[Layout | None]
    new_attrs: Attrs


InLayouts = Sequence[Layout | None]
"""The layouts of inputs, each element of a tuple for itself; None of one whose layout is not known."""
LayoutAnswer = InferCorrectLayoutOutput | None
LayoutRule = Callable[[A, InLayouts | None, InLayouts, Types], LayoutAnswer]
"""``layout(attrs, new_in_layouts, old_in_layouts, old_in_types)`` returns the layouts of a call, or None.

It is asked twice: for the call as it is, without new layouts, and for the call whose inputs have come into new layouts,
which it may take or refuse.  ``None`` leaves the call in the layout that it is written for.
"""


@dataclass(frozen=True, slots=True)
class Input:
    """One argument of an operator."""

    doc: str
    """One line of documentation: what it is, its shape and data type."""
    default: object = REQUIRED
    """What the public function takes when it is left out, e.g. a number."""
    dtype: str | None = None
    """The data type that a number becomes."""
    is_list: bool = False
    """Whether it is a list of tensors: the results of a call with several are listed one by one."""
    may_be_empty: bool = True
    """Whether a list may have no tensors."""
    type_info: str = "Tensor"


@dataclass(frozen=True, slots=True)
class StaticForm:
    """How a call whose shape depends on an argument is written once that argument is a constant.

    ``op`` is the operator that has such arguments as attributes, and ``arguments`` says which become which attributes.
    """

    op: RelayOp
    arguments: Mapping[int, str]

    def attributes(self, attrs: Attrs, values: Sequence[Array]) -> dict[str, Any]:
        """Return the attributes of the static call, given the arguments that decide the shape."""
        given = {name: _attribute(value) for name, value in zip(self.arguments.values(), values, strict=True)}
        return {**attrs, **given}

    def call(self, call: Call, values: Sequence[Array]) -> Call:
        """Return a dynamic call as the static one, given the values of the arguments that decide the shape."""
        inputs = [arg for i, arg in enumerate(call.args) if i not in self.arguments]
        return self.op(*inputs, **self.attributes(call.attrs, values))


@dataclass(slots=True, eq=False)
class RelayOp(Op):
    """An operator of graphs; calling it makes a call."""

    inputs: Mapping[str, Input] = field(default_factory=dict)
    """The arguments by name, in their order."""
    attrs_type: type[Attrs] = Attrs
    relation: Relation[Any] | None = None
    complete: Completion[Any] | None = None
    pattern: OpPattern = OpPattern.OPAQUE
    compute: Compute[Any] | None = None
    schedule: ScheduleRule[Any] | None = None
    """See :data:`ScheduleRule`; None takes the usual one for the pattern."""
    gradient: Gradient | None = None
    stateful: bool = False
    """Whether a call does more than return a value, so that it must neither be removed nor repeated."""
    alter_layout: AlterLayout | None = None
    layout: LayoutRule[Any] | None = None
    static_form: StaticForm | None = None
    """Of an operator whose shape depends on the value of an argument."""
    onnx: str = ""
    """The ONNX operator that has the same inputs, and the same attributes under the same names; empty if none has."""
    spelt_out: tuple[str, ...] = ()
    """Attributes that the text format names even where they have their defaults."""
    parameters: tuple[str, ...] = ()
    """Inputs and attributes in the order of the public function, where it is not inputs first."""
    returns: str = ""
    """What the result is; the first line of the relation's documentation if it is empty."""
    references: tuple[str, ...] = ()
    """Papers and documents that define the operator."""
    result_type: str = "Call"
    """Python type of what the public function returns."""
    documented: Documentation | None = None
    """Of a public function that has other parameters than the row; None derives it from the row."""
    waived: Mapping[str, str] = field(default_factory=dict)
    """Fields that are left out on purpose, each with the reason."""
    rules: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    """What passes make of its calls, under the names of TVM's operator attributes: ``FTVMQnnCanonicalize``,
    ``FTVMQnnLegalize``.  Each takes the attributes, the arguments, and their types with that of the result last.
    """

    def own_attr(self, name: str) -> object:
        """Return an attribute that the operator's row says; None for others."""
        if name in self.rules:
            return self.rules[name]
        own = {
            "TOpPattern": int(self.pattern),
            "TOpIsStateful": self.stateful,
            "FPrimalGradient": self.gradient,
            "FInferCorrectLayout": self.layout,
        }
        return own[name] if name in own else _derived_attr(self, name)

    @property
    def attributes(self) -> Mapping[str, AttrField]:
        """The declarations of the attributes by name."""
        return attr_fields(self.attrs_type)

    @property
    def arguments(self) -> Sequence[ArgumentInfo]:
        """What the row says about the inputs, and then what programs do."""
        own = tuple(ArgumentInfo(name, given.type_info, given.doc) for name, given in self.inputs.items())
        return own + tuple(self.declaration.arguments)

    @property
    def attrs_type_key(self) -> str:
        own = attrs_type_key(self.attrs_type) if self.attributes else ""
        return self.declaration.attrs_type_key or own

    @property
    def num_inputs(self) -> int:
        declared = self.declaration.num_inputs
        return len(self.inputs) if declared < 0 else declared

    @property
    def support_level(self) -> int:
        """The level under which documentation lists the operator: what programs say, else as TVM's does."""
        return self.declaration.support_level or support_level(self.name)

    @property
    def documentation(self) -> Documentation:
        """What documentation says about the public function."""
        if self.documented is not None:
            return self.documented
        relation = (self.relation.__doc__ or "") if self.relation else ""
        order = self.parameters or tuple(dict.fromkeys((*self.inputs, *self.attributes)))
        return Documentation(
            self.doc,
            tuple(self._parameter(name) for name in order),
            self.returns or relation.strip().partition("\n")[0],
            self.result_type,
            self.references,
        )

    def _parameter(self, name: str) -> Parameter:
        if name in self.inputs:
            given = self.inputs[name]
            return Parameter(name, "Expr", given.doc, given.default)
        declared = self.attributes[name]
        return Parameter(name, declared.kind.type_name, declared.doc, declared.given_default)

    def __call__(self, *args: object, **attrs: object) -> Call:
        """Return the call of this operator."""
        if len(args) != len(self.inputs):
            names = ", ".join(self.inputs) or "none"
            raise ArgumentError(f"{self.name}: takes {len(self.inputs)} arguments ({names}), got {len(args)}")
        values = [self.argument(name, value) for name, value in zip(self.inputs, args, strict=True)]
        return Call(self, tuple(values), self.complete_attrs(attrs), span=mint_here(self.name))

    def argument(self, name: str, value: object) -> RelayExpr:
        """Return the value of an input as an expression; a number becomes a constant."""
        if self.inputs[name].is_list and isinstance(value, TupleWrapper):
            value = list(value)
        value = as_expr(value)
        if isinstance(value, Tuple) and not (value.fields or self.inputs[name].may_be_empty):
            raise ArgumentError(f"{self.name}: {name} must not be empty")
        if isinstance(value, RelayExpr):
            return value
        if isinstance(value, (bool, int, float, np.ndarray, np.generic)):
            return const(value, self.inputs[name].dtype)
        raise ArgumentError(f"{self.name}: {name} must be an expression, got {type(value).__name__} {show(value)}")

    def complete_attrs(self, given: Mapping[str, object]) -> Attrs:
        if not given and not self.attributes:
            return NO_ATTRS
        return self.attrs_type.make(self.name, given)


def _attribute(value: Array) -> Any:
    """Return an argument as the value of an attribute: a number, a list, or for more dimensions a list of lists.

    Real numbers that are whole become ints, as attributes may be.
    """
    if value.dtype.kind == "f" and bool(np.all(value == np.trunc(value))):
        value = value.astype("int64")
    if value.ndim > 1:
        return value.tolist()
    numbers = value.reshape(-1).tolist()
    return numbers[0] if len(numbers) == 1 else numbers


def _derived_attr(op: RelayOp, name: str) -> object:
    """Return an attribute that a higher layer makes of a row; None if there is none."""
    point = extension_point("relay operator attributes")
    if not point.has(name):
        return None
    derive: Any = point.find(name)
    return derive()(op)


def operator_of(call: Call) -> RelayOp:
    """Return the operator that a call applies."""
    if isinstance(call.op, RelayOp):
        return call.op
    raise ArgumentError(f"expected the call of an operator, got the call of a {type(call.op).__name__}")


def op_name(expr: GraphExpr) -> str:
    """Return the name of the operator that an expression calls; empty if it is none."""
    return expr.op.name if isinstance(expr, Call) and isinstance(expr.op, Op) else ""


def call_of(expr: GraphExpr, *names: str) -> Call | None:
    """Return an expression if it is the call of an operator of one of these names, else None."""
    return expr if isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in names else None


def relay_ops() -> dict[str, RelayOp]:
    """Return all operators of graphs by name."""
    return {name: op for name, op in registered_ops().items() if isinstance(op, RelayOp)}


def get(name: str) -> RelayOp:
    """Return the operator of graphs that has a name, e.g. ``nn.conv2d``.

    Raises TVMError if there is none.
    """
    op = Op.get(name)
    if not isinstance(op, RelayOp):
        raise TVMError(f"relay.op.get: {name!r} is not a Relay operator")
    return op


def call_op(name: str, *args: object, **attrs: object) -> Call:
    """Return the call of an operator by name: neither passes nor gradients import operators."""
    return get(name)(*args, **attrs)


def reshaped(data: GraphExpr, shape: Sequence[Any]) -> Call:
    """Return the ``reshape`` of a tensor to a known shape: an extent of 0 means no extent of ``data``."""
    return call_op("reshape", data, newshape=shape, allowzero=any(isinstance(d, int) and d == 0 for d in shape))
