"""Random graphs around convolutions in plain layouts and in blocks: what follows them must keep their layouts apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

import compiler.relay
from compiler.ir import IRModule
from compiler.relay.analysis import free_vars
from compiler.tir.layout.data_layout import layout
from tests.properties.graphs import shape_of

relay: Any = compiler.relay

EXTENTS = {"N": 2, "C": 16, "H": 6, "W": 7}


@dataclass(frozen=True)
class Value:
    """An expression with what is known of it.

    Attributes
    ----------
    expr : Expr
    name : str
        Its layout; empty for what has none.
    exact : bool
        Whether all its elements are whole numbers, which sums in any order are as well.
    """

    expr: Any
    name: str = ""
    exact: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return shape_of(self.expr)


@dataclass
class Maker:
    """Grows a graph.

    Attributes
    ----------
    random : Random
        Decides everything.
    values : list of Value
        What may be used next.
    """

    random: Random
    values: list[Value] = field(default_factory=list)
    _count: int = 0

    def tensor(self, *shape: int) -> Any:
        """Return a parameter, or a constant of small whole numbers."""
        self._count += 1
        if self.random.random() < 0.6:
            return relay.var(f"v{self._count}", shape=shape)
        rng = np.random.default_rng(self.random.randrange(1 << 16))
        return relay.const(rng.integers(-2, 3, shape).astype("float32"))

    def begin(self) -> None:
        """Convolve an image of a random layout."""
        name = self.random.choice(["NCHW", "NCHW", "NHWC", "NCHW4c", "NCHW8c", "NCHW16c"])
        data = self.tensor(*layout(name).shape(EXTENTS))
        self.values.append(self.convolved(Value(data, name)))

    def convolved(self, x: Value) -> Value:
        """Return the convolution of an image with 8 or 16 channels."""
        inputs, outputs = layout(x.name).extents(x.shape)["C"], self.random.choice([8, 16])
        size = self.random.choice([1, 3])
        plain = {"O": outputs, "I": inputs, "H": size, "W": size}
        attrs = {"channels": outputs, "kernel_size": (size, size), "padding": (size // 2,) * 2, "data_layout": x.name}
        block = layout(x.name).block("C")
        if block > 1 and outputs % block == 0:
            weights = f"OIHW{block}i{block}o"
            function = relay.nn.contrib_conv2d_nchwc if self.random.random() < 0.5 else relay.nn.conv2d
        else:
            weights, function = ("HWIO" if x.name == "NHWC" else "OIHW"), relay.nn.conv2d
            if block > 1:
                return x
        if block == 1 and self.random.random() < 0.2 and outputs == inputs:
            plain["I"], attrs["groups"] = 1, inputs
            weights = "HWOI" if x.name == "NHWC" else weights
        weight = self.tensor(*layout(weights).shape(plain))
        return Value(function(x.expr, weight, kernel_layout=weights, **attrs), x.name, x.exact)

    def pick(self, named: bool = False) -> Value:
        """Return a value, a recent one rather than an old one."""
        fitting = [v for v in self.values if v.name or not named]
        return fitting[-1] if self.random.random() < 0.6 else self.random.choice(fitting)

    def grow(self, steps: int) -> None:
        """Take some steps."""
        self.begin()
        for _ in range(steps):
            made = self.random.choice(_STEPS)(self)
            self.values += [v for v in made if max(np.prod(v.shape), 1) < 20000]

    def module(self) -> IRModule:
        """Return the module of a function that returns the last values."""
        body = self.values[-1].expr
        if self.random.random() < 0.4:
            body = relay.Tuple([body, self.values[len(self.values) // 2].expr])
        return relay.transform.InferType()(IRModule.from_expr(relay.Function(free_vars(body), body)))


def random_layout_module(random: Random, steps: int) -> IRModule:
    """Return a random module of about that many operators."""
    maker = Maker(random)
    maker.grow(steps)
    return maker.module()


def small_inputs(mod: IRModule, seed: int = 0) -> list[Any]:
    """Return small whole numbers for the parameters of ``main``."""
    rng = np.random.default_rng(seed)
    types = [p.type_annotation for p in mod["main"].params]
    return [rng.integers(-2, 3, t.concrete_shape).astype(t.dtype) for t in types]


# steps


def _elementwise(m: Maker) -> list[Value]:
    x = m.pick()
    return [Value(m.random.choice([relay.nn.relu, relay.abs, relay.negative])(x.expr), x.name, x.exact)]


def _broadcast(m: Maker) -> list[Value]:
    """Combine a value with one of any rank, of whose extents some are 1."""
    x = m.pick()
    shape = x.shape
    rank = m.random.randrange(len(shape) + 1)
    ones = m.random.choice([0.0, 0.5, 1.0])
    other = m.tensor(*[1 if m.random.random() < ones else d for d in shape[len(shape) - rank :]])
    pair = (x.expr, other) if m.random.random() < 0.5 else (other, x.expr)
    return [Value(getattr(relay, m.random.choice(["add", "subtract", "maximum"]))(*pair), x.name, x.exact)]


def _residual(m: Maker) -> list[Value]:
    x = m.pick()
    same = [v for v in m.values if v.shape == x.shape]
    other = m.random.choice(same)
    return [Value(relay.add(x.expr, other.expr), x.name or other.name, x.exact and other.exact)]


def _joined(m: Maker) -> list[Value]:
    x = m.pick()
    if not x.shape:
        return []
    same = m.random.choice([v for v in m.values if v.shape == x.shape])
    axis = m.random.randrange(-len(x.shape), len(x.shape))
    return [Value(relay.concatenate([x.expr, relay.nn.relu(same.expr)], axis), "", x.exact and same.exact)]


def _reduced(m: Maker) -> list[Value]:
    x = m.pick()
    if not x.shape:
        return []
    axes = m.random.sample(range(len(x.shape)), m.random.randrange(1, len(x.shape) + 1))
    name = m.random.choice(["sum", "max", "min", "mean"])
    kept = m.random.random() < 0.5
    made = getattr(relay, name)(x.expr, axis=axes, keepdims=kept, exclude=m.random.random() < 0.2)
    return [Value(made, "", x.exact and name != "mean")]


def _padded(m: Maker) -> list[Value]:
    x = m.pick()
    widths = [(m.random.choice([0, 0, 1]), m.random.choice([0, 0, 2])) for _ in x.shape]
    return [Value(relay.nn.pad(x.expr, widths, pad_value=m.random.choice([0.0, 1.0])), "", x.exact)]


def _pooled(m: Maker) -> list[Value]:
    x = m.pick(named=True)
    name = m.random.choice(["max", "avg", "global"])
    if name == "global":
        return [Value(relay.nn.global_avg_pool2d(x.expr, x.name), x.name, False)]
    pool = getattr(relay.nn, f"{name}_pool2d")
    out = m.random.choice(["", x.name])
    made = pool(x.expr, (2, 3), padding=(1, 1), layout=x.name, out_layout=out)
    return [Value(made, x.name, x.exact and name == "max")]


def _convolved(m: Maker) -> list[Value]:
    return [m.convolved(m.pick(named=True))]


def _transformed(m: Maker) -> list[Value]:
    x = m.pick(named=True)
    if layout(x.name).extents(x.shape)["C"] % 8:
        return []
    to = m.random.choice(["NCHW", "NHWC", "NCHW4c", "NCHW8c"])
    return [Value(relay.layout_transform(x.expr, x.name, to), to, x.exact)]


def _biased(m: Maker) -> list[Value]:
    x = m.pick()
    if not x.shape:
        return []
    axis = m.random.randrange(-len(x.shape), len(x.shape))
    return [Value(relay.nn.bias_add(x.expr, m.tensor(x.shape[axis]), axis), x.name, x.exact)]


def _moved(m: Maker) -> list[Value]:
    x = m.pick()
    axes = list(range(len(x.shape)))
    m.random.shuffle(axes)
    return [Value(relay.transpose(x.expr, axes), "", x.exact)] if axes else []


def _cut(m: Maker) -> list[Value]:
    x = m.pick()
    begins = [m.random.choice([0, 0, d // 2]) for d in x.shape]
    return [Value(relay.strided_slice(x.expr, begins, list(x.shape)), "", x.exact)] if begins else []


def _split(m: Maker) -> list[Value]:
    x = m.pick()
    even = [axis for axis, d in enumerate(x.shape) if d % 2 == 0]
    if not even:
        return []
    return [Value(part, "", x.exact) for part in relay.split(x.expr, 2, m.random.choice(even))]


def _quantised(m: Maker) -> list[Value]:
    """Quantise whole numbers, which none is halfway between, add them to something and take them back."""
    x = m.pick()
    if not x.exact or not x.shape:
        return []
    axis = m.random.randrange(len(x.shape))
    scale, zero = relay.const(1.0), relay.const(m.random.choice([0, 3]), "int32")
    small = relay.clip(x.expr, -100.0, 100.0)
    q = relay.qnn.op.quantize(small, scale, zero, axis=axis, out_dtype="int8")
    if m.random.random() < 0.5:
        q = relay.qnn.op.add(q, q, scale, zero, scale, zero, scale, zero)
    if m.random.random() < 0.5:
        q = relay.qnn.op.requantize(q, scale, zero, scale, relay.const(1, "int32"), axis=axis, out_dtype="int8")
        zero = relay.const(1, "int32")
    return [Value(relay.qnn.op.dequantize(q, scale, zero, axis=axis), x.name, True)]


_STEPS: list[Callable[[Maker], list[Value]]] = [
    _elementwise,
    _broadcast,
    _broadcast,
    _broadcast,
    _residual,
    _joined,
    _reduced,
    _padded,
    _pooled,
    _convolved,
    _convolved,
    _transformed,
    _biased,
    _moved,
    _cut,
    _split,
    _quantised,
]
