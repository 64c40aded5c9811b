"""Models that the virtual machine runs: what ends, or how much there is of it, depends on values."""

from __future__ import annotations

from typing import Any

from onnx import TensorProto, helper

from tests.models.writer import Writer


def shrinking(size: int = 16, factor: float = 0.9) -> Any:
    """Multiply the elements until all are small: some hundred turns of three small operators."""
    w = Writer(11)
    x = w.input("data", [size], TensorProto.FLOAT)
    scale, least = w.constant(factor), w.constant(1e-4)
    nodes = [
        helper.make_node("Mul", ["state", scale], ["next"]),
        helper.make_node("ReduceMax", ["next"], ["largest"], keepdims=0),
        helper.make_node("Greater", ["largest", least], ["again"]),
    ]
    values = [("turn", TensorProto.INT64, []), ("going", TensorProto.BOOL, []), ("state", TensorProto.FLOAT, [size])]
    results = [("again", TensorProto.BOOL, []), ("next", TensorProto.FLOAT, [size])]
    infos = [[helper.make_tensor_value_info(*each) for each in group] for group in (values, results)]
    body = helper.make_graph(nodes, "body", *infos)
    return w.model("shrinking", w.node("Loop", "", w.constant(True, bool), x, body=body), [size])


def suppressing(boxes: int = 1000, classes: int = 4, limit: int = 100) -> Any:
    """Choose the best boxes of each class, and return where they are."""
    w = Writer(12)
    places = w.input("places", [1, boxes, 4], TensorProto.FLOAT)
    scores = w.input("scores", [1, classes, boxes], TensorProto.FLOAT)
    limits = w.constant([limit], "int64"), w.constant([0.5]), w.constant([0.3])
    chosen = w.node("NonMaxSuppression", w.node("Sigmoid", places), scores, *limits)
    return w.model("suppressing", w.node("Cast", chosen, to=TensorProto.FLOAT), ["chosen", 3])


def routing(tokens: int = 16, width: int = 64, hidden: int = 128, experts: int = 4, each: int = 2) -> Any:
    """Let the best experts of each token compute it: a mixture of experts, as loops over these are exported."""
    w = Writer(13)
    x = w.input("data", [tokens, width], TensorProto.FLOAT)
    shares = w.node("Softmax", w.node("MatMul", x, w.weight(width, experts)), axis=-1)
    best, which = w.node("TopK", shares, w.constant([each], "int64"), outputs=2)
    total = w.node("Mul", x, w.constant(0.0))
    for expert in range(experts):
        places = w.node(
            "Transpose", w.node("NonZero", w.node("Equal", which, w.constant(expert, "int64"))), perm=[1, 0]
        )
        rows = w.node("Slice", places, *(w.constant([n], "int64") for n in (0, 1, 1)))
        chosen = w.node("Gather", x, w.node("Squeeze", rows, w.constant([1], "int64")))
        inner = w.node("MatMul", chosen, w.weight(width, hidden))
        mixed = w.node("MatMul", w.node("Mul", inner, w.node("Sigmoid", inner)), w.weight(hidden, width))
        weights = w.node("Unsqueeze", w.node("GatherND", best, places), w.constant([1], "int64"))
        total = w.node("ScatterND", total, rows, w.node("Mul", mixed, weights), reduction="add")
    return w.model("routing", total, [tokens, width])
