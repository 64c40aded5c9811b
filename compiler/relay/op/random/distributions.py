"""Random distributions: ``uniform``, ``normal``, ``multinomial``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import INT, INTS, one_of
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr, const
from compiler.relay.op.random.threefry import KEY_DOC, KEY_TYPE, NO_GRADIENT, check_key, generated
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import OpFunction, public_function, register
from compiler.relay.operator import Array, Compute, Reference, RelationError, Types
from compiler.relay.ty import TensorType, TupleType
from compiler.topi import random as topi


class DistributionAttrs(Attrs):
    """Attributes of ``random.uniform`` and ``random.normal``."""

    out_shape: tuple[int, ...] = attr_field(INTS, "Shape of the numbers.")
    out_dtype: str = attr_field(one_of("float32", "float64"), "Data type of the numbers.")


class MultinomialAttrs(Attrs):
    num_samples: int = attr_field(INT, "How many indices for each row of probabilities.")


def _relation(types: Types, attrs: DistributionAttrs) -> Type:
    """The key to go on with, and numbers of shape ``out_shape``, of ``out_dtype``."""
    check_key(types[0])
    for parameter, name in zip(types[1:], ("the first", "the second"), strict=True):
        scalar = tensor(parameter, f"{name} parameter", 0)
        if scalar.dtype != attrs.out_dtype:
            raise RelationError(f"{name} parameter must be of the data type {attrs.out_dtype}, got {scalar}")
    return TupleType((KEY_TYPE, TensorType(attrs.out_shape, attrs.out_dtype)))


def _from_zero_to_one(key: Array, shape: tuple[int, ...], dtype: str) -> tuple[Array, Array]:
    """Return the key to go on with and numbers whose fractions are the upper bits of random ones."""
    new_key, numbers = generated(key, shape)
    if dtype == "float32":
        bits = numbers.astype("uint32") >> np.uint32(9) | np.uint32(127 << 23)
    else:
        bits = numbers >> np.uint64(12) | np.uint64(1023 << 52)
    return new_key, bits.view(dtype) - bits.dtype.type(1).astype(dtype)


def _uniform_reference(attrs: DistributionAttrs, key: Array, low: Array, high: Array) -> tuple[Array, Array]:
    new_key, numbers = _from_zero_to_one(key, attrs.out_shape, attrs.out_dtype)
    return new_key, numbers * (high - low) + low


def _normal_reference(attrs: DistributionAttrs, key: Array, mean: Array, scale: Array) -> tuple[Array, Array]:
    new_key, (first, second) = _from_zero_to_one(key, (2, *attrs.out_shape), attrs.out_dtype)
    turn = np.asarray(2.0 * np.pi, attrs.out_dtype)
    return new_key, np.sqrt(-2 * np.log(1 - first)) * np.sin(turn * second) * scale + mean


def _distribution(
    name: str, doc: str, parameters: dict[str, str], define: Callable[..., Any], reference: Reference
) -> OpFunction:
    compute: Compute[DistributionAttrs] = lambda attrs, inputs, out_type: define(  # noqa: E731
        *inputs, attrs.out_shape, attrs.out_dtype
    )
    return register(
        name,
        doc=doc,
        inputs={"key": KEY_DOC, **parameters},
        attrs=DistributionAttrs,
        relation=_relation,
        compute=compute,
        reference=reference,
        waived=NO_GRADIENT,
    )


_UNIFORM = _distribution(
    "random.uniform",
    "Return the key to go on with, and random numbers that are all equally likely in an interval.",
    {"low": "The smallest number: a scalar.", "high": "The number that all are less than: a scalar."},
    topi.uniform,
    _uniform_reference,
)
_NORMAL = _distribution(
    "random.normal",
    "Return the key to go on with, and random numbers of a normal distribution.",
    {"mean": "The mean: a scalar.", "scale": "The standard deviation: a scalar."},
    topi.normal,
    _normal_reference,
)
_DOCS = {"shape": "sequence of int: Shape of the numbers.", "dtype": "str: float32 or float64."}


def _scalar(value: Expr | float, dtype: str) -> Expr:
    return value if isinstance(value, Expr) else const(value, dtype)


@public_function(_UNIFORM, **_DOCS)
def uniform(
    key: Expr, shape: tuple[int, ...], dtype: str = "float32", low: Expr | float = 0.0, high: Expr | float = 1.0
) -> Call:
    """Return the key to go on with, and random numbers that are all equally likely in an interval."""
    return _UNIFORM.op(key, _scalar(low, dtype), _scalar(high, dtype), out_shape=shape, out_dtype=dtype)


@public_function(_NORMAL, **_DOCS)
def normal(
    key: Expr, shape: tuple[int, ...], dtype: str = "float32", mean: Expr | float = 0.0, scale: Expr | float = 1.0
) -> Call:
    """Return the key to go on with, and random numbers of a normal distribution."""
    return _NORMAL.op(key, _scalar(mean, dtype), _scalar(scale, dtype), out_shape=shape, out_dtype=dtype)


def _multinomial_relation(types: Types, attrs: MultinomialAttrs) -> Type:
    """The key to go on with, and ``num_samples`` indices for each row, int32."""
    check_key(types[0])
    probabilities = tensor(types[1], "probs")
    if not probabilities.shape or probabilities.dtype not in ("float32", "float64"):
        raise RelationError(f"probs must have rows of float32 or float64, got {probabilities}")
    return TupleType((KEY_TYPE, TensorType((*probabilities.shape[:-1], attrs.num_samples), "int32")))


def _multinomial_reference(attrs: MultinomialAttrs, key: Array, probs: Array) -> tuple[Array, Array]:
    positive = np.maximum(probs, 0)
    reached = np.cumsum(positive / positive.sum(-1, keepdims=True), axis=-1)
    new_key, draws = _from_zero_to_one(key, (*probs.shape[:-1], attrs.num_samples), str(probs.dtype))
    first = (reached[..., None, :] <= draws[..., None]).sum(-1)
    return new_key, np.where(first < probs.shape[-1], first, 0).astype("int32")


multinomial = register(
    "random.multinomial",
    doc="Return the key to go on with, and random indices that are drawn with given probabilities.",
    inputs={
        "key": KEY_DOC,
        "probs": "Rows of probabilities; negative ones count as zero, and each row is divided by its sum.",
    },
    attrs=MultinomialAttrs,
    relation=_multinomial_relation,
    definition=topi.multinomial,
    reference=_multinomial_reference,
    waived=NO_GRADIENT,
)
