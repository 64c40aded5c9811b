"""Random nodes of ONNX graphs: for each family of operators, what a node may read and which attributes it may have.

A maker takes the graph under construction and returns a node, or None where none of the values there suits it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper

Array = np.ndarray[Any, Any]

FLOATS = ("float32", "float64", "float16")
TYPES = {
    "float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16,
    "int32": TensorProto.INT32, "int64": TensorProto.INT64, "int8": TensorProto.INT8, "uint8": TensorProto.UINT8,
    "bool": TensorProto.BOOL,
}  # fmt: skip


@dataclass
class Draft:
    """A graph under construction.

    Attributes
    ----------
    rng : numpy.random.Generator
    values : dict of str to array
        What is there so far, as onnxruntime computes it.
    exact : set of str
        The values that every way of computing finds the same bits of.
    constants : dict of str to array
        The initializers.
    """

    rng: np.random.Generator
    values: dict[str, Array] = field(default_factory=dict)
    exact: set[str] = field(default_factory=set)
    constants: dict[str, Array] = field(default_factory=dict)
    names: int = 0

    def fresh(self, prefix: str = "v") -> str:
        """Return a name that no value has."""
        self.names += 1
        return f"{prefix}{self.names}"

    def constant(self, value: Any, dtype: str) -> str:
        """Add an initializer and return its name."""
        name = self.fresh("c")
        self.constants[name] = np.asarray(value, dtype)
        return name

    def some(self, fits: Callable[[Array], bool]) -> str | None:
        """Return the name of a value that fits; later ones are likelier."""
        found = [name for name, value in self.values.items() if fits(value)]
        if not found:
            return None
        weights = np.arange(1, len(found) + 1, dtype="float64") ** 2
        return str(self.rng.choice(found, p=weights / weights.sum()))

    def one_of(self, choices: Sequence[Any]) -> Any:
        """Return one of several things."""
        return choices[int(self.rng.integers(len(choices)))]

    def node(self, op: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> NodeProto:
        """Return a node with new outputs."""
        return helper.make_node(op, list(inputs), [self.fresh() for _ in range(outputs)], **attributes)


Maker = Callable[[Draft], NodeProto | None]


def is_float(v: Array) -> bool:
    return v.dtype.kind == "f"


def is_number(v: Array) -> bool:
    return v.dtype.kind in "fi"


def numbers(draft: Draft, shape: Sequence[int], dtype: str = "float32", scale: float = 1.0) -> Array:
    """Return random numbers that are multiples of a quarter, as initializers and inputs have them."""
    values = draft.rng.integers(-8, 9, tuple(shape)) / 4 * scale
    return np.asarray(values if np.dtype(dtype).kind == "f" else values * 2, dtype)


_UNARY = {
    "Relu": {}, "Elu": {"alpha": 0.7}, "Selu": {}, "Celu": {"alpha": 1.5}, "HardSigmoid": {"alpha": 0.3},
    "LeakyRelu": {"alpha": 0.25}, "HardSwish": {}, "ThresholdedRelu": {"alpha": 0.5}, "Softplus": {}, "Softsign": {},
    "Sigmoid": {}, "Tanh": {}, "Abs": {}, "Neg": {}, "Exp": {}, "Log": {}, "Sqrt": {}, "Reciprocal": {}, "Floor": {},
    "Ceil": {}, "Round": {}, "Sign": {}, "Erf": {}, "Sin": {}, "Cos": {}, "Atan": {}, "Mish": {}, "IsNaN": {},
    "IsInf": {}, "Identity": {}, "Shrink": {"lambd": 0.5, "bias": 0.25}, "Gelu": {}, "Asinh": {}, "Sinh": {},
}  # fmt: skip


def unary(draft: Draft) -> NodeProto | None:
    x = draft.some(is_float)
    op = draft.one_of(list(_UNARY))
    return None if x is None else draft.node(op, [x], **_UNARY[op])


def of_integers(draft: Draft) -> NodeProto | None:
    x = draft.some(lambda v: v.dtype.kind == "i")
    return None if x is None else draft.node(draft.one_of(("Abs", "Neg", "Sign", "Identity", "Relu")), [x])


def logic(draft: Draft) -> NodeProto | None:
    x = draft.some(lambda v: v.dtype.kind == "b")
    if x is None:
        return None
    op = draft.one_of(("Not", "And", "Or", "Xor"))
    if op == "Not":
        return draft.node(op, [x])
    return draft.node(op, [x, _partner(draft, x)])


def _partner(draft: Draft, x: str) -> str:
    """Return a value of the same type that broadcasts with another, made if there is none."""
    value = draft.values[x]

    def fits(v: Array) -> bool:
        try:
            np.broadcast_shapes(v.shape, value.shape)
        except ValueError:
            return False
        return v.dtype == value.dtype

    other = draft.some(fits) if draft.rng.random() < 0.6 else None
    if other is not None and (other != x or draft.rng.random() < 0.2):
        return other
    shape = [1 if draft.rng.random() < 0.4 else e for e in value.shape][int(draft.rng.integers(value.ndim + 1)) :]
    made = draft.rng.random(shape) < 0.5 if value.dtype.kind == "b" else numbers(draft, shape, str(value.dtype))
    return draft.constant(made, str(value.dtype))


_BINARY = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Less", "Greater", "Equal", "LessOrEqual", "GreaterOrEqual")


def binary(draft: Draft) -> NodeProto | None:
    x = draft.some(is_number)
    if x is None:
        return None
    op = draft.one_of(_BINARY if draft.values[x].dtype.kind == "f" else [b for b in _BINARY if b != "Div"])
    inputs = [x, _partner(draft, x)]
    if op in ("Max", "Min") and draft.rng.random() < 0.3:
        inputs.append(_partner(draft, x))
    return draft.node(op, inputs if draft.rng.random() < 0.5 else inputs[::-1])


def power(draft: Draft) -> NodeProto | None:
    x = draft.some(is_float)
    if x is None:
        return None
    dtype = str(draft.values[x].dtype)
    op = draft.one_of(("Pow", "Mod", "PRelu"))
    if op == "Pow":
        return draft.node(op, [x, draft.constant(draft.one_of((2, 3, 0.5, -1, 0)), dtype)])
    if op == "Mod":
        return draft.node(op, [x, draft.constant(draft.one_of((1.5, 0.75, -2)), dtype)], fmod=1)
    return draft.node(op, [x, draft.constant(numbers(draft, draft.values[x].shape[-1:], dtype), dtype)])


def where(draft: Draft) -> NodeProto | None:
    x = draft.some(lambda v: v.dtype.kind in "fib")
    if x is None:
        return None
    shape = draft.values[x].shape
    condition = draft.some(lambda v: v.dtype.kind == "b" and v.shape == shape)
    condition = condition or draft.constant(draft.rng.random(shape) < 0.5, "bool")
    return draft.node("Where", [condition, x, _partner(draft, x)])


def clip(draft: Draft) -> NodeProto | None:
    x = draft.some(is_number)
    if x is None:
        return None
    dtype = str(draft.values[x].dtype)
    limits = [draft.constant(v, dtype) if draft.rng.random() < 0.8 else "" for v in (-1, 2)]
    return draft.node("Clip", [x, *limits])


_REDUCTIONS = ("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSumExp", "SumSquare")


def reduction(draft: Draft) -> NodeProto | None:
    x = draft.some(lambda v: is_float(v) and v.ndim > 0 and v.size > 0)
    if x is None:
        return None
    rank, keep = draft.values[x].ndim, int(draft.rng.integers(2))
    axes = draft.rng.choice(rank, int(draft.rng.integers(1, rank + 1)), replace=False)
    axes = [int(a) - rank * int(draft.rng.integers(2)) for a in axes]
    op = draft.one_of(_REDUCTIONS)
    return draft.node(f"Reduce{op}", [x, draft.constant(axes, "int64")], keepdims=keep)


def arg_reduction(draft: Draft) -> NodeProto | None:
    x = draft.some(lambda v: v.dtype in ("float32", "float64", "int32") and v.ndim > 0)
    if x is None:
        return None
    axis, keep, last = (int(draft.rng.integers(n)) for n in (draft.values[x].ndim, 2, 2))
    op = draft.one_of(("ArgMax", "ArgMin"))
    return draft.node(op, [x], axis=axis, keepdims=keep, select_last_index=last)


def along(draft: Draft) -> NodeProto | None:
    x = draft.some(lambda v: v.dtype in ("float32", "float64") and v.ndim > 0)
    if x is None:
        return None
    axis = int(draft.rng.integers(-draft.values[x].ndim, draft.values[x].ndim))
    op = draft.one_of(("Softmax", "LogSoftmax", "CumSum", "TopK", "LpNormalization"))
    if op == "CumSum":
        exclusive, reverse = (int(v) for v in draft.rng.integers(2, size=2))
        return draft.node(op, [x, draft.constant(axis, "int64")], exclusive=exclusive, reverse=reverse)
    if op == "TopK":
        k = int(draft.rng.integers(1, draft.values[x].shape[axis] + 1))
        largest = int(draft.rng.integers(2))
        return draft.node(op, [x, draft.constant([k], "int64")], 2, axis=axis, largest=largest)
    return draft.node(op, [x], axis=axis, **({"p": 2} if op == "LpNormalization" else {}))


def _any(draft: Draft, rank: int = 0) -> tuple[str, Array] | None:
    x = draft.some(lambda v: v.ndim >= rank and v.size > 0)
    return None if x is None else (x, draft.values[x])


def reshaped(draft: Draft) -> NodeProto | None:
    found = _any(draft, 1)
    if found is None:
        return None
    x, v = found
    op = draft.one_of(("Reshape", "Transpose", "Flatten", "Unsqueeze", "Expand", "Tile"))
    if op == "Transpose":
        return draft.node(op, [x], perm=[int(a) for a in draft.rng.permutation(v.ndim)])
    if op == "Flatten":
        return draft.node(op, [x], axis=int(draft.rng.integers(v.ndim + 1)))
    if op == "Unsqueeze":
        return draft.node(op, [x, draft.constant([int(draft.rng.integers(v.ndim + 1))], "int64")])
    if op == "Expand":
        return draft.node(op, [x, draft.constant([2, *v.shape][: 1 + v.ndim], "int64")])
    if op == "Tile":
        return draft.node(op, [x, draft.constant(draft.rng.integers(1, 3, v.ndim), "int64")])
    shape = [v.size] if draft.rng.random() < 0.3 else list(draft.rng.permutation(v.shape))
    if draft.rng.random() < 0.5:
        shape[int(draft.rng.integers(len(shape)))] = -1
    return draft.node(op, [x, draft.constant(shape, "int64")])


def sliced(draft: Draft) -> NodeProto | None:
    found = _any(draft, 1)
    if found is None:
        return None
    x, v = found
    axis = int(draft.rng.integers(v.ndim))
    n = v.shape[axis]
    step = draft.one_of((1, 1, 2, -1, -2))
    first, last = (int(e) for e in sorted(draft.rng.integers(0, n + 1, 2)))
    first, last = (first, max(last, first + 1)) if step > 0 else (max(last, first + 1), first)
    inputs = [draft.constant([e], "int64") for e in (first, last, axis, step)]
    return draft.node("Slice", [x, *inputs])


def joined(draft: Draft) -> NodeProto | None:
    found = _any(draft, 1)
    if found is None:
        return None
    x, v = found
    axis = int(draft.rng.integers(v.ndim))
    rest = (*v.shape[:axis], *v.shape[axis + 1 :])
    other = draft.some(
        lambda w: w.dtype == v.dtype and w.ndim == v.ndim and (*w.shape[:axis], *w.shape[axis + 1 :]) == rest
    )
    return draft.node("Concat", [x, other or x, x][: int(draft.rng.integers(2, 4))], axis=axis)


def split(draft: Draft) -> NodeProto | None:
    x = draft.some(lambda v: v.ndim > 0 and max(v.shape) > 1)
    if x is None:
        return None
    v = draft.values[x]
    axis = int(np.argmax(v.shape))
    first = int(draft.rng.integers(1, v.shape[axis]))
    return draft.node("Split", [x, draft.constant([first, v.shape[axis] - first], "int64")], 2, axis=axis)


def padded(draft: Draft) -> NodeProto | None:
    x = draft.some(lambda v: is_float(v) and v.ndim > 0 and min(v.shape) > 1)
    if x is None:
        return None
    v = draft.values[x]
    mode = draft.one_of(("constant", "reflect", "edge"))
    amounts = draft.constant(draft.rng.integers(0, 2, 2 * v.ndim), "int64")
    fill = [draft.constant(0.5, str(v.dtype))] if mode == "constant" and draft.rng.random() < 0.5 else []
    return draft.node("Pad", [x, amounts, *fill], mode=mode)


def gathered(draft: Draft) -> NodeProto | None:
    found = _any(draft, 1)
    if found is None:
        return None
    x, v = found
    axis = int(draft.rng.integers(v.ndim))
    n, op = v.shape[axis], draft.one_of(("Gather", "GatherElements", "ScatterElements", "GatherND"))
    if op == "GatherND":
        points = np.stack([draft.rng.integers(0, e, 3) for e in v.shape[:2]], -1)
        return draft.node(op, [x, draft.constant(points, "int64")])
    if op == "Gather":
        return draft.node(op, [x, draft.constant(draft.rng.integers(-n, n, (2, 3)[: axis + 1]), "int64")], axis=axis)
    shape = list(v.shape)
    shape[axis] = int(draft.rng.integers(1, n + 1))
    if op == "GatherElements":
        return draft.node(op, [x, draft.constant(draft.rng.integers(0, n, shape), "int64")], axis=axis)
    order = np.argsort(draft.rng.random(v.shape), axis=axis).take(range(shape[axis]), axis)
    updates = draft.rng.random(shape) < 0.5 if v.dtype.kind == "b" else numbers(draft, shape, str(v.dtype))
    return draft.node(op, [x, draft.constant(order, "int64"), draft.constant(updates, str(v.dtype))], axis=axis)


def product(draft: Draft) -> NodeProto | None:
    x = draft.some(lambda v: v.dtype in ("float32", "float64") and v.ndim >= 2)
    if x is None:
        return None
    v = draft.values[x]
    dtype, n = str(v.dtype), int(draft.rng.integers(1, 7))
    if draft.rng.random() < 0.5 or v.ndim != 2:
        weight = numbers(draft, [v.shape[-1], n] if draft.rng.random() < 0.7 else [v.shape[-1]], dtype)
        return draft.node("MatMul", [x, draft.constant(weight, dtype)])
    turned_a, turned_b = (int(t) for t in draft.rng.integers(2, size=2))
    inner = v.shape[1 - turned_a]
    weight = numbers(draft, (n, inner) if turned_b else (inner, n), dtype)
    bias = draft.constant(numbers(draft, draft.one_of(([n], [1], [v.shape[turned_a], n])), dtype), dtype)
    given = [x, draft.constant(weight, dtype), bias]
    return draft.node("Gemm", given, alpha=0.5, beta=1.5, transA=turned_a, transB=turned_b)


def _image(draft: Draft) -> tuple[str, Array] | None:
    x = draft.some(lambda v: v.dtype == "float32" and 3 <= v.ndim <= 4 and min(v.shape) >= 1)
    return None if x is None else (x, draft.values[x])


def convolution(draft: Draft) -> NodeProto | None:
    found = _image(draft)
    if found is None:
        return None
    x, v = found
    spatial = v.ndim - 2
    group = v.shape[1] if draft.rng.random() < 0.3 else 1
    kernel = [int(draft.rng.integers(1, min(3, e) + 1)) for e in v.shape[2:]]
    strides = [int(s) for s in draft.rng.integers(1, 3, spatial)]
    outputs = group * int(draft.rng.integers(1, 4))
    pads = [int(p) for p in draft.rng.integers(0, 2, 2 * spatial)]
    if draft.rng.random() < 0.25 and all(k > 1 for k in kernel):
        weight = draft.constant(numbers(draft, [v.shape[1], outputs // group, *kernel]), "float32")
        return draft.node("ConvTranspose", [x, weight], group=group, strides=strides)
    weight = draft.constant(numbers(draft, [outputs, v.shape[1] // group, *kernel]), "float32")
    bias = [draft.constant(numbers(draft, [outputs]), "float32")] if draft.rng.random() < 0.5 else []
    return draft.node("Conv", [x, weight, *bias], group=group, strides=strides, pads=pads, kernel_shape=kernel)


def pooling(draft: Draft) -> NodeProto | None:
    found = _image(draft)
    if found is None:
        return None
    x, v = found
    op = draft.one_of(("MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"))
    if op.startswith("Global"):
        return draft.node(op, [x])
    kernel = [int(draft.rng.integers(1, min(3, e) + 1)) for e in v.shape[2:]]
    strides = [int(s) for s in draft.rng.integers(1, 3, len(kernel))]
    pads = [0 if k == 1 else int(draft.rng.integers(2)) for k in kernel * 2]
    more = {"count_include_pad": int(draft.rng.integers(2))} if op == "AveragePool" else {}
    ceil = int(draft.rng.integers(2)) if not any(pads) else 0
    return draft.node(op, [x], kernel_shape=kernel, strides=strides, pads=pads, ceil_mode=ceil, **more)


def normalized(draft: Draft) -> NodeProto | None:
    found = _image(draft)
    if found is None:
        return None
    x, v = found
    c = v.shape[1]
    positive = draft.rng.integers(1, 9, c) / 4
    scale, bias, mean = (draft.constant(numbers(draft, [c]), "float32") for _ in range(3))
    op = draft.one_of(("BatchNormalization", "InstanceNormalization", "LayerNormalization", "LRN", "Resize"))
    if op == "BatchNormalization":
        return draft.node(op, [x, scale, bias, mean, draft.constant(positive, "float32")])
    if op == "InstanceNormalization":
        return draft.node(op, [x, scale, bias]) if np.prod(v.shape[2:]) > 1 else None
    if op == "LayerNormalization":
        return draft.node(op, [x, draft.constant(numbers(draft, v.shape[-1:]), "float32")]) if v.shape[-1] > 1 else None
    if op == "LRN":
        return draft.node(op, [x], size=3) if v.ndim == 4 else None
    scales = draft.constant([1, 1, *draft.one_of(([2.0] * 2, [3.0, 1.0]))[: v.ndim - 2]], "float32")
    mode = draft.one_of(("nearest", "linear"))
    return draft.node(op, [x, "", scales], mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def converted(draft: Draft) -> NodeProto | None:
    found = _any(draft)
    if found is None:
        return None
    target = draft.one_of([t for t in TYPES if t != str(found[1].dtype)])
    return draft.node("Cast", [found[0]], to=TYPES[target])


def quantized(draft: Draft) -> NodeProto | None:
    x = draft.some(lambda v: v.dtype in ("float32", "int8", "uint8"))
    if x is None:
        return None
    dtype = str(draft.values[x].dtype)
    kind = draft.one_of(("int8", "uint8")) if dtype == "float32" else dtype
    zero = draft.constant(3 if kind == "uint8" else -2, kind)
    op = "QuantizeLinear" if dtype == "float32" else "DequantizeLinear"
    return draft.node(op, [x, draft.constant(0.125, "float32"), zero])


MAKERS: dict[Maker, float] = {
    unary: 5, binary: 5, reduction: 3, reshaped: 3, clip: 2, where: 1.5, power: 1, along: 2, arg_reduction: 1,
    sliced: 1.5, joined: 1.5, split: 1, padded: 1.5, gathered: 1.5, product: 2, convolution: 3, pooling: 2.5,
    normalized: 2, converted: 1, quantized: 1, of_integers: 0.7, logic: 1,
}  # fmt: skip
