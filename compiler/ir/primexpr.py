"""Scalar and vector expressions: the language of indices, conditions and values that all levels share.

The node constructors (``Add(a, b)``) build exactly what they say.  The Python operators and the functions at the end
convert their arguments, match data types as TVM does, and fold constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError, TVMError, show
from compiler.ir.node import Node, node
from compiler.ir.op import Op, register_op
from compiler.ir.text_format import text_of
from compiler.ir.types import Type


class ExprOperators:
    """Python's operators, for whatever converts to an expression."""

    __slots__ = ()

    def __add__(self, other: ExprLike) -> PrimExpr:
        return binary(Add, self, other)

    def __radd__(self, other: ExprLike) -> PrimExpr:
        return binary(Add, other, self)

    def __sub__(self, other: ExprLike) -> PrimExpr:
        return binary(Sub, self, other)

    def __rsub__(self, other: ExprLike) -> PrimExpr:
        return binary(Sub, other, self)

    def __mul__(self, other: ExprLike) -> PrimExpr:
        return binary(Mul, self, other)

    def __rmul__(self, other: ExprLike) -> PrimExpr:
        return binary(Mul, other, self)

    def __truediv__(self, other: ExprLike) -> PrimExpr:
        return _true_divide(self, other)

    def __rtruediv__(self, other: ExprLike) -> PrimExpr:
        return _true_divide(other, self)

    def __floordiv__(self, other: ExprLike) -> PrimExpr:
        return binary(FloorDiv, self, other)

    def __rfloordiv__(self, other: ExprLike) -> PrimExpr:
        return binary(FloorDiv, other, self)

    def __mod__(self, other: ExprLike) -> PrimExpr:
        return binary(FloorMod, self, other)

    def __rmod__(self, other: ExprLike) -> PrimExpr:
        return binary(FloorMod, other, self)

    def __neg__(self) -> PrimExpr:
        value = convert(self)
        if dt.is_uint(value.dtype):
            return binary(Sub, const(0, value.dtype), value)
        return binary(Mul, value, const(-1, value.dtype))  # 0 - x would lose the sign of zero

    def __and__(self, other: ExprLike) -> PrimExpr:
        return bitwise("bitwise_and", self, other)

    def __rand__(self, other: ExprLike) -> PrimExpr:
        return bitwise("bitwise_and", other, self)

    def __or__(self, other: ExprLike) -> PrimExpr:
        return bitwise("bitwise_or", self, other)

    def __ror__(self, other: ExprLike) -> PrimExpr:
        return bitwise("bitwise_or", other, self)

    def __xor__(self, other: ExprLike) -> PrimExpr:
        return bitwise("bitwise_xor", self, other)

    def __rxor__(self, other: ExprLike) -> PrimExpr:
        return bitwise("bitwise_xor", other, self)

    def __lshift__(self, other: ExprLike) -> PrimExpr:
        return bitwise("shift_left", self, other)

    def __rlshift__(self, other: ExprLike) -> PrimExpr:
        return bitwise("shift_left", other, self)

    def __rshift__(self, other: ExprLike) -> PrimExpr:
        return bitwise("shift_right", self, other)

    def __rrshift__(self, other: ExprLike) -> PrimExpr:
        return bitwise("shift_right", other, self)

    def __invert__(self) -> PrimExpr:
        return bitwise("bitwise_not", self)

    def __lt__(self, other: ExprLike) -> PrimExpr:
        return binary(LT, self, other)

    def __le__(self, other: ExprLike) -> PrimExpr:
        return binary(LE, self, other)

    def __gt__(self, other: ExprLike) -> PrimExpr:
        return binary(GT, self, other)

    def __ge__(self, other: ExprLike) -> PrimExpr:
        return binary(GE, self, other)

    def __eq__(self, other: object) -> PrimExpr:  # type: ignore[override]
        return _compare(EQ, self, other)

    def __ne__(self, other: object) -> PrimExpr:  # type: ignore[override]
        return _compare(NE, self, other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        raise TVMError(
            "the truth of a symbolic expression is not known while the program is being built: "
            "use tvm.tir.all, tvm.tir.any, tvm.tir.Not or tvm.tir.if_then_else instead of and, or, not, if"
        )

    def astype(self, dtype: str) -> PrimExpr:
        """Return the value converted to another data type."""
        return cast(dtype, convert(self))

    def equal(self, other: ExprLike) -> PrimExpr:
        """Return ``self == other`` as an expression."""
        return binary(EQ, self, other)


@node
class PrimExpr(Node, ExprOperators):
    """Base of all expressions; every subclass has a ``dtype``."""

    if TYPE_CHECKING:

        @property
        def dtype(self) -> str:
            """The data type; a field of each subclass."""

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__


ExprLike: TypeAlias = Any
"""A PrimExpr, an IterVar, a Python or NumPy number, or anything with ``asobject()``."""


@node
class Var(PrimExpr):
    """A variable, the same one only if it is the same object."""

    nominal: ClassVar[bool] = True
    variable: ClassVar[bool] = True

    name: str
    dtype: str = "int32"
    type_annotation: Type | None = None

    def __post_init__(self) -> None:
        if isinstance(self.dtype, Type):  # TVM's constructor takes a type in the place of a data type
            object.__setattr__(self, "type_annotation", self.dtype)
            object.__setattr__(self, "dtype", getattr(self.dtype, "dtype", "handle"))
        dt.parse(self.dtype)

    @property
    def name_hint(self) -> str:
        """The name, as TVM also calls it."""
        return self.name


@node
class SizeVar(Var):
    """A variable that is at least zero, such as a symbolic extent."""


@node
class IntImm(PrimExpr):
    """An integer or boolean constant."""

    __match_args__ = ("value",)  # rules match the value; the dtype seldom matters

    dtype: str
    value: int

    def __post_init__(self) -> None:
        low, high = dt.int_range(self.dtype)
        if not low <= self.value <= high:
            raise ArgumentError(f"IntImm: {self.value} does not fit into {self.dtype} ({low} to {high})")

    def __bool__(self) -> bool:
        return self.value != 0

    def __int__(self) -> int:
        return self.value

    __index__ = __int__


@node
class FloatImm(PrimExpr):
    """A floating-point constant."""

    __match_args__ = ("value",)

    dtype: str
    value: float

    def __bool__(self) -> bool:
        return self.value != 0

    def __float__(self) -> float:
        return self.value


@node
class StringImm(PrimExpr):
    """A string constant."""

    value: str
    dtype: str = "handle"


@node
class Cast(PrimExpr):
    """``value`` converted to ``dtype``."""

    children: ClassVar[tuple[str, ...]] = ("value",)

    dtype: str
    value: PrimExpr

    def __post_init__(self) -> None:
        if not isinstance(self.value, PrimExpr):
            object.__setattr__(self, "value", convert(self.value))


@node
class BinaryOp(PrimExpr):
    """Base of arithmetic on two operands of one data type."""

    children: ClassVar[tuple[str, ...]] = ("a", "b")
    symbol: ClassVar[str] = ""
    evaluate: ClassVar[staticmethod[[Any, Any], Any]]
    """The operation on two Python numbers, exact for integers."""

    a: PrimExpr
    b: PrimExpr
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.a, PrimExpr) and isinstance(self.b, PrimExpr)):
            _match_operands(self)
        object.__setattr__(self, "dtype", self.a.dtype)


def _match_operands(n: BinaryOp) -> None:
    """Convert what a script passes to a constructor, as TVM's take it: numbers, elements of tensors."""
    a, b = match_types(n.a, n.b, type(n).__name__)
    object.__setattr__(n, "a", a)
    object.__setattr__(n, "b", b)


def trunc_div(a: Any, b: Any) -> Any:
    """Divide; integers round towards zero, as in C."""
    if isinstance(a, int):
        q = abs(a) // abs(b)
        return q if (a < 0) == (b < 0) else -q
    return a / b


def trunc_mod(a: Any, b: Any) -> Any:
    """Return the remainder of :func:`trunc_div`; it has the sign of ``a``."""
    return a - trunc_div(a, b) * b if isinstance(a, int) else math.fmod(a, b)


@node
class Add(BinaryOp):
    symbol: ClassVar[str] = "+"
    evaluate = staticmethod(lambda a, b: a + b)


@node
class Sub(BinaryOp):
    symbol: ClassVar[str] = "-"
    evaluate = staticmethod(lambda a, b: a - b)


@node
class Mul(BinaryOp):
    symbol: ClassVar[str] = "*"
    evaluate = staticmethod(lambda a, b: a * b)


@node
class Div(BinaryOp):
    """Division; integers round towards zero."""

    symbol: ClassVar[str] = "/"
    evaluate = staticmethod(trunc_div)


@node
class Mod(BinaryOp):
    """Remainder of :class:`Div`."""

    symbol: ClassVar[str] = "truncmod"
    evaluate = staticmethod(trunc_mod)


@node
class FloorDiv(BinaryOp):
    """Division rounded towards minus infinity."""

    symbol: ClassVar[str] = "//"
    evaluate = staticmethod(lambda a, b: a // b)


@node
class FloorMod(BinaryOp):
    """Remainder of :class:`FloorDiv`; it has the sign of the divisor."""

    symbol: ClassVar[str] = "%"
    evaluate = staticmethod(lambda a, b: a % b)


@node
class Min(BinaryOp):
    symbol: ClassVar[str] = "min"
    evaluate = staticmethod(lambda a, b: min(a, b))


@node
class Max(BinaryOp):
    symbol: ClassVar[str] = "max"
    evaluate = staticmethod(lambda a, b: max(a, b))


@node
class CmpOp(BinaryOp):
    """Base of comparisons: as many truth values as the operands have lanes."""

    def __post_init__(self) -> None:
        if not (isinstance(self.a, PrimExpr) and isinstance(self.b, PrimExpr)):
            _match_operands(self)
        object.__setattr__(self, "dtype", dt.with_lanes("bool", dt.lanes(self.a.dtype)))


@node
class EQ(CmpOp):
    symbol: ClassVar[str] = "=="
    evaluate = staticmethod(lambda a, b: a == b)

    def __bool__(self) -> bool:
        """Python's ``==`` on nodes, as used by ``in`` and by dictionaries: the same object."""
        return self.a is self.b


@node
class NE(CmpOp):
    symbol: ClassVar[str] = "!="
    evaluate = staticmethod(lambda a, b: a != b)

    def __bool__(self) -> bool:
        return self.a is not self.b


@node
class LT(CmpOp):
    symbol: ClassVar[str] = "<"
    evaluate = staticmethod(lambda a, b: a < b)


@node
class LE(CmpOp):
    symbol: ClassVar[str] = "<="
    evaluate = staticmethod(lambda a, b: a <= b)


@node
class GT(CmpOp):
    symbol: ClassVar[str] = ">"
    evaluate = staticmethod(lambda a, b: a > b)


@node
class GE(CmpOp):
    symbol: ClassVar[str] = ">="
    evaluate = staticmethod(lambda a, b: a >= b)


@node
class And(CmpOp):
    symbol: ClassVar[str] = "and"
    evaluate = staticmethod(lambda a, b: a and b)


@node
class Or(CmpOp):
    symbol: ClassVar[str] = "or"
    evaluate = staticmethod(lambda a, b: a or b)


@node
class Not(PrimExpr):
    children: ClassVar[tuple[str, ...]] = ("a",)

    a: PrimExpr
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.a, PrimExpr):
            object.__setattr__(self, "a", convert(self.a))
        object.__setattr__(self, "dtype", self.a.dtype)


@node
class Select(PrimExpr):
    """One of two values; both are evaluated, whatever the condition is."""

    children: ClassVar[tuple[str, ...]] = ("condition", "true_value", "false_value")

    condition: PrimExpr
    true_value: PrimExpr
    false_value: PrimExpr
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.condition, PrimExpr):
            object.__setattr__(self, "condition", convert(self.condition))
        if not (isinstance(self.true_value, PrimExpr) and isinstance(self.false_value, PrimExpr)):
            then, other = match_types(self.true_value, self.false_value, "Select")
            object.__setattr__(self, "true_value", then)
            object.__setattr__(self, "false_value", other)
        object.__setattr__(self, "dtype", self.true_value.dtype)


@node
class Ramp(PrimExpr):
    """The vector ``base, base + stride, base + 2 * stride, …``."""

    children: ClassVar[tuple[str, ...]] = ("base", "stride")

    base: PrimExpr
    stride: PrimExpr
    lanes: int
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.base, PrimExpr) and isinstance(self.stride, PrimExpr)):
            base, stride = match_types(self.base, self.stride, "Ramp")
            object.__setattr__(self, "base", base)
            object.__setattr__(self, "stride", stride)
        object.__setattr__(self, "dtype", dt.with_lanes(self.base.dtype, self.lanes * dt.lanes(self.base.dtype)))


@node
class Broadcast(PrimExpr):
    """The vector that repeats ``value``."""

    children: ClassVar[tuple[str, ...]] = ("value",)

    value: PrimExpr
    lanes: int
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.value, PrimExpr):
            object.__setattr__(self, "value", convert(self.value))
        object.__setattr__(self, "dtype", dt.with_lanes(self.value.dtype, self.lanes * dt.lanes(self.value.dtype)))


@node
class Shuffle(PrimExpr):
    """The lanes of the concatenated ``vectors`` that ``indices`` pick, in that order."""

    children: ClassVar[tuple[str, ...]] = ("vectors", "indices")

    vectors: tuple[PrimExpr, ...]
    indices: tuple[PrimExpr, ...]
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", dt.with_lanes(self.vectors[0].dtype, len(self.indices)))


@node
class Let(PrimExpr):
    """``body`` with ``var`` bound to ``value``."""

    children: ClassVar[tuple[str, ...]] = ("var", "value", "body")
    defines: ClassVar[tuple[str, ...]] = ("var",)

    var: Var
    value: PrimExpr
    body: PrimExpr
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.body.dtype)


@node
class Call(PrimExpr):
    """A call of an operator or of a function of the module."""

    children: ClassVar[tuple[str, ...]] = ("args",)

    dtype: str
    op: Op | Node
    args: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        if type(self.args) is not tuple:
            object.__setattr__(self, "args", as_exprs(self.args))


@node
class DataProducer(Node):
    """Something whose elements can be read: a tensor of tensor expressions."""

    nominal: ClassVar[bool] = True

    name: str


@node
class ProducerLoad(PrimExpr):
    """One element of a :class:`DataProducer`."""

    children: ClassVar[tuple[str, ...]] = ("indices",)

    producer: Any
    indices: tuple[PrimExpr, ...]
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.producer.dtype)


@node
class Range(Node):
    """The integers ``min <= i < min + extent``; constructed from begin and end, as in TVM."""

    children: ClassVar[tuple[str, ...]] = ("min", "extent")

    min: PrimExpr
    extent: PrimExpr

    def __init__(self, begin: ExprLike, end: ExprLike | None = None) -> None:
        low, high = (const(0), convert(begin)) if end is None else (convert(begin), convert(end))
        Node.__init__(self)
        object.__setattr__(self, "min", cast(high.dtype, low) if isinstance(low, IntImm) else low)
        object.__setattr__(self, "extent", high - low)

    @staticmethod
    def from_fields(low: PrimExpr, extent: PrimExpr) -> Range:
        """Return the range of ``extent`` integers that starts at ``low``."""
        r = Range.__new__(Range)
        Node.__init__(r)
        object.__setattr__(r, "min", low)
        object.__setattr__(r, "extent", extent)
        return r

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__

    @staticmethod
    def from_min_extent(min_value: ExprLike, extent: ExprLike) -> Range:
        """Return the range of ``extent`` integers that starts at ``min_value``."""
        return Range.from_fields(convert(min_value), convert(extent))


@node
class IterVar(Node, ExprOperators):
    """An axis: a variable, its domain, and what kind of iteration it is."""

    DataPar: ClassVar[int] = 0
    ThreadIndex: ClassVar[int] = 1
    CommReduce: ClassVar[int] = 2
    Ordered: ClassVar[int] = 3
    DimInfo: ClassVar[int] = 4
    Unrolled: ClassVar[int] = 5
    Vectorized: ClassVar[int] = 6
    Parallelized: ClassVar[int] = 7
    Tensorized: ClassVar[int] = 8

    children: ClassVar[tuple[str, ...]] = ("dom", "var")
    defines: ClassVar[tuple[str, ...]] = ("var",)

    dom: Range | None
    var: Var
    iter_type: int = 0
    thread_tag: str = ""

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self.var.name

    @property
    def dtype(self) -> str:
        """The data type of the variable."""
        return self.var.dtype

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__


@node
class CommReducer(Node):
    """A commutative reduction: ``result`` combines ``lhs`` with ``rhs``, starting from ``identity_element``."""

    children: ClassVar[tuple[str, ...]] = ("result", "identity_element")
    defines: ClassVar[tuple[str, ...]] = ("lhs", "rhs")

    lhs: tuple[Var, ...]
    rhs: tuple[Var, ...]
    result: tuple[PrimExpr, ...]
    identity_element: tuple[PrimExpr, ...]


@node
class Reduce(PrimExpr):
    """The value ``value_index`` of a reduction of ``source`` over ``axis``."""

    children: ClassVar[tuple[str, ...]] = ("source", "condition", "init")
    defines: ClassVar[tuple[str, ...]] = ("axis",)

    combiner: CommReducer
    source: tuple[PrimExpr, ...]
    axis: tuple[IterVar, ...]
    condition: PrimExpr
    value_index: int
    init: tuple[PrimExpr, ...] = ()
    dtype: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", self.source[self.value_index].dtype)


# Conversion and folding


def _is_expr_like(value: object) -> bool:
    return isinstance(value, (ExprOperators, bool, int, float, np.generic)) or hasattr(value, "asobject")


def const(value: ExprLike, dtype: str | None = None) -> PrimExpr:
    """Return a constant; without ``dtype`` integers are int32 (int64 if they need it) and floats float32."""
    if isinstance(value, PrimExpr):
        return value if dtype is None else cast(dtype, value)
    if isinstance(value, np.generic):
        dtype = dtype or str(value.dtype)
        value = value.item()
    if not isinstance(value, (bool, int, float)):
        raise DTypeError(f"const: expected a number, got {show(value)}")
    if dtype is None:
        if isinstance(value, bool):
            dtype = "bool"
        elif isinstance(value, int):
            dtype = "int32" if -(1 << 31) <= value < (1 << 31) else "int64"
        else:
            dtype = "float32"
    count = dt.lanes(dtype)
    if count > 1:
        return Broadcast(const(value, dt.element(dtype)), count)
    return FloatImm(dtype, float(value)) if dt.is_float(dtype) else IntImm(dtype, int(value))


def convert(value: ExprLike) -> PrimExpr:
    """Return ``value`` as an expression.

    Raises
    ------
    DTypeError
        If ``value`` is neither an expression, an axis, a tensor of rank 0 nor a number.
    """
    if isinstance(value, PrimExpr):
        return value
    if isinstance(value, IterVar):
        return value.var
    if isinstance(value, str):
        return StringImm(value)
    as_object = getattr(value, "asobject", None)
    if as_object is not None:
        return as_object()  # type: ignore[no-any-return]
    if isinstance(value, (bool, int, float, np.generic)):
        return const(value)
    raise DTypeError(f"expected an expression or a number, got {type(value).__name__} {show(value)}")


def cast(dtype: str, value: ExprLike) -> PrimExpr:
    """Return ``value`` converted to ``dtype``; constants are converted at once."""
    e = convert(value)
    if e.dtype == dtype:
        return e
    if dt.lanes(dtype) > 1 and dt.lanes(e.dtype) == 1:
        return Broadcast(cast(dt.element(dtype), e), dt.lanes(dtype))
    if isinstance(e, IntImm):
        if dt.is_float(dtype):
            return FloatImm(dtype, float(e.value))
        if dt.is_integral(dtype):
            return IntImm(dtype, wrap_int(e.value, dtype))
    if isinstance(e, FloatImm) and dt.is_float(dtype):
        return FloatImm(dtype, e.value)
    return Cast(dtype, e)


def wrap_int(value: int, dtype: str) -> int:
    """Return ``value`` as it is left in an integer of that type; truth is whatever is not zero."""
    if dt.is_bool(dtype):
        return int(value != 0)
    low, high = dt.int_range(dtype)
    return (value - low) % (high - low + 1) + low


def match_types(a: ExprLike, b: ExprLike, operation: str) -> tuple[PrimExpr, PrimExpr]:
    """Bring two operands to one data type: the scalar is broadcast, integers become floats, the narrower widens."""
    x, y = convert(a), convert(b)
    if x.dtype == y.dtype:
        return x, y
    left, right = dt.parse(x.dtype), dt.parse(y.dtype)
    if left.lanes != right.lanes:
        if left.lanes == 1:
            return match_types(Broadcast(x, right.lanes), y, operation)
        if right.lanes == 1:
            return match_types(x, Broadcast(y, left.lanes), operation)
        raise DTypeError(f"{operation}: operands have {left.lanes} and {right.lanes} lanes: {x.dtype} and {y.dtype}")
    common = _common_type(left, right)
    if common is None:
        raise DTypeError(f"{operation}: no common type for {x.dtype} and {y.dtype}")
    return cast(common, x), cast(common, y)


def _common_type(left: dt.DType, right: dt.DType) -> str | None:
    """A float wins over an integer, more bits win over fewer, and unsigned over signed, as in TVM."""
    floats = {"bool": False, "int": False, "uint": False, "bfloat": True, "float": True}
    if left.code not in floats or right.code not in floats:
        return None
    winner = max(left, right, key=lambda d: (floats[d.code], d.bits, d.code == "uint"))
    return dt.with_lanes(f"{winner.code}{winner.bits}", left.lanes)


def binary(kind: type[BinaryOp], a: ExprLike, b: ExprLike) -> PrimExpr:
    """Build ``kind(a, b)`` with types matched, constants folded and neutral elements dropped."""
    x, y = match_types(a, b, kind.__name__)
    if kind in (FloorDiv, FloorMod) and not dt.is_integral(x.dtype):
        where = f"{show(x)} {kind.symbol} {show(y)}"
        raise DTypeError(f"{kind.__name__}: operands must be integers, got {x.dtype} in {where}")
    if kind in _DIVISIONS and isinstance(y, (IntImm, FloatImm)) and y.value == 0 and dt.is_integral(y.dtype):
        raise ArgumentError(f"{kind.__name__}: division by zero in {show(x)} {kind.symbol} 0")
    if isinstance(x, (IntImm, FloatImm)) and isinstance(y, (IntImm, FloatImm)):
        folded = fold(kind, x, y)
        if folded is not None:
            return folded
    neutral = _neutral(kind, x, y)
    return kind(x, y) if neutral is None else neutral


def _compare(kind: type[BinaryOp], a: ExprLike, b: object) -> PrimExpr:
    """Build ``a == b`` or ``a != b``; what has no common type is compared by identity, as ``in`` and ``dict`` need."""
    if not _is_expr_like(b):
        return NotImplemented  # type: ignore[no-any-return]
    try:
        return binary(kind, a, b)
    except DTypeError:
        return NotImplemented  # type: ignore[no-any-return]


def fold(kind: type[BinaryOp], x: IntImm | FloatImm, y: IntImm | FloatImm) -> PrimExpr | None:
    """Evaluate an operation on two constants; None where the result does not fit the type."""
    if kind in _DIVISIONS and y.value == 0:
        return None
    value = kind.evaluate(x.value, y.value)
    if issubclass(kind, CmpOp):
        return IntImm("bool", int(bool(value)))
    if isinstance(x, FloatImm):
        return FloatImm(x.dtype, float(np.dtype(x.dtype).type(value))) if x.dtype != "bfloat16" else None
    low, high = dt.int_range(x.dtype)
    return IntImm(x.dtype, value) if low <= value <= high else None


_BITWISE = {
    name: register_op("tir." + name, reference=reference, doc=doc)
    for name, reference, doc in (
        ("bitwise_and", np.bitwise_and, "Bits set in both operands."),
        ("bitwise_or", np.bitwise_or, "Bits set in either operand."),
        ("bitwise_xor", np.bitwise_xor, "Bits set in exactly one operand."),
        ("bitwise_not", np.bitwise_not, "All bits turned over."),
        ("shift_left", np.left_shift, "Bits moved towards the high end, zeros moved in."),
        ("shift_right", np.right_shift, "Bits moved towards the low end, the sign moved in where there is one."),
    )
}


def bitwise(name: str, *operands: ExprLike) -> PrimExpr:
    """Build a call of a bitwise operator on integers of one data type; constants are folded.

    Raises
    ------
    DTypeError
        If an operand is not integral.
    ArgumentError
        If a constant shift is negative or not smaller than the number of bits.
    """
    if len(operands) == 2:
        a, b = operands
        values: tuple[PrimExpr, ...] = match_types(_like(a, b), _like(b, a), name)
    else:
        values = (convert(operands[0]),)
    dtype = values[0].dtype
    if not dt.is_integral(dtype):
        raise DTypeError(f"{name}: operands must be integers, got {dtype} in {show(values[0])}")
    last = values[-1]
    if name.startswith("shift") and isinstance(last, IntImm) and not 0 <= last.value < dt.bits(dtype):
        raise ArgumentError(f"{name}: the shift must be from 0 to {dt.bits(dtype) - 1} for {dtype}, got {last.value}")
    op = _BITWISE[name]
    if all(isinstance(v, IntImm) for v in values) and op.reference is not None:
        numbers = [np.dtype(dtype).type(v.value) for v in values if isinstance(v, IntImm)]
        return IntImm(dtype, wrap_int(int(op.reference(*numbers)), dtype))
    return Call(dtype, op, values)


def _like(value: ExprLike, other: ExprLike) -> ExprLike:
    """Return a Python int as a constant of the other operand's type: bits keep the width of what they are in."""
    if type(value) is not int or isinstance(other, (bool, int, float)):
        return value
    e = convert(other)
    return const(value, e.dtype) if dt.is_integral(e.dtype) else value


_DIVISIONS = (Div, Mod, FloorDiv, FloorMod)


def _neutral(kind: type[BinaryOp], x: PrimExpr, y: PrimExpr) -> PrimExpr | None:
    """Return what is left of an operation with a neutral or absorbing constant, or None."""
    if isinstance(y, (IntImm, FloatImm)):
        integer = isinstance(y, IntImm)
        if y.value == 0 and kind in (Add, Sub) and integer:
            return x
        if y.value == 1 and (kind is Mul or (kind in (Div, FloorDiv))):
            return x
        if integer and ((y.value == 0 and kind is Mul) or (y.value == 1 and kind in (Mod, FloorMod))):
            return IntImm(x.dtype, 0)
    if isinstance(x, IntImm):
        if x.value == 0 and kind is Add:
            return y
        if x.value == 1 and kind is Mul:
            return y
        if x.value == 0 and kind in (Mul, *_DIVISIONS):
            return IntImm(x.dtype, 0)
    if kind in (And, Or):
        found = _neutral_logic(kind, x, y)
        return _neutral_logic(kind, y, x) if found is None else found
    return None


def _neutral_logic(kind: type[BinaryOp], x: PrimExpr, y: PrimExpr) -> PrimExpr | None:
    if isinstance(x, IntImm):
        return y if bool(x.value) == (kind is And) else x
    return None


def _true_divide(a: ExprLike, b: ExprLike) -> PrimExpr:
    x, y = match_types(a, b, "/")
    if dt.is_integral(x.dtype):
        raise DTypeError(
            f"/: integers divide in several ways; use // (floordiv), tvm.tir.truncdiv or a cast, "
            f"got {show(x)} / {show(y)}"
        )
    return binary(Div, x, y)


def as_exprs(values: Any) -> tuple[PrimExpr, ...]:
    """Return one value or a sequence of values as a tuple of expressions."""
    if isinstance(values, Sequence) and not isinstance(values, str):
        return tuple(convert(v) for v in values)
    return (convert(values),)


def is_const_int(e: object, value: int | None = None) -> bool:
    """Return whether ``e`` is an integer constant (of that value)."""
    return isinstance(e, IntImm) and (value is None or e.value == value)
