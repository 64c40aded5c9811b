"""Gradients of pooling: ``nn.max_pool2d_grad``, ``nn.avg_pool2d_grad``, and for one and three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs
from compiler.ir.types import Type
from compiler.relay.op.nn.pool import POOLS, lowest, pool_reference_axes, seen, spec_of
from compiler.relay.op.relations import tensor
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, Types
from compiler.topi.layout import layout
from compiler.topi.nn import pool_grad as topi
from compiler.topi.nn.conv import spatial_letters


def _relation(types: Types, attrs: Attrs) -> Type:
    return tensor(types[1], "data")


def _max_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.max_pool_grad(inputs[0], inputs[1], spec_of(attrs, inputs[1]))]


def _avg_compute(attrs: Attrs, inputs: list[Any], out_type: Any) -> list[Any]:
    return [topi.avg_pool_grad(inputs[0], inputs[1], spec_of(attrs, inputs[1]), attrs.count_include_pad)]


def _scattered(attrs: Attrs, grad: Any, x: Any, shares: Any) -> Any:
    """Add ``shares(grad, windows)``, of the windows' shape, to the elements that the windows are made of."""
    letters = "NC" + spatial_letters(attrs.layout)
    plain, upstream = (layout(attrs.layout).to_plain(a, letters) for a in (x, grad))
    places = np.arange(plain.size).reshape(plain.shape)
    where = seen(attrs, places, plain.size)
    result = np.zeros(plain.size + 1, x.dtype)
    np.add.at(result, where, shares(upstream.reshape(upstream.shape + (1,) * len(attrs.pool_size)), plain, where))
    return layout(attrs.layout).from_plain(result[:-1].reshape(plain.shape), letters)


def _max_reference(attrs: Attrs, grad: Any, x: Any) -> Any:
    def shares(upstream: Any, plain: Any, where: Any) -> Any:
        found = seen(attrs, plain, lowest(plain.dtype))
        flat = found.reshape(*found.shape[: -len(attrs.pool_size)], -1)
        first = np.arange(flat.shape[-1]) == flat.argmax(-1)[..., None]
        return np.where(first.reshape(found.shape), upstream, 0)

    return _scattered(attrs, grad, x, shares)


def _avg_reference(attrs: Attrs, grad: Any, x: Any) -> Any:
    def shares(upstream: Any, plain: Any, where: Any) -> Any:
        counted = seen(attrs, np.ones_like(plain), 0, 1 if attrs.count_include_pad else 0)
        total = counted.sum(pool_reference_axes(plain), keepdims=True)
        return np.broadcast_to(upstream / np.maximum(total, 1), where.shape)

    return _scattered(attrs, grad, x, shares)


for (_kind, _rank), _pool in POOLS.items():
    register(
        f"nn.{_kind}_pool{_rank}d_grad",
        doc=f"The gradient of the data of nn.{_kind}_pool{_rank}d, from that of its result.",
        inputs=("out_grad", "data"),
        attributes={n: f.given_default for n, f in _pool.op.attributes.items()},
        relation=_relation,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        compute=_avg_compute if _kind == "avg" else _max_compute,
        reference=_avg_reference if _kind == "avg" else _max_reference,
        waived={"gradient": "nobody differentiates pooling twice"},
    )
