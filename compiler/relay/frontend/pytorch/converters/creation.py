"""Tensor creation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.pytorch.dtypes import cast, default_float, dtype_name, promoted, result_dtype, tensor
from compiler.relay.frontend.pytorch.registry import Convert, converter, converters
from compiler.relay.frontend.pytorch.tensors import (
    constant,
    dims_of,
    dtype_of,
    extents,
    known,
    number,
    open_extents,
    ops,
    rank_of,
    reshape,
    shape_of,
    static_extent,
    static_shape,
    told,
)
from compiler.relay.frontend.pytorch.values import DType, Scalar, Size
from compiler.relay.frontend.shared.folding import Array


def _float(dtype: DType | None) -> str:
    return default_float() if dtype is None else dtype_name(dtype)


def _filled(shape: Sequence[Size], value: Scalar, dtype: str) -> RelayExpr:
    wanted = open_extents(shape)
    if any(isinstance(v, RelayExpr) for v in wanted):
        return told(ops.full(tensor(value, dtype), tensor(wanted, "int64"), dtype), wanted)
    if isinstance(value, RelayExpr):
        value = value if not rank_of(value) else reshape(value, [])
        return ops.broadcast_to(cast(value, dtype), extents(shape)) if len(shape) else cast(value, dtype)
    return ops.full(tensor(value, dtype), extents(shape), dtype)


def _of(value: Scalar) -> Convert:
    """Return a converter that creates a tensor filled with a number."""

    def convert(size: Sequence[Size], dtype: DType | None = None, **_unused: object) -> RelayExpr:
        return _filled(size, value, _float(dtype))

    return convert


def _filled_like(x: RelayExpr, fill_value: Scalar, dtype: DType | None = None) -> RelayExpr:
    own = dtype_of(x) if dtype is None else dtype_name(dtype)
    if not all(isinstance(d, int) for d in dims_of(x)):
        return ops.full_like(cast(x, own), tensor(fill_value, own))
    return _filled(list(static_shape(x)), fill_value, own)


@converter("new_full")
def _new(x: RelayExpr, size: Sequence[Size], fill_value: Scalar, dtype: DType | None = None) -> RelayExpr:
    return _filled(size, fill_value, dtype_of(x) if dtype is None else dtype_name(dtype))


converters(
    {
        "zeros empty empty_strided": _of(0),
        "ones": _of(1),
        "zero zeros_like empty_like": lambda x, dtype=None: _filled_like(x, 0, dtype),
        "ones_like": lambda x, dtype=None: _filled_like(x, 1, dtype),
        "full_like": _filled_like,
        "fill": lambda x, value: _filled_like(x, value),
        "new_zeros new_empty": lambda x, size, dtype=None: _new(x, size, 0, dtype),
        "new_ones": lambda x, size, dtype=None: _new(x, size, 1, dtype),
        "new_tensor": lambda x, data, dtype=None: tensor(data, dtype_of(x) if dtype is None else dtype_name(dtype)),
        "eye": lambda n, m=None, dtype=None: constant(np.eye(n, m), _float(dtype)),
        "_shape_as_tensor": lambda x: tensor(shape_of(x), "int64"),
    }
)


@converter("full")
def _full(size: Sequence[Size], fill_value: Scalar, dtype: DType | None = None) -> RelayExpr:
    return _filled(size, fill_value, result_dtype(fill_value) if dtype is None else dtype_name(dtype))


@converter("arange", "range")
def _arange(
    first: Scalar, end: Scalar | None = None, start: Scalar | None = None, step: Scalar = 1, dtype: DType | None = None
) -> RelayExpr:
    values: tuple[Scalar, ...] = (0, first, step) if end is None else (first, end, step)
    dtype = result_dtype(*values) if dtype is None else dtype_name(dtype)
    if any(isinstance(v, RelayExpr) and known(v) is None for v in values):
        return ops.arange(*(tensor(v, dtype) for v in values), dtype=dtype)
    numbers = [number(v, "a bound") for v in values]
    wide = "float64" if any(isinstance(v, float) for v in numbers) else "int64"
    return cast(constant(np.arange(*numbers, dtype=wide)), dtype)


@converter("linspace")
def _linspace(start: Scalar, end: Scalar, steps: int, dtype: DType | None = None) -> RelayExpr:
    values = np.linspace(number(start, "the start"), number(end, "the end"), steps)
    return constant(values, _float(dtype))


@converter("logspace")
def _logspace(start: Scalar, end: Scalar, steps: int, base: float = 10.0, dtype: DType | None = None) -> RelayExpr:
    values = np.logspace(number(start, "the start"), number(end, "the end"), steps, base=base)
    return constant(values, _float(dtype))


def _triangle(indices: Callable[..., tuple[Array, Array]]) -> Convert:
    def convert(row: int, col: int, offset: int = 0, dtype: DType | None = None) -> RelayExpr:
        return constant(np.stack(indices(row, offset, col)), "int64" if dtype is None else dtype_name(dtype))

    return convert


converters({"tril_indices": _triangle(np.tril_indices), "triu_indices": _triangle(np.triu_indices)})


@converter("meshgrid")
def _meshgrid(tensors: Sequence[RelayExpr], indexing: str = "ij") -> list[RelayExpr]:
    values = [reshape(x, [1]) if not rank_of(x) else x for x in promoted(*tensors)]
    if indexing == "xy" and len(values) > 1:
        grids = _meshgrid([values[1], values[0], *values[2:]])
        return [grids[1], grids[0], *grids[2:]]
    shape = [static_extent(x, 0) for x in values]
    return [
        ops.broadcast_to(reshape(x, [-1 if i == j else 1 for j in range(len(shape))]), shape)
        for i, x in enumerate(values)
    ]


@converter("cartesian_prod")
def _cartesian_prod(tensors: Sequence[RelayExpr]) -> RelayExpr:
    if len(tensors) == 1:
        return tensors[0]
    return ops.stack([reshape(grid, [-1]) for grid in _meshgrid(tensors)], 1)


@converter("one_hot")
def _one_hot(x: RelayExpr, num_classes: int = -1) -> RelayExpr:
    if num_classes < 0:
        raise ValueError("the number of classes must be given")
    one, zero = constant(1, "int64"), constant(0, "int64")
    return ops.one_hot(x, one, zero, num_classes, -1, "int64")


@converter("hann_window")
def _hann_window(window_length: int, periodic: bool = True, dtype: DType | None = None) -> RelayExpr:
    window = np.hanning(window_length + 1)[:-1] if periodic else np.hanning(window_length)
    return constant(window, _float(dtype))


@converter("bincount")
def _bincount(x: RelayExpr, weights: RelayExpr | None = None, minlength: int = 0) -> RelayExpr:
    if minlength == 0 or weights is not None:
        raise ValueError("the number of bins must be given, and weights are not supported")
    ones = ops.ones(static_shape(x), "int64")
    return ops.scatter_elements(ops.zeros([minlength], "int64"), x, ones, axis=0, reduction="add")
