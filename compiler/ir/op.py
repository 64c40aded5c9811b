"""The registry of operators that a :class:`~compiler.ir.expr.primexpr.Call` can name.

An operator is registered once, beside its builder function; the printer, the simplifier, the interpreter and the
backends read its properties from the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, ClassVar, TypeVar

from compiler.ir.attrs import Attrs
from compiler.ir.attrs.dict_attrs import NO_ATTRS, DictAttrs
from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.extension import extension_point
from compiler.ir.origin import NO_SPAN, Span
from compiler.ir.printing.format import Annotation, format_of
from compiler.ir.types import Type


class CallEffect(Enum):
    """What evaluating a call may do, from nothing to anything."""

    EXPR_ANNOTATION = 0
    PURE = 1
    READ_STATE = 2
    UPDATE_STATE = 3


class CallEffectKind(IntEnum):
    """The effects of calls, as programs name them for the attribute ``TCallEffectKind`` of an operator.

    Examples
    --------
    >>> tvm.ir.register_op_attr("tir.mylog", "TCallEffectKind", tvm.tir.CallEffectKind.Pure)
    """

    ExprAnnotation = CallEffect.EXPR_ANNOTATION.value
    Pure = CallEffect.PURE.value
    ReadState = CallEffect.READ_STATE.value
    UpdateState = CallEffect.UPDATE_STATE.value
    Opaque = UpdateState


@dataclass(frozen=True, slots=True)
class ArgumentInfo:
    """The description of one argument of an operator."""

    name: str
    type_info: str
    description: str


@dataclass(slots=True)
class OpDeclaration:
    """An operator's declaration, as a program fills it in.

    ``num_inputs`` is -1 if unspecified, ``support_level``, under which documentation lists the operator, 0.
    """

    arguments: list[ArgumentInfo] = field(default_factory=list)
    num_inputs: int = -1
    support_level: int = 0
    attrs_type_key: str = ""


@dataclass(slots=True, eq=False)
class Op:
    """An operator, compared by identity.

    Attributes
    ----------
    effect : CallEffect
        Only pure calls may be moved, merged or removed.
    reference : callable or None
        NumPy function of the arguments, for constant folding and the interpreter.
    prints_dtype, dtype_is_last : bool
        Whether a printed call names its data type, which its arguments do not determine, and after them.
    """

    name: str
    effect: CallEffect = CallEffect.PURE
    reference: Callable[..., Any] | None = None
    doc: str = ""
    prints_dtype: bool = False
    dtype_is_last: bool = False

    span: ClassVar[Span] = NO_SPAN
    """Operators have no source location."""
    checked_type_: ClassVar[Type | None] = None
    """Only its calls have a type."""

    @property
    def declaration(self) -> OpDeclaration:
        """The operator's declaration; an empty one if no program has made it."""
        return _DECLARATIONS.get(self.name) or OpDeclaration()

    @property
    def arguments(self) -> Sequence[ArgumentInfo]:
        """The descriptions of the arguments, in order."""
        return tuple(self.declaration.arguments)

    @property
    def num_inputs(self) -> int:
        """The number of arguments of a call; -1 if unspecified."""
        return self.declaration.num_inputs

    @property
    def support_level(self) -> int:
        """The support level under which the documentation lists the operator; 10, the last, by default."""
        return self.declaration.support_level or 10

    @property
    def attrs_type_key(self) -> str:
        """The type key of its calls' attributes; empty if none are declared."""
        return self.declaration.attrs_type_key

    @property
    def description(self) -> str:
        """What it computes."""
        return self.doc

    def add_argument(self, name: str, type: str, description: str) -> None:
        """Describe the next argument."""
        self._add_argument(ArgumentInfo(name, type, description))

    def _add_argument(self, argument: ArgumentInfo) -> None:
        self._declared().arguments.append(argument)

    def set_num_inputs(self, n: int) -> None:
        """Set the number of arguments of a call."""
        self._declared().num_inputs = n

    def set_support_level(self, level: int) -> None:
        """Set the level under which documentation lists the operator."""
        self._declared().support_level = level

    def set_attrs_type_key(self, key: str) -> None:
        """Name the class of its calls' attributes, e.g. ``DictAttrs``."""
        self._declared().attrs_type_key = key

    def add_type_rel(self, rel_name: str, type_rel_func: Callable[..., Any] | None = None) -> None:
        """Raises ArgumentError: only operators made by ``tvm.relay.op.op.register`` take a type relation."""
        raise ArgumentError(
            f"add_type_rel: {self.name} takes no type relation {show(rel_name)}; only operators made by"
            " tvm.relay.op.op.register do"
        )

    def _declared(self) -> OpDeclaration:
        return _DECLARATIONS.setdefault(self.name, OpDeclaration())

    def astext(self, show_meta_data: bool = True, annotate: Annotation | None = None) -> str:
        """Return the operator in Relay's text format; ``annotate(op)`` is the text after it."""
        return format_of(self).astext(self, show_meta_data, annotate)

    def complete_attrs(self, given: Mapping[str, object]) -> Attrs:
        """Return the attributes of a call of this operator, which declares none: those given."""
        return DictAttrs(given) if given else NO_ATTRS

    def own_attr(self, name: str) -> object:
        """Return an attribute that follows from the operator's registration, such as ``TOpPattern``, or None."""
        return self.effect.value if name == "TCallEffectKind" else None

    def get_attr(self, attr_name: str) -> Any:
        """Return the value that was set of an attribute, or else the one from the operator's registration, or None."""
        entry = _ATTRIBUTES.get((self.name, attr_name))
        return self.own_attr(attr_name) if entry is None else entry[0]

    def has_attr(self, attr_name: str) -> bool:
        """Return whether the operator has an attribute."""
        return self.get_attr(attr_name) is not None

    def set_attr(self, attr_name: str, value: object, plevel: int = 10) -> None:
        """Set an attribute of the operator, which passes read; a value set with a higher ``plevel`` is kept.

        Raises ArgumentError if it is already set with the same priority; call ``reset_attr`` first.
        """
        entry = _ATTRIBUTES.get((self.name, attr_name))
        if entry is not None and entry[1] == plevel:
            raise ArgumentError(f"set_attr: {attr_name} of {self.name} is already set with plevel={plevel}")
        if entry is None or entry[1] < plevel:
            _ATTRIBUTES[self.name, attr_name] = (value, plevel)
            if attr_name == "TCallEffectKind":
                kind: Any = value
                self.effect = CallEffect(min(int(kind), CallEffect.UPDATE_STATE.value))

    def reset_attr(self, attr_name: str) -> None:
        """Remove an attribute that was set."""
        _ATTRIBUTES.pop((self.name, attr_name), None)

    @staticmethod
    def list_op_names() -> list[str]:
        """Return the names of all operators."""
        extension_point("operators").load_modules()
        return sorted(_REGISTRY)

    def same_as(self, other: object) -> bool:
        """Return whether another operator is this one."""
        return self is other

    def __reduce__(self) -> tuple[object, ...]:
        return (Op.get, (self.name,))  # a copy, or what is unpickled, is the very operator

    def __repr__(self) -> str:
        return f"Op({self.name})"

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def get(op_name: str) -> Op:
        """Return the operator of a full name, e.g. ``tir.exp`` or ``nn.conv2d``.

        Raises TVMError if no such operator is registered.
        """
        op = _REGISTRY.get(op_name)
        if op is None and extension_point("operators").load_modules():
            op = _REGISTRY.get(op_name)
        if op is None:
            raise TVMError(f"Op.get: no operator is named {op_name!r}")
        return op


_REGISTRY: dict[str, Op] = {}
_DECLARATIONS: dict[str, OpDeclaration] = {}
_ATTRIBUTES: dict[tuple[str, str], tuple[object, int]] = {}
"""The values that programs set, with their priorities, by the names of the operator and the attribute."""


def register_op(
    name: str,
    *,
    effect: CallEffect = CallEffect.PURE,
    reference: Callable[..., Any] | None = None,
    doc: str = "",
    prints_dtype: bool = False,
    dtype_is_last: bool = False,
) -> Op:
    """Register an operator under a name that is not taken, and return it."""
    return add_op(Op(name, effect, reference, doc, prints_dtype, dtype_is_last))


AnyOp = TypeVar("AnyOp", bound=Op)


def add_op(op: AnyOp) -> AnyOp:
    """Add an operator to the registry under its name, which must not be taken, and return it."""
    if op.name in _REGISTRY:
        raise ValueError(f"operator {op.name} is registered twice")
    _REGISTRY[op.name] = op
    return op


def registered_ops() -> dict[str, Op]:
    """Return all operators by name."""
    return dict(_REGISTRY)


def register_op_attr(op_name: str, attr_key: str, value: object = None, level: int = 10) -> object:
    """Set an attribute of an operator, which passes read; an unknown operator is registered.

    Parameters
    ----------
    value : object, optional
        If omitted, a decorator is returned.
    level : int
        The priority: what was set with a higher one stays.

    Examples
    --------
    ::

        @tvm.ir.register_op_attr("nn.relu", "target.my_device")
        def supported(expr):
            return True
    """

    def register(given: object) -> object:
        extension_point("operators").load_modules()
        op = _REGISTRY.get(op_name) or register_op(op_name, effect=CallEffect.UPDATE_STATE)
        if attr_key:
            op.set_attr(attr_key, given, level)
        return given

    return register if value is None else register(value)


def register_intrin_lowering(op_name: str, target: str, *, f: object = None, level: int = 10) -> object:
    """Register the lowering of an intrinsic, such as ``tir.exp``, for a target kind or ``default``.

    ``f`` maps the call to the expression that replaces it; without it, a decorator is returned.  What was set with a
    higher ``level`` stays.
    """
    return register_op_attr(op_name, f"{target}.FLowerIntrinsic", f, level)
