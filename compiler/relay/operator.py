"""Operators of graphs: everything that is known about one stands in one registration.

Type inference, fusion, lowering, differentiation, constant folding, the interpreter and the documentation read the row;
none of them knows an operator by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from compiler.ir.attrs import Attrs
from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.op import Op, add_op, registered_ops
from compiler.ir.origin import derived_from
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, as_expr, const, mint_here


class OpPattern(IntEnum):
    """How an operator may be fused with others; a group's pattern is that of its hardest member."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


class _Required:
    def __repr__(self) -> str:
        return "<required>"


REQUIRED = _Required()
"""Default of an attribute that must be given."""


class RelationError(TVMError):
    """Types that do not go together; inference adds the operator and the place."""


Relation = Callable[[tuple[Any, ...], Attrs], Type]
"""``relation(input_types, attrs)`` returns the output type.  Every input type is known; raises RelationError."""
Completion = Callable[[tuple[Any, ...], Attrs], Sequence[Type | None]]
"""``complete(input_types, attrs)`` returns types for inputs whose type is None, as far as the others tell."""
Compute = Callable[[Attrs, list[Any], Type], list[Any]]
"""``compute(attrs, inputs, out_type)``: te.Tensors (tuples flattened in order) to te.Tensors."""
ScheduleRule = Callable[[Attrs, list[Any], Any], Any]
"""``schedule(attrs, outputs, target)`` returns the te.Schedule of a group whose hardest operator this is."""
Reference = Callable[..., Any]
"""``reference(attrs, *arrays)``: NumPy arrays (tuples as tuples of arrays) to an array or a tuple of arrays."""
Gradient = Callable[[Call, Expr], Sequence[RelayExpr]]
"""``gradient(call, output_gradient)`` returns one expression for each argument; ``call`` is type-checked."""


@dataclass(slots=True, eq=False)
class RelayOp(Op):
    """An operator of graphs; calling it makes a call.

    Attributes
    ----------
    inputs : tuple of str
        Names of the arguments, for messages and documentation.
    attributes : mapping of str to object
        Every attribute with its default, :data:`REQUIRED` where there is none.
    relation : callable
        See :data:`Relation`.
    complete : callable or None
        See :data:`Completion`.
    pattern : OpPattern
    compute : callable or None
        See :data:`Compute`.
    schedule : callable or None
        See :data:`ScheduleRule`; None takes the usual one for the pattern.
    reference : callable or None
        See :data:`Reference`.
    gradient : callable or None
        See :data:`Gradient`.
    stateful : bool
        Whether a call does more than return a value, so that it must neither be removed nor repeated.
    alter_layout : callable or None
        ``alter_layout(call, arg_types, target)`` returns the call in the layout that the target likes, or None.
    layout : callable or None
        ``layout(call, input_layouts, arg_types)`` returns the layouts wanted of the inputs, those of the outputs, and
        the attributes that go with them.
    spelt_out : tuple of str
        Attributes that the text format names even where they have their defaults.
    waived : mapping of str to str
        Fields that are left out on purpose, each with the reason.
    """

    inputs: tuple[str, ...] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    relation: Relation | None = None
    complete: Completion | None = None
    pattern: OpPattern = OpPattern.OPAQUE
    compute: Compute | None = None
    schedule: ScheduleRule | None = None
    gradient: Gradient | None = None
    stateful: bool = False
    alter_layout: Callable[..., Any] | None = None
    layout: Callable[..., Any] | None = None
    spelt_out: tuple[str, ...] = ()
    waived: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, *args: Any, **attrs: Any) -> Call:
        """Return the call of this operator.

        Raises
        ------
        ArgumentError
            If the number of arguments or an attribute's name does not fit.
        """
        if len(args) != len(self.inputs):
            names = ", ".join(self.inputs) or "none"
            raise ArgumentError(f"{self.name}: takes {len(self.inputs)} arguments ({names}), got {len(args)}")
        values = tuple(self._argument(name, value) for name, value in zip(self.inputs, args, strict=True))
        with derived_from(mint_here(self.name)):
            return Call(self, values, self.complete_attrs(attrs))

    def _argument(self, name: str, value: Any) -> Any:
        value = as_expr(value)
        if isinstance(value, (bool, int, float)):
            return const(value)
        if isinstance(value, RelayExpr):
            return value
        raise ArgumentError(f"{self.name}: {name} must be an expression, got {type(value).__name__} {show(value)}")

    def complete_attrs(self, given: Mapping[str, Any]) -> Attrs:
        """Return the attributes of a call: those given, and the defaults of the others.

        Raises
        ------
        ArgumentError
            If one is unknown, or a required one is missing.
        """
        for name in given:
            if name not in self.attributes:
                known = ", ".join(self.attributes) or "none"
                raise ArgumentError(f"{self.name}: there is no attribute {name!r}; there are {known}")
        values = {name: given.get(name, default) for name, default in self.attributes.items()}
        missing = [name for name, value in values.items() if value is REQUIRED]
        if missing:
            raise ArgumentError(f"{self.name}: attribute {missing[0]!r} must be given")
        return Attrs(values)

    def get_attr(self, key: str) -> Any:
        """Return a fact under TVM's name for it, such as ``TOpPattern``; None if there is no such fact."""
        if key == "TOpPattern":
            return int(self.pattern)
        return {"TOpIsStateful": self.stateful, "FPrimalGradient": self.gradient}.get(key)


def register(
    name: str,
    *,
    doc: str,
    inputs: Sequence[str],
    relation: Relation,
    attributes: Mapping[str, Any] | None = None,
    **facts: Any,
) -> RelayOp:
    """Register an operator under a name that is still free and return it.

    Parameters
    ----------
    name : str
        As Relay spells it, e.g. ``nn.conv2d``.
    doc : str
        What it computes, in a sentence or two.
    facts
        The other fields of :class:`RelayOp`.
    """
    return add_op(
        RelayOp(name, doc=doc, inputs=tuple(inputs), relation=relation, attributes=dict(attributes or {}), **facts)
    )


def operator_of(call: Call) -> RelayOp:
    """Return the operator that a call applies.

    Parameters
    ----------
    call : Call

    Returns
    -------
    RelayOp

    Raises
    ------
    ArgumentError
        If the call applies a function or a constructor.
    """
    if isinstance(call.op, RelayOp):
        return call.op
    raise ArgumentError(f"expected the call of an operator, got the call of a {type(call.op).__name__}")


def relay_ops() -> dict[str, RelayOp]:
    """Return all operators of graphs by name."""
    return {name: op for name, op in registered_ops().items() if isinstance(op, RelayOp)}


def get(name: str) -> RelayOp:
    """Return the operator of graphs that has a name.

    Raises
    ------
    TVMError
        If there is none.
    """
    op = Op.get(name)
    if not isinstance(op, RelayOp):
        raise TVMError(f"relay.op.get: {name!r} is no operator of graphs")
    return op
