"""Scalars and lists of scripts, which are evaluated in Python where known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.converters.comparisons import is_expression
from compiler.relay.frontend.pytorch.dtypes import cast, default_float, dtype_code, tensor
from compiler.relay.frontend.pytorch.registry import Convert, converter, converters
from compiler.relay.frontend.pytorch.tensors import (
    dims_of,
    dtype_of,
    known,
    number,
    ops,
    rank_of,
    reshape,
    size,
    static_shape,
)
from compiler.relay.frontend.shared.errors import ConversionError


def _number_of(kind: Callable[[Any], Any], dtype: str | None) -> Convert:
    """Return a converter of one-element tensors to numbers."""

    def convert(a: Any) -> Any:
        if not isinstance(a, RelayExpr):
            return kind(a)
        if known(a) is not None:
            return kind(number(a, "a number"))
        value = reshape(a, []) if rank_of(a) else a
        return value if dtype is None else cast(value, dtype)

    return convert


converters(
    {
        "Int IntImplicit": _number_of(int, "int64"),
        "Float FloatImplicit": _number_of(float, default_float()),
        "Bool": _number_of(bool, "bool"),
        "ScalarImplicit item _local_scalar_dense": _number_of(lambda value: value, None),
    }
)


@converter("prim::NumToTensor", "scalar_tensor", "tensor", "as_tensor")
def _tensor(value: Any, dtype: Any = None, **_unused: Any) -> Any:
    from compiler.relay.frontend.pytorch.dtypes import dtype_name

    return tensor(value, None if dtype is None else dtype_name(dtype))


@converter("size", "sym_size")
def _size(x: Any, dim: int | None = None) -> Any:
    return [size(x, i) for i in range(rank_of(x))] if dim is None else size(x, dim)


@converter("len")
def _len(x: Any) -> Any:
    return size(x, 0) if isinstance(x, RelayExpr) else len(x)


@converter("dim")
def _dim(x: Any) -> Any:
    return rank_of(x)


@converter("numel", "sym_numel")
def _numel(x: Any) -> Any:
    if all(isinstance(d, int) for d in dims_of(x)):
        count = 1
        for d in static_shape(x):
            count *= d
        return count
    return ops.prod(ops.shape_of(x, dtype="int64"))


@converter("is_floating_point")
def _is_floating_point(x: Any) -> Any:
    return "float" in dtype_of(x)


@converter("is_complex", "is_sparse", "prim::is_cuda", "prim::is_sparse", "prim::is_quantized", "prim::is_mkldnn",
           "prim::is_nested", "prim::is_mps", "prim::is_xpu", "prim::requires_grad", "is_grad_enabled",
           "is_autocast_enabled")  # fmt: skip
def _never(*_values: Any) -> Any:
    return False


@converter("prim::dtype")
def _dtype(x: Any) -> Any:
    return dtype_code(dtype_of(x))


@converter("prim::device", "prim::layout")
def _place(*_values: Any) -> Any:
    return None


@converter("prim::type")
def _type(*_values: Any) -> Any:
    return "cpu"


@converter("__not__")
def _not(value: Any) -> Any:
    return ops.logical_not(value) if is_expression(value) else not value


@converter("__is__")
def _is(a: Any, obj: Any) -> Any:
    return a is obj


@converter("__isnot__")
def _is_not(a: Any, obj: Any) -> Any:
    return a is not obj


@converter("__contains__")
def _contains(values: Any, **others: Any) -> Any:
    return next(iter(others.values())) in values


@converter("__getitem__")
def _getitem(values: Any, idx: Any = None, i: Any = None, key: Any = None, n: Any = None) -> Any:
    index = next(v for v in (idx, i, key, n) if v is not None)
    if is_expression(index) and known(index) is None:
        raise ConversionError("a list is indexed by a number known only at run time")
    if isinstance(values, dict) and index not in values:
        raise ConversionError(f"a dict has no {index!r}: its keys are {', '.join(map(repr, values))}")
    return values[number(index, "the index") if is_expression(index) else index]


@converter("append")
def _append(values: list[Any], el: Any) -> Any:
    values.append(el)
    return values


@converter("extend")
def _extend(values: list[Any], other: Sequence[Any]) -> None:
    values.extend(other)


@converter("_set_item")
def _set_item(values: Any, el: Any = None, idx: Any = None, v: Any = None, **_unused: Any) -> Any:
    """Convert ``values[idx] = el``, with the parameter names of list and dict schemas."""
    values[idx] = el if v is None else v
    return values


@converter("dict")
def _dict(pairs: Any = ()) -> Any:
    return dict(pairs)


@converter("keys")
def _keys(values: dict[Any, Any]) -> Any:
    return list(values)


@converter("values")
def _values(values: dict[Any, Any]) -> Any:
    return list(values.values())


@converter("items")
def _items(values: dict[Any, Any]) -> Any:
    return list(values.items())


@converter("list")
def _list(values: Any) -> Any:
    return list(values)


@converter(
    "_assert_scalar", "_assert_async", "_assert_tensor_metadata", "sym_constrain_range", "sym_constrain_range_for_size"
)
def _assertion(*_values: Any, **_others: Any) -> None:
    """Drop assertions of ``torch.export`` on shapes, data types and ranges, which hold for the input types."""


@converter("__range_length")
def _range_length(lo: Any, hi: Any, step: Any) -> Any:
    if not is_expression(lo, hi, step):
        return len(range(lo, hi, step))
    distance = ops.subtract(ops.add(tensor(hi), tensor(step)), ops.add(tensor(lo), tensor(1)))
    return ops.maximum(ops.floor_divide(distance, tensor(step)), tensor(0))


@converter("__derive_index")
def _derive_index(index: Any, start: Any, step: Any) -> Any:
    if not is_expression(index, start, step):
        return start + index * step
    return ops.add(tensor(start), ops.multiply(tensor(index), tensor(step)))


@converter("prim::min")
def _least(a: Any, other: Any = None) -> Any:
    return _extreme(min, ops.minimum, a, other)


@converter("prim::max")
def _most(a: Any, other: Any = None) -> Any:
    return _extreme(max, ops.maximum, a, other)


def _extreme(on_numbers: Callable[..., Any], compute: Callable[..., Any], a: Any, other: Any) -> Any:
    values: Sequence[Any] = a if other is None else (a, other)
    if not is_expression(*values):
        return on_numbers(values)
    result = tensor(values[0])
    for value in values[1:]:
        result = compute(result, tensor(value))
    return result
