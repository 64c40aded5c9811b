"""Relay expressions.

Nodes are shared: an expression used twice is one object with two users, and is evaluated once.
"""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, NoReturn, TypeAlias
from typing import TypeVar as PythonTypeVar

import numpy as np
import numpy.typing as npt

from compiler.ir.attrs import Attrs
from compiler.ir.attrs.dict_attrs import NO_ATTRS, DictAttrs
from compiler.ir.error import ArgumentError, DTypeError, show
from compiler.ir.expr import RelayExpr
from compiler.ir.extension import public_module
from compiler.ir.function import register_call_maker
from compiler.ir.identity import Id
from compiler.ir.node import node
from compiler.ir.op import Op
from compiler.ir.origin import Span, derived_from
from compiler.ir.printing.format import Annotation, format_of, text_of
from compiler.ir.types import InferredTypes, Type
from compiler.relay.expr_arithmetic import ExprArithmetic, apply
from compiler.relay.graph_node import graph_node, mint_here
from compiler.relay.ty import TensorType, as_type
from compiler.relay.virtual_device_mixin import VirtualDeviceMixin
from compiler.runtime.arrays.ndarray import NDArray, array, numpy_dtype

__all__ = [
    "Call", "Constant", "Expr", "ExprLike", "GraphExpr", "Id", "If", "Let", "TensorLike", "Tuple", "TupleGetItem",
    "TupleWrapper", "Var", "const", "var",
]  # fmt: skip

T = PythonTypeVar("T")

GraphExpr: TypeAlias = RelayExpr | Op
"""What a graph is made of: expressions, and the operators that calls name."""

TensorLike: TypeAlias = bool | int | float | Sequence[Any] | npt.NDArray[Any] | np.generic | NDArray
"""What :func:`const` makes a tensor of."""
ExprLike: TypeAlias = "RelayExpr | TupleWrapper | TensorLike"
"""What is taken where an expression is expected: numbers become constants, and sequences of expressions tuples."""


@node
class Expr(ExprArithmetic, VirtualDeviceMixin, RelayExpr):
    """Base of the expressions of a graph.

    Operators of Python (``+ - * / < <= > >=`` and unary ``-``) make calls of the operators of graphs; the other
    operand may be a number, which becomes a constant.
    """

    dag_node: ClassVar[bool] = True

    def astype(self, dtype: str) -> Expr:
        """Return the value converted to another data type, such as ``float16``, as the call of ``cast``."""
        return apply("cast", self, dtype=dtype)

    def __call__(self, *args: ExprLike) -> Call:
        """Apply a function value to arguments."""
        return Call(self, _exprs("Call", args))

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__

    def astext(self, show_meta_data: bool = True, annotate: Annotation | None = None) -> str:
        """Return the expression in Relay's text format, which :func:`tvm.relay.parse_expr` reads.

        Parameters
        ----------
        show_meta_data : bool
            Whether constants that are too large for the text are appended as a ``#[metadata]`` section;
            without it such a text cannot be read back.
        annotate : callable, optional
            ``annotate(expr)`` is the text after an expression, in place of the comment with its type.
        """
        return format_of(self).astext(self, show_meta_data, annotate)


def expect(kind: type[T], value: object) -> T:
    """Return a value of which it is known, but not by its static type, that it is of a class."""
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value


def as_expr(value: Any) -> Any:
    """Return the expression that a value stands for: a :class:`TupleWrapper` its tuple, a list or tuple a
    :class:`Tuple`.
    """
    if isinstance(value, TupleWrapper):
        return value.tuple_value
    if isinstance(value, (list, tuple)):
        return Tuple(tuple(value))
    return value


def _exprs(owner: str, values: Iterable[ExprLike]) -> tuple[RelayExpr, ...]:
    return tuple([v if isinstance(v, RelayExpr) else expr_of(owner, v) for v in values])


def expr_of(owner: str, value: ExprLike) -> Any:
    """Return the expression that a value stands for."""
    expr = as_expr(value)
    if not isinstance(expr, (RelayExpr, Op)):
        raise ArgumentError(f"{owner}: expected expressions, got {type(expr).__name__} {show(expr)}")
    return expr


@graph_node
class Constant(Expr):
    """A tensor whose value is part of the program."""

    dag_node: ClassVar[bool] = False

    data: NDArray

    @property
    def value(self) -> npt.NDArray[Any]:
        """The value as a NumPy view of :attr:`data`, which must not be written to."""
        return self.data.view()

    @property
    def tensor_type(self) -> TensorType:
        """The type of the value."""
        return TensorType(self.data.shape, self.data.dtype)


@graph_node
class Var(Expr):
    """A variable: a parameter of a function, a name that ``let`` binds, or a name in a pattern.

    Variables are compared by identity; two of one name are two variables, and texts make ``name_hint`` unique.
    Inference finds the type where ``type_annotation`` is left out.
    """

    unique_instance: ClassVar[bool] = True
    free_var: ClassVar[bool] = True

    name_hint: str
    type_annotation: Type | None = None

    @property
    def vid(self) -> Id:
        """What the variable is, apart from its type."""
        return Id(self)


@graph_node
class Call(Expr):
    """An operator, constructor or function applied to arguments.

    ``attrs`` are an operator's, such as the strides of a convolution; those left out have their defaults.
    ``type_args`` are the types that a generic function is applied to, which inference finds where they are left out.
    """

    children: ClassVar[tuple[str, ...]] = ("op", "args")

    op: GraphExpr
    args: tuple[RelayExpr, ...]
    attrs: Attrs = NO_ATTRS
    type_args: tuple[Type, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", _exprs("Call", self.args))
        written = () if type(self.type_args) is InferredTypes else tuple(self.type_args or ())
        object.__setattr__(self, "type_args", written)
        if not isinstance(self.attrs, Attrs):
            object.__setattr__(self, "attrs", DictAttrs(self.attrs))
        if self.attrs is NO_ATTRS and (fill := getattr(self.op, "complete_attrs", None)) is not None:
            object.__setattr__(self, "attrs", fill({}))


@graph_node
class Let(Expr):
    """Binds a value to a variable for the rest of an expression.

    The variable, the field ``var``, is visible in ``body``, and in ``value`` if that is a function.
    """

    children: ClassVar[tuple[str, ...]] = ("var", "value", "body")
    defines: ClassVar[tuple[str, ...]] = ("var",)
    keywords: ClassVar[dict[str, str]] = {"var": "variable"}

    var: Var
    value: RelayExpr
    body: RelayExpr

    def __post_init__(self) -> None:
        value, body = _exprs("Let", (self.value, self.body))
        object.__setattr__(self, "value", value)
        object.__setattr__(self, "body", body)


@graph_node
class If(Expr):
    """Evaluates one of two branches by a condition that is a scalar of data type ``bool``."""

    children: ClassVar[tuple[str, ...]] = ("cond", "true_branch", "false_branch")

    cond: RelayExpr
    true_branch: RelayExpr
    false_branch: RelayExpr

    def __post_init__(self) -> None:
        names = ("cond", "true_branch", "false_branch")
        for name, value in zip(names, _exprs("If", [getattr(self, n) for n in names]), strict=True):
            object.__setattr__(self, name, value)


@graph_node
class Tuple(Expr):
    """Several values as one."""

    children: ClassVar[tuple[str, ...]] = ("fields",)

    fields: tuple[RelayExpr, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", _exprs("Tuple", self.fields))

    def is_shared(self) -> bool:
        """Return whether it has fields: the empty tuple is a constant."""
        return bool(self.fields)

    def __getitem__(self, index: int) -> RelayExpr:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)


@graph_node
class TupleGetItem(Expr):
    """One field of a tuple, counted from 0 on."""

    children: ClassVar[tuple[str, ...]] = ("tuple_value",)

    tuple_value: RelayExpr
    index: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "tuple_value", as_expr(self.tuple_value))


class TupleWrapper:
    """A call whose type is a tuple, to be indexed and unpacked like a Python tuple."""

    def __init__(self, tuple_value: RelayExpr, size: int) -> None:
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> RelayExpr:
        """Return the expression whose value is the tuple."""
        return self.tuple_value

    def astype(self, _: object) -> NoReturn:
        """Raises TypeError: a tuple has no conversion."""
        raise TypeError("astype cannot be used on tuple")

    def astext(self, *args: Any, **options: Any) -> str:
        """Return the call as text; see :meth:`Expr.astext`."""
        text: str = as_expr(self.tuple_value).astext(*args, **options)
        return text

    def __getitem__(self, index: int) -> TupleGetItem:
        if not -self.size <= index < self.size:
            raise IndexError(f"the tuple has {self.size} values, there is none with index {index}")
        return TupleGetItem(self.tuple_value, index % self.size)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[TupleGetItem]:
        return (self[i] for i in range(self.size))

    def __str__(self) -> str:
        return f"TupleWrapper({self.tuple_value}, {self.size})"

    __repr__ = __str__


def var(
    name_hint: str,
    type_annotation: Type | str | None = None,
    shape: Sequence[Any] | None = None,
    dtype: str = "float32",
    span: Span | None = None,
) -> Var:
    """Declare a variable.

    Raises ArgumentError if the name is not a string, or both a type and a shape are given.

    Parameters
    ----------
    type_annotation : Type or str, optional
        A string is the data type of a scalar.
    shape : sequence of int or PrimExpr, optional
        Instead of a type: that of a tensor of ``dtype``.
    span : Span, optional
        The source location; by default the line of the call.

    Examples
    --------
    >>> x = relay.var("x", shape=(1, 3, 224, 224), dtype="float32")
    >>> n = relay.var("n", "int32")
    """
    if not isinstance(name_hint, str):
        raise ArgumentError(f"var: name_hint must be a string, got {show(name_hint)}")
    if type_annotation is not None and shape is not None:
        raise ArgumentError(f"var: give a type or a shape, not both (variable {name_hint!r})")
    kind = None if type_annotation is None else as_type(type_annotation, f"var {name_hint!r}")
    with derived_from(mint_here(f"%{name_hint}") if span is None else span):
        if shape is not None:
            kind = TensorType(tuple(shape) if isinstance(shape, (list, tuple)) else (shape,), dtype)
        return Var(name_hint, kind)


def const(value: TensorLike, dtype: str | TensorType | None = None, span: Span | None = None) -> Constant:
    """Return a constant.

    Raises DTypeError if no tensor can hold the value.

    Parameters
    ----------
    dtype : str or TensorType, optional
        By default that of an ``NDArray``, and of anything else the data type that NumPy finds, where ``float64``
        becomes ``float32`` and ``int64`` becomes ``int32``.
    span : Span, optional
        The source location; by default the line of the call.
    """
    if isinstance(value, NDArray):
        return Constant(value) if span is None else Constant(value, span=span)
    tensor = np.asarray(value)
    if isinstance(dtype, TensorType):
        dtype = dtype.dtype
    if dtype is None:
        dtype = {"float64": "float32", "int64": "int32"}.get(str(tensor.dtype))
    if tensor.dtype == object or tensor.dtype.kind in "USOc":
        raise DTypeError(f"const: expected numbers, got {show(value)}")
    with derived_from(mint_here("const") if span is None else span):
        return Constant(array(tensor.astype(numpy_dtype(dtype), copy=False) if dtype else tensor))


def array_const(value: np.ndarray) -> Constant:
    """Return a constant of the data type of an array, which :func:`const` would narrow."""
    return const(value, str(value.dtype))


def make_call(func: RelayExpr, args: Sequence[ExprLike]) -> Call:
    """Return the call of a function of a module, from the line of the user who calls it."""
    with derived_from(mint_here(str(getattr(func, "name_hint", "call")))):
        return Call(func, _exprs("Call", args))


register_call_maker(RelayExpr, make_call)

if not typing.TYPE_CHECKING:  # a type checker knows all names, and refuses others
    __getattr__, __dir__ = public_module("tvm.relay.expr", __all__)
