"""Scalars and lists of scripts, which are evaluated in Python where known."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

from compiler.ir.expr import RelayExpr
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
    shape_of,
    size,
    static_shape,
)
from compiler.relay.frontend.pytorch.values import DType, Scalar, Size, TorchKey, TorchValue, as_key, as_number, item_of
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import Operators


def _number_of(kind: Callable[[float], float], dtype: str | None) -> Convert:
    """Return a converter of one-element tensors to numbers."""

    def convert(a: Scalar) -> Scalar | float:
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
def _tensor(value: Scalar, dtype: DType | None = None, **_unused: object) -> RelayExpr:
    from compiler.relay.frontend.pytorch.dtypes import dtype_name

    return tensor(value, None if dtype is None else dtype_name(dtype))


@converter("size", "sym_size")
def _size(x: RelayExpr, dim: int | None = None) -> list[RelayExpr | int] | RelayExpr | int:
    return shape_of(x) if dim is None else size(x, dim)


converters(
    {
        "len": lambda x: size(x, 0) if isinstance(x, RelayExpr) else len(x),
        "dim": lambda x: rank_of(x),
        "is_floating_point": lambda x: "float" in dtype_of(x),
        "is_complex is_sparse is_grad_enabled is_autocast_enabled prim::is_cuda prim::is_sparse prim::is_quantized "
        "prim::is_mkldnn prim::is_nested prim::is_mps prim::is_xpu prim::requires_grad": lambda *_values: False,
        "prim::dtype": lambda x: dtype_code(dtype_of(x)),
        "prim::device prim::layout": lambda *_values: None,
        "prim::type": lambda *_values: "cpu",
        "__not__": lambda value: ops.logical_not(value) if isinstance(value, RelayExpr) else not value,
        "__is__": lambda a, obj: a is obj,
        "__isnot__": lambda a, obj: a is not obj,
        "dict": lambda pairs=(): dict(pairs),
        "keys list": lambda values: list(values),
        "values": lambda values: list(values.values()),
        "items": lambda values: list(values.items()),
    }
)


@converter("numel", "sym_numel")
def _numel(x: RelayExpr) -> RelayExpr | int:
    if all(isinstance(d, int) for d in dims_of(x)):
        return math.prod(static_shape(x))
    return ops.prod(ops.shape_of(x, dtype="int64"))


@converter("__contains__")
def _contains(values: Sequence[TorchValue], **others: TorchValue) -> bool:
    return next(iter(others.values())) in values


@converter("__getitem__")
def _getitem(values: Sequence[TorchValue] | dict[TorchKey, TorchValue], idx: Scalar | None = None,
             i: Scalar | None = None, key: TorchKey | None = None, n: Scalar | None = None) -> TorchValue:  # fmt: skip
    index = next(v for v in (idx, i, key, n) if v is not None)
    if isinstance(index, RelayExpr):
        if known(index) is None:
            raise ConversionError("a list is indexed by a number known only at run time")
        index = number(index, "the index")
    if isinstance(values, dict) and index not in values:
        raise ConversionError(f"a dict has no {index!r}: its keys are {', '.join(map(repr, values))}")
    return item_of(values, index)


@converter("append")
def _append(values: list[TorchValue], el: TorchValue) -> list[TorchValue]:
    values.append(el)
    return values


@converter("extend")
def _extend(values: list[TorchValue], other: Sequence[TorchValue]) -> None:
    values.extend(other)


@converter("_set_item")
def _set_item(values: list[TorchValue] | dict[TorchKey, TorchValue], el: TorchValue = None, idx: Scalar | str = 0,
              v: TorchValue = None, **_unused: object) -> TorchValue:  # fmt: skip
    """Convert ``values[idx] = el``, with the parameter names of list and dict schemas."""
    item = el if v is None else v
    if isinstance(values, dict):
        values[as_key(idx)] = item
    else:
        values[int(as_number(idx))] = item
    return values


@converter(
    "_assert_scalar", "_assert_async", "_assert_tensor_metadata", "sym_constrain_range", "sym_constrain_range_for_size"
)
def _assertion(*_values: object, **_others: object) -> None:
    """Drop assertions of ``torch.export`` on shapes, data types and ranges, which hold for the input types."""


@converter("__range_length")
def _range_length(lo: Size, hi: Size, step: Size) -> RelayExpr | int:
    if not (isinstance(lo, RelayExpr) or isinstance(hi, RelayExpr) or isinstance(step, RelayExpr)):
        return len(range(lo, hi, step))
    distance = ops.subtract(ops.add(tensor(hi), tensor(step)), ops.add(tensor(lo), tensor(1)))
    return ops.maximum(ops.floor_divide(distance, tensor(step)), tensor(0))


@converter("__derive_index")
def _derive_index(index: Size, start: Size, step: Size) -> Size:
    if not (isinstance(index, RelayExpr) or isinstance(start, RelayExpr) or isinstance(step, RelayExpr)):
        return start + index * step
    return ops.add(tensor(start), ops.multiply(tensor(index), tensor(step)))


def _extreme(on_numbers: Callable[[Sequence[float]], float], compute: Operators) -> Convert:
    def convert(a: Scalar | Sequence[Scalar], other: Scalar | None = None) -> RelayExpr | float:
        values = [*(a if isinstance(a, Sequence) else [a]), *([] if other is None else [other])]
        numbers = [v for v in values if not isinstance(v, RelayExpr)]
        if len(numbers) == len(values):
            return on_numbers(numbers)
        return functools.reduce(compute, map(tensor, values))

    return convert


converters({"prim::min": _extreme(min, ops.minimum), "prim::max": _extreme(max, ops.maximum)})
