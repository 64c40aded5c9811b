"""Gradients of pooling: ``nn.max_pool2d_grad``, ``nn.avg_pool2d_grad``, and those in one and three dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.ir.types import Type
from compiler.relay.op.nn.pool import (
    AvgPoolAttrs,
    PoolAttrs,
    avg_pool1d,
    avg_pool2d,
    avg_pool3d,
    lowest,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    pool_reference_axes,
    pool_windows,
    spec_of,
)
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, register
from compiler.relay.operator import Array, OpPattern, Types
from compiler.te.definition.tensor import Tensor
from compiler.tir.layout.data_layout import layout
from compiler.topi.nn.convolution.conv import spatial_letters
from compiler.topi.nn.pool_gradients import avg_pool_grad, max_pool_grad


def _relation(types: Types, attrs: PoolAttrs) -> Type:
    """The gradient has the type of the data."""
    return tensor(types[1], "data")


def _max_compute(attrs: PoolAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    return [max_pool_grad(inputs[0], inputs[1], spec_of(attrs, inputs[1]))]


def _avg_compute(attrs: AvgPoolAttrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    return [avg_pool_grad(inputs[0], inputs[1], spec_of(attrs, inputs[1]), attrs.count_include_pad)]


def _scattered(attrs: PoolAttrs, grad: Array, x: Array, shares: Callable[[Array, Array, Array], Array]) -> Array:
    """Add ``shares(grad, windows)``, of the windows' shape, to the elements that the windows are made of."""
    letters = "NC" + spatial_letters(attrs.layout)
    plain, upstream = (layout(attrs.layout).to_plain(a, letters) for a in (x, grad))
    places = np.arange(plain.size).reshape(plain.shape)
    where = pool_windows(attrs, places, plain.size)
    result = np.zeros(plain.size + 1, x.dtype)
    np.add.at(result, where, shares(upstream.reshape(upstream.shape + (1,) * len(attrs.pool_size)), plain, where))
    return layout(attrs.layout).from_plain(result[:-1].reshape(plain.shape), letters)


def _max_reference(attrs: PoolAttrs, grad: Array, x: Array) -> Array:
    def shares(upstream: Array, plain: Array, where: Array) -> Array:
        elements = pool_windows(attrs, plain, lowest(plain.dtype))
        flat = elements.reshape(*elements.shape[: -len(attrs.pool_size)], -1)
        first = np.arange(flat.shape[-1]) == flat.argmax(-1)[..., None]
        return np.where(first.reshape(elements.shape), upstream, 0)

    return _scattered(attrs, grad, x, shares)


def _avg_reference(attrs: AvgPoolAttrs, grad: Array, x: Array) -> Array:
    def shares(upstream: Array, plain: Array, where: Array) -> Array:
        counted = pool_windows(attrs, np.ones_like(plain), 0, 1 if attrs.count_include_pad else 0)
        total = counted.sum(pool_reference_axes(plain), keepdims=True)
        return np.broadcast_to(upstream / np.maximum(total, 1), where.shape)

    return _scattered(attrs, grad, x, shares)


def _parameters(average: bool) -> tuple[str, ...]:
    """Return the order of the parameters: that of TVM's gradients, which have no dilation."""
    common = ("out_grad", "data", "pool_size", "strides", "padding", "layout", "out_layout", "ceil_mode")
    return (*common, *(("count_include_pad",) if average else ()), "dilation")


def _register(pool: OpFunction) -> OpFunction:
    average = issubclass(pool.op.attrs_type, AvgPoolAttrs)
    kind: type[Any] = pool.op.attrs_type
    return register(
        f"{pool.op.name}_grad",
        doc=f"Return the gradient of the data of ``{pool.op.name}`` from that of its result.",
        inputs={"out_grad": "Gradient of the result of pooling.", "data": "What was pooled."},
        attrs=kind,
        parameters=_parameters(average),
        relation=_relation,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=_avg_compute if average else _max_compute,
        reference=_avg_reference if average else _max_reference,
        waived={"gradient": "pooling is not differentiated twice"},
    )


max_pool1d_grad, max_pool2d_grad, max_pool3d_grad = (_register(p) for p in (max_pool1d, max_pool2d, max_pool3d))
avg_pool1d_grad, avg_pool2d_grad, avg_pool3d_grad = (_register(p) for p in (avg_pool1d, avg_pool2d, avg_pool3d))
