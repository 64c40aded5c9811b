"""Transformers: an encoder as BERT's, a decoder as GPT's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from onnx import TensorProto

from tests.models.writer import Writer


class _Transformer:
    """What both are made of: projections, attention with heads, layers that feed forward."""

    def __init__(self, seed: int, width: int, heads: int, length: int) -> None:
        self.w = Writer(seed)
        self.width, self.heads, self.length = width, heads, length

    def normalised(self, x: str) -> str:
        w = self.w
        return w.node("LayerNormalization", x, w.around(1, self.width), w.around(0, self.width), axis=-1)

    def projected(self, x: str, inputs: int, outputs: int) -> str:
        w = self.w
        product = w.node("MatMul", x, w.weight(inputs, outputs, scale=0.5 / math.sqrt(inputs)))
        return w.node("Add", product, w.around(0, outputs))

    def gelu(self, x: str) -> str:
        """The exact one, as exporters write it before operator set 20."""
        w = self.w
        inner = w.node("Erf", w.node("Div", x, w.constant(math.sqrt(2.0))))
        return w.node("Mul", w.node("Mul", x, w.node("Add", inner, w.constant(1.0))), w.constant(0.5))

    def split_heads(self, x: str, perm: list[int]) -> str:
        """Rearrange with the shape computed from the input's, as exporters write it."""
        w = self.w
        shape = w.node("Shape", x)
        front = w.node("Slice", shape, w.constant([0], "int64"), w.constant([2], "int64"))
        target = w.node("Concat", front, w.constant([self.heads, self.width // self.heads], "int64"), axis=0)
        return w.node("Transpose", w.node("Reshape", x, target), perm=perm)

    def attention(self, x: str, mask: str | None) -> str:
        w, width = self.w, self.width
        q = self.split_heads(self.projected(x, width, width), [0, 2, 1, 3])
        k = self.split_heads(self.projected(x, width, width), [0, 2, 3, 1])
        v = self.split_heads(self.projected(x, width, width), [0, 2, 1, 3])
        scores = w.node("Div", w.node("MatMul", q, k), w.constant(math.sqrt(width / self.heads)))
        scores = scores if mask is None else w.node("Add", scores, mask)
        mixed = w.node("Transpose", w.node("MatMul", w.node("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        return self.projected(w.node("Reshape", mixed, w.constant([0, 0, width], "int64")), width, width)

    def forward(self, x: str) -> str:
        return self.projected(self.gelu(self.projected(x, self.width, 4 * self.width)), 4 * self.width, self.width)

    def embedded(self, vocabulary: int, batch: int) -> str:
        w = self.w
        tokens = w.input("tokens", [batch, self.length], TensorProto.INT64)
        x = w.node("Gather", w.weight(vocabulary, self.width, scale=0.5), tokens, axis=0)
        return w.node("Add", x, w.weight(self.length, self.width, scale=0.1))


def encoder(
    layers: int = 2, width: int = 768, heads: int = 12, length: int = 128, vocabulary: int = 1000, batch: int = 1
) -> Any:
    """BERT's encoder: Devlin et al., "BERT: pre-training of deep bidirectional transformers", 2019."""
    t = _Transformer(11, width, heads, length)
    x = t.normalised(t.embedded(vocabulary, batch))
    for _ in range(layers):
        x = t.normalised(t.w.node("Add", x, t.attention(x, None)))
        x = t.normalised(t.w.node("Add", x, t.forward(x)))
    return t.w.model("bert", x, [batch, length, width])


def decoder(
    layers: int = 1, width: int = 768, heads: int = 12, length: int = 64, vocabulary: int = 1000, batch: int = 1
) -> Any:
    """GPT-2's blocks: Radford et al., "Language models are unsupervised multitask learners", 2019."""
    t = _Transformer(13, width, heads, length)
    x = t.embedded(vocabulary, batch)
    mask = t.w.constant(np.triu(np.full((length, length), -1e9), 1))
    for _ in range(layers):
        x = t.w.node("Add", x, t.attention(t.normalised(x), mask))
        x = t.w.node("Add", x, t.forward(t.normalised(x)))
    x = t.w.node("MatMul", t.normalised(x), t.w.weight(width, vocabulary, scale=0.5 / math.sqrt(width)))
    return t.w.model("gpt", x, [batch, length, vocabulary])
