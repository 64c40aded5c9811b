"""Binary operators with NumPy's broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, overload

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, DTypeError
from compiler.ir.expr.primexpr import And, Div, FloorDiv, FloorMod, Mod, Not, Or, PrimExpr, Var, binary, convert
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.definitions import named
from compiler.topi.operands import Extent, Index, Operand, Scalar, Shape, dims, is_one, number, same_extent
from compiler.topi.tag import Tag

__all__ = [
    "add", "bitwise_and", "bitwise_or", "bitwise_xor", "broadcast_to", "divide", "equal", "floor_divide", "floor_mod",
    "greater", "greater_equal", "left_shift", "less", "less_equal", "logical_and", "logical_or", "logical_xor",
    "maximum", "minimum", "mod", "multiply", "not_equal", "power", "right_shift", "subtract", "trunc_divide",
    "trunc_mod", "where",
]  # fmt: skip

BinaryFunction: TypeAlias = Callable[[PrimExpr, PrimExpr], PrimExpr]


def broadcast_shape(*shapes: Sequence[Extent]) -> Shape:
    """Return the shape that several shapes broadcast to; of different symbolic extents the larger one."""
    rank = max((len(s) for s in shapes), default=0)
    padded: list[Shape] = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    return tuple(_extent(column, shapes) for column in zip(*padded, strict=True))


def _extent(column: Sequence[Extent], shapes: Sequence[Sequence[Extent]]) -> Extent:
    result: Extent = 1
    for e in column:
        if is_one(e) or same_extent(e, result):
            continue
        if is_one(result):
            result = e
        elif isinstance(e, int) and isinstance(result, int):
            raise ArgumentError(
                f"broadcast: shapes {' and '.join(str(tuple(s)) for s in shapes)} cannot be broadcast together"
            )
        else:
            result = e if isinstance(e, int) else result if isinstance(result, int) else te.max(e, result)
    return result


def at_broadcast(x: Tensor | PrimExpr, indices: Sequence[Index], shape: Sequence[Extent]) -> PrimExpr:
    """Return the element of ``x`` at ``indices`` of the shape that it is broadcast to."""
    if not isinstance(x, Tensor):
        return x
    own = dims(x)
    skip = len(shape) - len(own)
    return x(*[_index(i, e, s) for i, e, s in zip(indices[skip:], own, shape[skip:], strict=True)])


def _index(index: Index, own: Extent, extent: Extent) -> Index:
    """Return an index into an axis that is broadcast to an extent."""
    if isinstance(own, int):
        return 0 if own == 1 and not same_extent(extent, 1) else index
    if same_extent(own, extent) or isinstance(extent, int):
        return index
    i = convert(index)
    return tir.Select(own.equal(1), convert(0).astype(i.dtype), i)


@overload
def zip_elements(lhs: Tensor, rhs: Operand, function: BinaryFunction, name: str) -> Tensor: ...
@overload
def zip_elements(lhs: Operand, rhs: Operand, function: BinaryFunction, name: str) -> Tensor | PrimExpr: ...
def zip_elements(lhs: Operand, rhs: Operand, function: BinaryFunction, name: str) -> Tensor | PrimExpr:
    """Return ``function`` of the elements of two tensors, broadcast against each other.

    A number has the data type of the tensor that it goes with; a fraction beside integers stays one.
    """
    if not isinstance(lhs, Tensor) and not isinstance(rhs, Tensor):
        return function(convert(lhs), convert(rhs))
    dtype = next(x.dtype for x in (lhs, rhs) if isinstance(x, Tensor))
    a, b = (x if isinstance(x, Tensor) else _beside(x, dtype) for x in (lhs, rhs))
    shapes = [dims(x) for x in (a, b) if isinstance(x, Tensor)]
    shape = broadcast_shape(*shapes)
    return compute(
        shape,
        lambda *i: function(at_broadcast(a, i, shape), at_broadcast(b, i, shape)),
        name=name,
        tag=Tag.ELEMWISE if len(shapes) == 1 else Tag.BROADCAST,
    )


def _beside(value: Scalar, dtype: str) -> PrimExpr:
    """Return a number as an operand beside elements of a data type."""
    e = convert(value)
    return e if dt.is_float(e.dtype) and dt.is_integral(dtype) else number(value, dtype)


def _broadcast(
    name: str, function: BinaryFunction, doc: str, operands: str = "numbers", result: str = "of the operands' type"
) -> Callable[[Operand, Operand], Tensor]:
    def build(lhs: Operand, rhs: Operand) -> Tensor:
        """Return {doc}, of operands broadcast against each other; they are {operands}, the result is {result}.

        A number takes the type of the tensor beside it; the result is an expression if neither is a tensor.
        """
        return zip_elements(lhs, rhs, function, name)  # type: ignore[return-value]

    return named(build, name, doc=doc, operands=operands, result=result)


def _floor_divide(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return te.floor(a / b) if dt.is_float(a.dtype) else binary(FloorDiv, a, b)


def _floor_mod(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return a - te.floor(a / b) * b if dt.is_float(a.dtype) else binary(FloorMod, a, b)


def _trunc_divide(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return te.trunc(a / b) if dt.is_float(a.dtype) else binary(Div, a, b)


def _trunc_mod(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return te.fmod(a, b) if dt.is_float(a.dtype) else binary(Mod, a, b)


def _power(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    if dt.is_float(a.dtype):
        return te.power(a, b)
    # Whole numbers up to 2 ** 53 are exact as float64; rounding mends the last bit of the library's function.
    return te.round(te.power(a.astype("float64"), b.astype("float64"))).astype(a.dtype)


def _and(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return binary(And, a, b) if dt.is_bool(a.dtype) else tir.bitwise_and(a, b)


def _or(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return binary(Or, a, b) if dt.is_bool(a.dtype) else tir.bitwise_or(a, b)


def _logical(name: str, node: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> BinaryFunction:
    """Return a function of two truth values, which refuses other types."""

    def function(a: PrimExpr, b: PrimExpr) -> PrimExpr:
        for operand in (a, b):
            if not dt.is_bool(operand.dtype):
                raise DTypeError(f"{name}: expected operands of type bool, got {operand.dtype}")
        return node(a, b)

    return function


def _xor(a: PrimExpr, b: PrimExpr) -> PrimExpr:
    return binary(Or, binary(And, a, Not(b)), binary(And, Not(a), b)) if dt.is_bool(a.dtype) else tir.bitwise_xor(a, b)


_BITS, _BOOLS, _ANY, _BOOL = "bool or integers", "bool", "of any type", "bool"

add = _broadcast("add", lambda a, b: a + b, "the sum")
subtract = _broadcast("subtract", lambda a, b: a - b, "the difference")
multiply = _broadcast("multiply", lambda a, b: a * b, "the product")
divide = _broadcast("divide", te.div, "the quotient, of integers towards zero")
floor_divide = _broadcast("floor_divide", _floor_divide, "the quotient rounded down")
floor_mod = _broadcast("floor_mod", _floor_mod, "the remainder of the quotient rounded down")
trunc_divide = _broadcast("trunc_divide", _trunc_divide, "the quotient rounded towards zero")
trunc_mod = _broadcast("trunc_mod", _trunc_mod, "the remainder of the quotient rounded towards zero")
mod = _broadcast("mod", _trunc_mod, "the remainder of the quotient rounded towards zero")
power = _broadcast("power", _power, "the first to the power of the second")
maximum = _broadcast("maximum", te.max, "the larger one")
minimum = _broadcast("minimum", te.min, "the smaller one")
left_shift = _broadcast("left_shift", tir.shift_left, "the first times 2 to the power of the second", "integers")
right_shift = _broadcast(
    "right_shift", tir.shift_right, "the first divided by 2 to the power of the second, rounded down", "integers"
)
bitwise_and = _broadcast("bitwise_and", _and, "the bits set in both", _BITS)
bitwise_or = _broadcast("bitwise_or", _or, "the bits set in either", _BITS)
bitwise_xor = _broadcast("bitwise_xor", _xor, "the bits set in exactly one", _BITS)
logical_and = _broadcast("logical_and", _logical("logical_and", _and), "whether both hold", _BOOLS)
logical_or = _broadcast("logical_or", _logical("logical_or", _or), "whether at least one holds", _BOOLS)
logical_xor = _broadcast("logical_xor", _logical("logical_xor", _xor), "whether exactly one holds", _BOOLS)
equal = _broadcast("equal", lambda a, b: a.equal(b), "whether they are equal", _ANY, _BOOL)
not_equal = _broadcast("not_equal", lambda a, b: Not(a.equal(b)), "whether they differ", _ANY, _BOOL)
less = _broadcast("less", lambda a, b: a < b, "whether the first is less", result=_BOOL)
less_equal = _broadcast("less_equal", lambda a, b: a <= b, "whether the first is at most the second", result=_BOOL)
greater = _broadcast("greater", lambda a, b: a > b, "whether the first is greater", result=_BOOL)
greater_equal = _broadcast(
    "greater_equal", lambda a, b: a >= b, "whether the first is at least the second", result=_BOOL
)


def broadcast_to(data: Tensor, shape: Sequence[Extent]) -> Tensor:
    """Return ``data`` repeated to a shape."""
    new = tuple(shape)
    broadcast_shape(dims(data), new)
    return compute(new, lambda *i: at_broadcast(data, i, new), name="broadcast_to", tag=Tag.BROADCAST)


def where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Return ``x`` where ``condition``, of truth values or numbers, is not zero, ``y`` elsewhere; all are broadcast."""
    shape = broadcast_shape(dims(condition), dims(x), dims(y))

    def element(*i: Var) -> PrimExpr:
        holds = at_broadcast(condition, i, shape)
        holds = holds if dt.is_bool(holds.dtype) else Not(holds.equal(tir.const(0, holds.dtype)))
        return tir.Select(holds, at_broadcast(x, i, shape), at_broadcast(y, i, shape))

    return compute(shape, element, name="where", tag=Tag.BROADCAST)
