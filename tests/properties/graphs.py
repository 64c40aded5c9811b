"""Random graphs of operators, and what they compute by NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

import compiler.relay
from compiler.ir import IRModule
from compiler.relay.analysis import free_vars, post_order

relay: Any = compiler.relay
"""As programs call it."""

DTYPE = "float64"
"""Wide enough that rewriting an expression changes only the last of its digits."""


@dataclass
class GraphMaker:
    """Grows a graph, one random step after the other.

    Attributes
    ----------
    random : Random
        Decides everything.
    dtype : str
        Of all values.
    values : list of Expr
        What may be used next.
    """

    random: Random
    dtype: str = DTYPE
    values: list[Any] = field(default_factory=list)
    _count: int = 0

    def variable(self, *shape: int) -> Any:
        """Return a new parameter."""
        self._count += 1
        return relay.var(f"v{self._count}", shape=shape, dtype=self.dtype)

    def constant(self, *shape: int) -> Any:
        """Return random numbers; now and then all of them are 0, 1 or positive."""
        rng = np.random.default_rng(self.random.randrange(1 << 16))
        kind = self.random.randrange(6)
        values = {0: np.zeros(shape), 1: np.ones(shape), 2: rng.random(shape) + 0.5}.get(kind, rng.normal(size=shape))
        return relay.const(values, self.dtype)

    def weights(self, *shape: int) -> Any:
        """Return parameters or constants."""
        return self.variable(*shape) if self.random.random() < 0.3 else self.constant(*shape)

    def pick(self, rank: int | None = None, like: Any = None) -> Any:
        """Return a value, of that rank or of the shape of another one if there is any; recent ones are likelier."""
        shape = None if like is None else shape_of(like)
        fitting = [v for v in self.values if rank in (None, len(shape_of(v))) and shape in (None, shape_of(v))]
        if not fitting:
            return self.image() if rank == 4 else self.matrix()
        return fitting[-1] if self.random.random() < 0.5 else self.random.choice(fitting)

    def image(self) -> Any:
        """Return a new input of 8 channels."""
        self.values.append(self.variable(1, 8, 4, 4))
        return self.values[-1]

    def matrix(self) -> Any:
        """Return a new matrix as input."""
        self.values.append(self.variable(2, 8))
        return self.values[-1]

    def grow(self, steps: int) -> None:
        """Take some steps."""
        for _ in range(steps):
            made = self.random.choice(_STEPS)(self)
            self.values.extend(made if isinstance(made, list) else [made])

    def module(self) -> IRModule:
        """Return the module of a function that returns what nothing else uses."""
        used = {id(part) for v in self.values for part in post_order(v) if part is not v}
        ends = [v for v in self.values if id(v) not in used] or self.values[-1:]
        body = ends[0] if len(ends) == 1 else relay.Tuple(ends)
        func = relay.Function(free_vars(body), body)
        return relay.transform.InferType()(IRModule.from_expr(func))


def shape_of(expr: Any) -> tuple[int, ...]:
    """Return the shape of an expression."""
    from compiler.relay.inference import infer_expr

    t: Any = infer_expr(expr)
    return tuple(t.concrete_shape)


def random_module(random: Random, steps: int, dtype: str = DTYPE) -> IRModule:
    """Return a random module of about that many operators."""
    maker = GraphMaker(random, dtype)
    maker.grow(steps)
    return maker.module()


# steps


def _elementwise(m: GraphMaker) -> Any:
    x = m.pick()
    names = ["tanh", "sigmoid", "negative", "abs", "nn.relu"]
    name = m.random.choice(names)
    return {"nn.relu": relay.nn.relu}.get(name, getattr(relay, name, None))(x)


def _leaky(m: GraphMaker) -> Any:
    return relay.nn.leaky_relu(m.pick(), 0.25)


def _binary(m: GraphMaker) -> Any:
    a = m.pick()
    b = m.pick(like=a)
    return getattr(relay, m.random.choice(["add", "subtract", "multiply", "maximum"]))(a, b)


def _with_scalar(m: GraphMaker) -> Any:
    name = m.random.choice(["add", "subtract", "multiply"])
    return getattr(relay, name)(m.pick(), relay.const(m.random.choice([0.0, 1.0, 2.0, -0.5]), m.dtype))


def _along_channels(m: GraphMaker) -> Any:
    x = m.pick(4)
    factors = m.weights(shape_of(x)[1], 1, 1)
    return getattr(relay, m.random.choice(["add", "multiply", "multiply"]))(x, factors)


def _bias(m: GraphMaker) -> Any:
    x = m.pick()
    return relay.nn.bias_add(x, m.weights(shape_of(x)[1]), axis=1)


def _conv(m: GraphMaker) -> Any:
    x = m.pick(4)
    channels = shape_of(x)[1]
    size = m.random.choice([1, 3])
    groups = m.random.choice([1, 1, 2, channels]) if channels % 2 == 0 else 1
    weight = m.weights(8 if groups == 1 else channels, channels // groups, size, size)
    return relay.nn.conv2d(x, weight, padding=size // 2, groups=groups)


def _parallel_convs(m: GraphMaker) -> list[Any]:
    x = m.pick(4)
    channels = shape_of(x)[1]
    outs = [m.random.choice([2, 8]) for _ in range(3)]
    return [relay.nn.conv2d(x, m.weights(o, channels, 1, 1)) for o in outs]


def _batch_norm(m: GraphMaker) -> Any:
    x = m.pick(4)
    n = shape_of(x)[1]
    variance = relay.const(np.linspace(0.5, 2.0, n), m.dtype)
    return relay.nn.batch_norm(x, m.weights(n), m.weights(n), m.constant(n), variance)[0]


def _own_norm(m: GraphMaker) -> Any:
    x = m.pick(4)
    n = shape_of(x)[1]
    kinds: list[Callable[[], Any]] = [
        lambda: relay.nn.layer_norm(x, m.weights(n), m.weights(n), axis=1),
        lambda: relay.nn.instance_norm(x, m.weights(n), m.weights(n)),
        lambda: relay.nn.group_norm(x, m.weights(n), m.weights(n), 2 if n % 2 == 0 else 1),
        lambda: relay.nn.l2_normalize(x, 1e-3, [1]),
        lambda: relay.nn.dropout(x),
    ]
    return m.random.choice(kinds)()


def _pool(m: GraphMaker) -> Any:
    x = m.pick(4)
    if min(shape_of(x)[2:]) < 2:
        return relay.nn.relu(x)
    pool = m.random.choice([relay.nn.max_pool2d, relay.nn.avg_pool2d])
    return pool(x, (2, 2), padding=(1, 1)) if m.random.random() < 0.7 else relay.nn.global_avg_pool2d(x)


def _dense(m: GraphMaker) -> Any:
    x = m.pick(2)
    return relay.nn.dense(x, m.weights(8, shape_of(x)[1]))


def _parallel_dense(m: GraphMaker) -> list[Any]:
    x = m.pick(2)
    return [relay.nn.dense(x, m.weights(units, shape_of(x)[1])) for units in (8, 8, 4)]


def _flatten(m: GraphMaker) -> Any:
    return relay.nn.batch_flatten(m.pick(4))


def _move(m: GraphMaker) -> Any:
    x = m.pick()
    order = list(range(len(shape_of(x))))
    m.random.shuffle(order)
    moved = relay.transpose(x, order)
    back = [order.index(d) for d in range(len(order))]
    if m.random.random() < 0.5:
        return relay.transpose(moved, back)
    return relay.reshape(relay.reshape(moved, (-1,)), shape_of(x))


def _softmax(m: GraphMaker) -> Any:
    return relay.nn.softmax(m.pick(), axis=1)


def _centre(m: GraphMaker) -> Any:
    x = m.pick()
    return x - relay.mean(x, axis=1, keepdims=True)


def _reduce(m: GraphMaker) -> Any:
    x = m.pick(4)
    total = getattr(relay, m.random.choice(["sum", "max", "mean"]))(x, axis=(2, 3))
    return relay.nn.relu(total)


def _split(m: GraphMaker) -> list[Any]:
    x = m.pick(4)
    if shape_of(x)[1] % 2:
        return [relay.tanh(x)]
    a, b = relay.split(x, 2, axis=1)
    return [relay.concatenate([relay.nn.relu(b), a], axis=1)] if m.random.random() < 0.6 else [a, b]


def _again(m: GraphMaker) -> Any:
    """Write down once more what a value is computed by."""
    calls = [v for v in m.values if isinstance(v, relay.Call)]
    if not calls:
        return m.image()
    call = m.random.choice(calls)
    return relay.Call(call.op, call.args, call.attrs)


def _constant_part(m: GraphMaker) -> Any:
    x = m.pick()
    shape = shape_of(x)
    return relay.add(x, relay.tanh(relay.multiply(m.constant(*shape), m.constant(*shape))))


def _casts(m: GraphMaker) -> Any:
    x = relay.cast(m.pick(), "float32")
    wide = relay.cast(x, m.dtype)
    return relay.add(relay.tanh(wide), wide)


_STEPS: list[Callable[[GraphMaker], Any]] = [
    _elementwise,
    _elementwise,
    _leaky,
    _binary,
    _binary,
    _with_scalar,
    _along_channels,
    _along_channels,
    _bias,
    _conv,
    _conv,
    _parallel_convs,
    _batch_norm,
    _own_norm,
    _pool,
    _dense,
    _parallel_dense,
    _flatten,
    _move,
    _softmax,
    _centre,
    _reduce,
    _split,
    _again,
    _constant_part,
    _casts,
]


# what a graph computes


def random_inputs(mod: IRModule, seed: int = 0) -> list[Any]:
    """Return random arrays for the parameters of ``main``."""
    rng = np.random.default_rng(seed)
    types = [p.type_annotation for p in mod["main"].params]
    return [rng.normal(size=t.concrete_shape).astype(t.dtype) for t in types]


def evaluate(func: Any, inputs: Sequence[Any]) -> Any:
    """Compute a function of tensors by the operators' references."""
    return _value(func.body, dict(zip(func.params, inputs, strict=True)))


def _value(expr: Any, names: Mapping[Any, Any]) -> Any:
    found: dict[Any, Any] = dict(names)
    for part in post_order(expr, _strict_parts):
        if part not in found:
            found[part] = _step(part, found)
    return found[expr]


def _strict_parts(expr: Any) -> tuple[Any, ...]:
    match expr:
        case relay.Call():
            return tuple(expr.args)
        case relay.Tuple():
            return tuple(expr.fields)
        case relay.TupleGetItem():
            return (expr.tuple_value,)
        case _:
            return ()


def _step(expr: Any, found: Mapping[Any, Any]) -> Any:
    match expr:
        case relay.Constant():
            return expr.value
        case relay.Tuple():
            return tuple(found[f] for f in expr.fields)
        case relay.TupleGetItem():
            return found[expr.tuple_value][expr.index]
        case relay.Call() if isinstance(expr.op, relay.Function):
            return evaluate(expr.op, [found[a] for a in expr.args])
        case relay.Call():
            return expr.op.reference(expr.attrs, *[found[a] for a in expr.args])
        case _:
            raise TypeError(f"a graph of operators has no {type(expr).__name__}")


def flat(value: Any) -> list[Any]:
    """Return the arrays of a value, which may be a tuple."""
    return [part for v in value for part in flat(v)] if isinstance(value, tuple) else [value]
