"""Attention layers: multi-head, grouped-query, dot-product and additive."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from compiler.classic.frontend.keras.converters.activations import activated, masked_softmax
from compiler.classic.frontend.keras.layer import Layer
from compiler.classic.frontend.keras.masks import all_of, as_mask, causal, lowered, masked
from compiler.classic.frontend.keras.registry import Convert, converter
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.einsum import explicit_equation
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import ops, rank_of
from compiler.relay.frontend.shared.tensors import cast, static_dims, unsqueeze


def _attention_mask(layer: Layer, query: RelayExpr, value: RelayExpr) -> RelayExpr | None:
    """Return the attention mask of multi-head attention, (batch, queries, keys), or None."""
    given = [as_mask(layer.keywords.get(name)) for name in ("query_mask", "value_mask", "key_mask")]
    of_queries, *of_keys = given
    rows = None if of_queries is None else ops.expand_dims(of_queries, -1)
    columns = [None if mask is None else unsqueeze(mask, [1]) for mask in of_keys]
    order = None
    if layer.keywords.get("use_causal_mask"):
        order = causal(static_dims(query, "the query")[1], static_dims(value, "the value")[1])
    return all_of(as_mask(layer.keywords.get("attention_mask")), rows, *columns, order)


def _spread(mask: RelayExpr | None, rank: int, axes: int) -> RelayExpr | None:
    """Insert axes of extent 1 for the heads into a mask."""
    if mask is None:
        return None
    for _ in range(rank - rank_of(mask)):
        mask = ops.expand_dims(mask, -2 * axes - 1)
    return mask


def _heads(
    spread: Callable[[Layer, RelayExpr], RelayExpr], equations: Callable[[Layer], tuple[str, str, int]], width: str
) -> Convert:
    """Return the converter of an attention layer with projection layers."""

    def convert(layer: Layer) -> list[RelayExpr] | RelayExpr:
        for option in ("sliding_window", "use_gate"):
            if layer.option(option):
                raise ConversionError(f"option {option} is not supported")
        query, value = (layer.argument(i, name) for i, name in enumerate(("query", "value")))
        if query is None or value is None:
            raise ModelError("a query and a value must be given")
        key = layer.argument(2, "key", value)
        projected = [
            layer.apply(layer.held(f"_{name}_dense"), [x])[0]
            for name, x in (("query", query), ("key", key), ("value", value))
        ]
        q = ops.multiply(projected[0], 1 / math.sqrt(float(layer.option(width))))
        k, v = (spread(layer, x) for x in projected[1:])
        products, sums, axes = equations(layer)
        scores = ops.einsum([k, q] if width == "key_dim" else [q, k], products)
        mask = _spread(_attention_mask(layer, query, value), rank_of(scores), axes)
        wants_weights = bool(layer.keywords.get("return_attention_scores"))
        if wants_weights or rank_of(q) != 4 or float(layer.option("dropout", 0.0)):
            weights = masked_softmax(scores, range(-axes, 0), mask)
        else:
            weights = ops.nn.softmax(lowered(scores, mask), axis=-1)
        (result,) = layer.apply(layer.held("_output_dense"), [ops.einsum([weights, v], sums)])
        return [result, weights] if wants_weights else result

    return convert


def _of_heads(layer: Layer) -> tuple[str, str, int]:
    """Return Keras's einsum equations for scores and results, and the rank."""
    equations = str(layer.held("_dot_product_equation")), str(layer.held("_combine_equation"))
    return *equations, len(layer.source._attention_axes)  # type: ignore[attr-defined]


converter("MultiHeadAttention", masks=True)(_heads(lambda layer, x: x, _of_heads, "key_dim"))


def _repeated(layer: Layer, x: RelayExpr) -> RelayExpr:
    """Repeat the keys or values of a group for each of its query heads."""
    times = int(layer.option("num_query_heads")) // int(layer.option("num_key_value_heads"))
    return x if times == 1 else ops.repeat(x, times, axis=2)


converter("GroupedQueryAttention", "GroupQueryAttention", masks=True)(
    _heads(_repeated, lambda layer: ("bquh,bkuh->buqk", "buqk,bkuh->bquh", 1), "head_dim")
)


def _looked_up(
    layer: Layer, scores: RelayExpr, value: RelayExpr, masks: Sequence[RelayExpr | None]
) -> list[RelayExpr] | RelayExpr:
    """Weight the values by the softmax of the scores."""
    queries, keys = static_dims(scores, "the scores")[-2:]
    order = causal(queries, keys) if layer.keywords.get("use_causal_mask") else None
    seen = None if masks[1] is None else ops.expand_dims(masks[1], -2)
    weights = ops.nn.softmax(masked(scores, all_of(seen, order)), axis=-1)
    result = ops.nn.batch_matmul(weights, value, transpose_a=False, transpose_b=False)
    if masks[0] is not None:
        result = ops.multiply(result, cast(ops.expand_dims(masks[0], -1), layer.dtype))
    return [result, weights] if layer.keywords.get("return_attention_scores") else result


def _parts(layer: Layer) -> tuple[list[RelayExpr], list[RelayExpr | None]]:
    """Return query, value, key, and the masks of query and value."""
    query, value, *key = layer.positional[0] if layer.positional else layer.keywords["inputs"]
    given = layer.keywords.get("mask") or []
    masks = [as_mask(mask) for mask in given[:2]]
    return [query, value, key[0] if key else value], [*masks, *[None] * (2 - len(masks))]


def _sum_of_pairs(query: RelayExpr, key: RelayExpr) -> RelayExpr:
    """Add all pairs of queries and keys: (batch, queries, keys, features)."""
    return ops.add(ops.expand_dims(query, 2), ops.expand_dims(key, 1))


@converter("Attention", masks=True)
def _attention(layer: Layer) -> list[RelayExpr] | RelayExpr:
    (query, value, key), masks = _parts(layer)
    scale = layer.parameter("scale") if layer.option("use_scale", False) else None
    if layer.option("score_mode", "dot") == "dot":
        scores = ops.nn.batch_matmul(query, key, transpose_a=False, transpose_b=True)
        return _looked_up(layer, scores if scale is None else ops.multiply(scores, scale), value, masks)
    pairs = _sum_of_pairs(query, key)
    bent = ops.tanh(pairs if scale is None else ops.multiply(pairs, scale))
    scores = ops.multiply(layer.parameter("concat_score_weight"), ops.sum(bent, axis=[-1]))
    return _looked_up(layer, scores, value, masks)


@converter("AdditiveAttention", masks=True)
def _additive_attention(layer: Layer) -> list[RelayExpr] | RelayExpr:
    (query, value, key), masks = _parts(layer)
    bent = ops.tanh(_sum_of_pairs(query, key))
    if layer.option("use_scale", True):
        bent = ops.multiply(bent, layer.parameter("scale"))
    return _looked_up(layer, ops.sum(bent, axis=[-1]), value, masks)


@converter("EinsumDense")
def _einsum_dense(layer: Layer) -> RelayExpr:
    """Convert ``EinsumDense``, whose bias has the axes of the result."""
    x = layer.channels_last(layer.x)
    kernel = layer.parameter("kernel")
    y = ops.einsum([x, kernel], explicit_equation(str(layer.option("equation")), [rank_of(x), rank_of(kernel)]))
    if layer.option("bias_axes") is not None:
        y = ops.add(y, layer.parameter("bias"))
    return activated(layer, layer.placed(y))
