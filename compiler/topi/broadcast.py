"""Functions of two tensors, broadcast against each other as NumPy does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler import te, tir
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.primexpr import And, Div, FloorDiv, FloorMod, Mod, Not, Or, binary, convert
from compiler.topi.tag import Tag
from compiler.topi.util import dims, is_tensor, number, same_extent

Binary = Callable[[Any, Any], Any]


def broadcast_shape(*shapes: Sequence[Any]) -> tuple[Any, ...]:
    """Return the shape that several shapes broadcast to; of different symbolic extents the larger one.

    Raises
    ------
    ArgumentError
        If two extents differ and neither is 1.
    """
    rank = max((len(s) for s in shapes), default=0)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    return tuple(_extent(column, shapes) for column in zip(*padded, strict=True))


def _extent(column: Sequence[Any], shapes: Sequence[Sequence[Any]]) -> Any:
    found: Any = 1
    for e in column:
        if (isinstance(e, int) and e == 1) or same_extent(e, found):
            continue
        if isinstance(found, int) and found == 1:
            found = e
        elif isinstance(e, int) and isinstance(found, int):
            raise ArgumentError(f"broadcast: shapes {' and '.join(str(tuple(s)) for s in shapes)} do not go together")
        else:
            found = e if isinstance(e, int) else found if isinstance(found, int) else te.max(e, found)
    return found


def at_broadcast(x: Any, indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """Return the element of ``x`` that stands at ``indices`` of a ``shape`` that it is broadcast to."""
    if not is_tensor(x):
        return x
    own = dims(x)
    skip = len(shape) - len(own)
    return x(*[_index(i, e, s) for i, e, s in zip(indices[skip:], own, shape[skip:], strict=True)])


def _index(index: Any, extent: Any, wanted: Any) -> Any:
    if isinstance(extent, int):
        return 0 if extent == 1 and not same_extent(wanted, 1) else index
    if same_extent(extent, wanted) or isinstance(wanted, int):
        return index
    return tir.Select(extent == 1, convert(0).astype(index.dtype), index)


def zip_elements(lhs: Any, rhs: Any, function: Binary, name: str) -> Any:
    """Return ``function`` of the elements of two tensors; either may also be a number."""
    if not is_tensor(lhs) and not is_tensor(rhs):
        return function(convert(lhs), convert(rhs))
    other = lhs if is_tensor(lhs) else rhs
    a, b = (x if is_tensor(x) else number(x, other.dtype) for x in (lhs, rhs))
    shape = broadcast_shape(*[dims(x) for x in (a, b) if is_tensor(x)])
    static = all(isinstance(d, int) for d in shape)
    same = static and all(dims(x) == shape for x in (a, b) if is_tensor(x))
    return te.compute(
        shape,
        lambda *i: function(at_broadcast(a, i, shape), at_broadcast(b, i, shape)),
        name=name,
        tag=Tag.ELEMWISE if same else Tag.BROADCAST,
    )


def _broadcast(name: str, function: Binary, doc: str) -> Binary:
    def build(lhs: Any, rhs: Any) -> Any:
        return zip_elements(lhs, rhs, function, name)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"Return {doc}, broadcast against each other."
    return build


def _floor_divide(a: Any, b: Any) -> Any:
    return te.floor(a / b) if dt.is_float(a.dtype) else binary(FloorDiv, a, b)


def _floor_mod(a: Any, b: Any) -> Any:
    return a - te.floor(a / b) * b if dt.is_float(a.dtype) else binary(FloorMod, a, b)


def _trunc_divide(a: Any, b: Any) -> Any:
    return te.trunc(a / b) if dt.is_float(a.dtype) else binary(Div, a, b)


def _trunc_mod(a: Any, b: Any) -> Any:
    return te.fmod(a, b) if dt.is_float(a.dtype) else binary(Mod, a, b)


def _power(a: Any, b: Any) -> Any:
    if dt.is_float(a.dtype):
        return te.power(a, b)
    # Whole numbers up to 2 ** 53 are exact as float64; rounding mends the last bit of the library's function.
    return te.round(te.power(a.astype("float64"), b.astype("float64"))).astype(a.dtype)


def _and(a: Any, b: Any) -> Any:
    return binary(And, a, b) if dt.is_bool(a.dtype) else tir.bitwise_and(a, b)


def _or(a: Any, b: Any) -> Any:
    return binary(Or, a, b) if dt.is_bool(a.dtype) else tir.bitwise_or(a, b)


def _xor(a: Any, b: Any) -> Any:
    return binary(Or, binary(And, a, Not(b)), binary(And, Not(a), b)) if dt.is_bool(a.dtype) else tir.bitwise_xor(a, b)


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
left_shift = _broadcast("left_shift", tir.shift_left, "the first times 2 to the power of the second")
right_shift = _broadcast("right_shift", tir.shift_right, "the first divided by 2 to the power of the second")
bitwise_and = _broadcast("bitwise_and", _and, "the bits set in both")
bitwise_or = _broadcast("bitwise_or", _or, "the bits set in either")
bitwise_xor = _broadcast("bitwise_xor", _xor, "the bits set in exactly one")
logical_and = _broadcast("logical_and", _and, "whether both hold")
logical_or = _broadcast("logical_or", _or, "whether at least one holds")
logical_xor = _broadcast("logical_xor", _xor, "whether exactly one holds")
equal = _broadcast("equal", lambda a, b: a.equal(b), "whether they are equal")
not_equal = _broadcast("not_equal", lambda a, b: Not(a.equal(b)), "whether they differ")
less = _broadcast("less", lambda a, b: a < b, "whether the first is less")
less_equal = _broadcast("less_equal", lambda a, b: a <= b, "whether the first is at most the second")
greater = _broadcast("greater", lambda a, b: a > b, "whether the first is greater")
greater_equal = _broadcast("greater_equal", lambda a, b: a >= b, "whether the first is at least the second")


def broadcast_to(data: Any, shape: Sequence[Any]) -> Any:
    """Return ``data`` repeated to ``shape``."""
    wanted = tuple(shape)
    broadcast_shape(dims(data), wanted)
    return te.compute(wanted, lambda *i: at_broadcast(data, i, wanted), name="broadcast_to", tag=Tag.BROADCAST)


def where(condition: Any, x: Any, y: Any) -> Any:
    """Return ``x`` where ``condition`` is not zero, ``y`` elsewhere, all broadcast against each other."""
    shape = broadcast_shape(dims(condition), dims(x), dims(y))

    def element(*i: Any) -> Any:
        holds = at_broadcast(condition, i, shape)
        holds = holds if dt.is_bool(holds.dtype) else Not(holds.equal(tir.const(0, holds.dtype)))
        return tir.Select(holds, at_broadcast(x, i, shape), at_broadcast(y, i, shape))

    return te.compute(shape, element, name="where", tag=Tag.BROADCAST)
