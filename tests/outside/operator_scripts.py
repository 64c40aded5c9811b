"""Random calls of single operators as scripts: the same text for this compiler and for another TVM."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

__all__ = ["operator_script"]

_FLOATS = ("float32", "float64", "float16")
_INTS = ("int32", "int64", "int8", "uint8", "int16")
_SMOOTH = ["atan", "cos", "erf", "exp", "sigmoid", "sin", "sinh", "cosh", "asinh", "tanh"]
_ROUNDED = ["abs", "ceil", "floor", "negative", "round", "sign", "trunc"]
_BROADCAST = ["add", "subtract", "multiply", "maximum", "minimum"]
_COMPARED = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
_DIVIDED = ["floor_divide", "floor_mod", "truncate_divide", "truncate_mod"]
_BITWISE = ["bitwise_and", "bitwise_or", "bitwise_xor"]
_REDUCED = ["sum", "max", "min", "prod", "argmax", "argmin"]


class _Call:
    """The variables of a call, and the expression."""

    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.variables: list[str] = []

    def var(self, shape: tuple[int, ...], dtype: str) -> str:
        """Declare a variable and return its name."""
        name = f"x{len(self.variables)}"
        self.variables.append(f'{name} = relay.var("{name}", shape={shape}, dtype="{dtype}")')
        return name

    def shape(self, rank: int | None = None, low: int = 1) -> tuple[int, ...]:
        rank = self.rng.randrange(1, 5) if rank is None else rank
        return tuple(self.rng.randrange(low, 6) for _ in range(rank))

    def number(self) -> str:
        return self.rng.choice(_FLOATS[:2] + _INTS[:4])

    def pick(self, *choices: object) -> object:
        return self.rng.choice(choices)

    def axis(self, rank: int) -> int:
        return self.rng.randrange(-rank, rank)


def _unary(c: _Call) -> str:
    if c.rng.random() < 0.5:
        return f"relay.{c.rng.choice(_SMOOTH)}({c.var(c.shape(), c.rng.choice(_FLOATS[:2]))})"
    name = c.rng.choice(_ROUNDED)
    signed = ("float32", "float64") if name in ("ceil", "floor", "round", "trunc") else ("float32", "int32", "int64")
    return f"relay.{name}({c.var(c.shape(), c.rng.choice(signed))})"


def _binary(c: _Call) -> str:
    shape = c.shape()
    other = tuple(1 if c.rng.random() < 0.3 else n for n in shape)[c.rng.randrange(len(shape)) :]
    name = c.rng.choice((*_BROADCAST, *_COMPARED))
    dtype = c.number()
    first, second = c.var(shape, dtype), c.var(other, dtype)
    return f"relay.{name}({first}, {second})"


def _division(c: _Call) -> str:
    dtype = c.rng.choice(("int32", "int64", "float32"))
    name = c.rng.choice(_DIVIDED[:2] if dtype == "float32" else _DIVIDED)
    divisor = c.pick(-3, -2, 2, 3)
    return f'relay.{name}({c.var(c.shape(), dtype)}, relay.const({divisor}, "{dtype}"))'


def _bits(c: _Call) -> str:
    shape, dtype = c.shape(), c.rng.choice(_INTS)
    return f"relay.{c.rng.choice(_BITWISE)}({c.var(shape, dtype)}, {c.var(shape, dtype)})"


def _cast(c: _Call) -> str:
    target = c.rng.choice((*_FLOATS, *_INTS, "bool"))
    source = c.rng.choice(("float32", "int32", "int64", "int8"))
    if target == "uint8":  # negative numbers as unsigned ones mean nothing
        return f'relay.cast(relay.abs({c.var(c.shape(), "int32")}), "uint8")'
    return f'relay.cast({c.var(c.shape(), source)}, "{target}")'


def _reduction(c: _Call) -> str:
    shape = c.shape()
    name = c.rng.choice(_REDUCED)
    chosen = sorted(c.rng.sample(range(len(shape)), c.rng.randrange(1, len(shape) + 1)))
    axis = chosen[0] if name.startswith("arg") else c.pick(tuple(chosen), None)
    keep, exclude = c.pick(True, False), c.pick(True, False) if axis is not None else False
    if exclude and len(chosen) == len(shape) and not isinstance(axis, int):
        exclude = False
    if name.startswith("arg"):
        exclude = False
    dtype = c.rng.choice(("float32", "int32", "int64", "float64"))
    return f"relay.{name}({c.var(shape, dtype)}, axis={axis}, keepdims={keep}, exclude={exclude})"


def _moments(c: _Call) -> str:
    shape = c.shape(low=2)
    name = c.pick("mean", "variance", "std", "logsumexp")
    return f"relay.{name}({c.var(shape, 'float32')}, axis={c.axis(len(shape))}, keepdims={c.pick(True, False)})"


def _scan(c: _Call) -> str:
    shape = c.shape()
    axis, dtype = c.pick(None, c.axis(len(shape))), c.rng.choice(("float32", "int32", "int64"))
    return f"relay.{c.pick('cumsum', 'cumprod')}({c.var(shape, dtype)}, axis={axis}, exclusive={c.pick(True, False)})"


def _order(c: _Call) -> str:
    shape = c.shape()
    x, axis, ascending = c.var(shape, c.rng.choice(("float32", "int32"))), c.axis(len(shape)), c.pick(True, False)
    if c.rng.random() < 0.5:
        return f"relay.sort({x}, axis={axis}, is_ascend={ascending})"
    k = c.rng.randrange(1, shape[axis] + 1)
    return f'relay.topk({x}, k={k}, axis={axis}, ret_type="values", is_ascend={ascending})'


def _place(c: _Call) -> str:
    shape = c.shape()
    x, axis, rank = c.var(shape, c.number()), c.axis(len(shape)), len(shape)
    match c.rng.randrange(9):
        case 0:
            order = list(range(rank))
            c.rng.shuffle(order)
            return f"relay.transpose({x}, axes={order})"
        case 1:
            return f"relay.expand_dims({x}, axis={c.rng.randrange(-rank - 1, rank + 1)}, num_newaxis=1)"
        case 2:
            return f"relay.repeat({x}, repeats={c.rng.randrange(1, 4)}, axis={axis})"
        case 3:
            return f"relay.tile({x}, reps={tuple(c.rng.randrange(1, 3) for _ in range(c.rng.randrange(1, 5)))})"
        case 4:
            return f"relay.reverse({x}, axis={axis})"
        case 5:
            return f"relay.reshape({x}, newshape=(-1, {shape[-1]}))"
        case 6:
            return f"relay.stack([{x}, {x}], axis={axis})"
        case 7:
            return f"relay.concatenate([{x}, {x}], axis={axis})"
        case _:
            return f"relay.take({x}, relay.const(np.array([0, {shape[axis] - 1}, 0])), axis={axis})"


def _slice(c: _Call) -> str:
    shape = c.shape()
    begin = [c.rng.randrange(-n - 1, n) for n in shape]
    end = [c.rng.randrange(-n, n + 3) for n in shape]
    strides = [1 if c.rng.random() < 0.6 else c.rng.choice((2, 3, -1, -2)) for _ in shape]
    begin, end = _in_order(shape, begin, end, strides)
    return f"relay.strided_slice({c.var(shape, c.number())}, begin={begin}, end={end}, strides={strides})"


def _in_order(
    shape: tuple[int, ...], begin: list[int], end: list[int], strides: list[int]
) -> tuple[list[int], list[int]]:
    """Return ends such that no slice is empty, which TVM refuses."""
    for d, extent in enumerate(shape):
        if not len(range(extent)[begin[d] : end[d] : strides[d]]):
            begin[d], end[d] = (0, extent) if strides[d] > 0 else (extent - 1, -extent - 1)
    return begin, end


def _padding(c: _Call) -> str:
    shape = c.shape(low=3)
    mode = c.pick("constant", "edge", "reflect")
    widths = tuple((c.rng.randrange(3), c.rng.randrange(3)) for _ in shape)
    value = ", pad_value=2.0" if mode == "constant" else ""
    return f'relay.nn.pad({c.var(shape, "float32")}, pad_width={widths}{value}, pad_mode="{mode}")'


def _window(c: _Call) -> str:
    rank = c.rng.randrange(1, 4)
    kernel, channels_last = c.rng.randrange(1, 4), c.rng.random() < 0.4
    letters = "DHW"[3 - rank :]
    layout = f"N{letters}C" if channels_last else f"NC{letters}"
    spatial = tuple(c.rng.randrange(5, 9) for _ in range(rank))
    shape = (2, *spatial, 3) if channels_last else (2, 3, *spatial)
    name = c.pick("max", "avg")
    pads, step = c.rng.randrange(min(kernel, 2)), c.rng.randrange(1, min(kernel, 2) + 1)
    ceil = pads == 0 and c.rng.random() < 0.5  # a window that sees padding alone has no value
    rest = f"pool_size={(kernel,) * rank}, strides={(step,) * rank}, padding={(pads,) * rank}"
    rest += f', layout="{layout}", ceil_mode={ceil}'
    rest += f", count_include_pad={c.pick(True, False)}" if name == "avg" else ""
    return f"relay.nn.{name}_pool{rank}d({c.var(shape, 'float32')}, {rest})"


def _convolution(c: _Call) -> str:
    rank = c.rng.randrange(1, 4)
    letters, kernel = "DHW"[3 - rank :], c.rng.randrange(1, 4)
    groups = c.rng.choice((1, 1, 2)) if rank == 2 else 1
    inputs, outputs = 4, c.rng.choice((2, 6))
    spatial = tuple(c.rng.randrange(6, 9) for _ in range(rank))
    last = rank == 2 and groups == 1 and c.rng.random() < 0.4
    data = (2, *spatial, inputs) if last else (2, inputs, *spatial)
    weight = (kernel,) * rank
    weight = (*weight, inputs, outputs) if last else (outputs, inputs // groups, *weight)
    layouts = f'data_layout="N{letters}C", kernel_layout="{letters}IO"' if last else f"groups={groups}"
    dtype = c.rng.choice(("float32", "float32", "int8"))
    wide = ', out_dtype="int32"' if dtype == "int8" else ""
    rest = f"strides={(c.rng.randrange(1, 3),) * rank}, padding={(c.rng.randrange(2),) * rank}"
    rest += f", dilation={(c.rng.randrange(1, 3) if rank == 2 else 1,) * rank}, channels={outputs}"
    rest += f", kernel_size={(kernel,) * rank}, {layouts}{wide}"
    return f"relay.nn.conv{rank}d({c.var(data, dtype)}, {c.var(weight, dtype)}, {rest})"


def _product(c: _Call) -> str:
    m, n, k = c.shape(3)
    a, b = c.pick(True, False), c.pick(True, False)
    batch = c.rng.randrange(1, 3)
    x, y = ((k, m) if a else (m, k)), ((n, k) if b else (k, n))
    if c.rng.random() < 0.5:
        return f"relay.nn.matmul({c.var(x, 'float32')}, {c.var(y, 'float32')}, None, '', {a}, {b})"
    first, second = c.var((batch, *x), "float32"), c.var((batch, *y), "float32")
    return f"relay.nn.batch_matmul({first}, {second}, transpose_a={a}, transpose_b={b})"


def _resize(c: _Call) -> str:
    shape, size = (1, 2, c.rng.randrange(2, 7), c.rng.randrange(2, 7)), c.shape(2, low=2)
    method = c.pick("nearest_neighbor", "linear", "cubic")
    mode = c.pick("half_pixel", "align_corners", "asymmetric")
    rounding = c.pick("round", "floor", "ceil") if method == "nearest_neighbor" else ""
    rest = f'size={size}, method="{method}", coordinate_transformation_mode="{mode}", rounding_method="{rounding}"'
    return f"relay.image.resize2d({c.var(shape, 'float32')}, {rest})"


def _normalised(c: _Call) -> str:
    shape = c.shape(low=2)
    name = c.pick("nn.softmax", "nn.log_softmax")
    return f"relay.{name}({c.var(shape, 'float32')}, axis={c.axis(len(shape))})"


def _scattered(c: _Call) -> str:
    shape = c.shape(2, low=3)
    axis, kind = c.axis(2), c.pick("add", "mul", "min", "max")
    x, u = c.var(shape, "float32"), c.var(shape, "float32")
    indices = [[c.rng.randrange(shape[axis]) for _ in range(shape[1])] for _ in range(shape[0])]
    where = f"relay.const(np.array({indices}))"
    if c.rng.random() < 0.3:
        return f"relay.gather({x}, {axis % 2}, {where})"
    return f'relay.scatter_elements({x}, {where}, {u}, axis={axis}, reduction="{kind}")'


_KINDS: tuple[Callable[[_Call], str], ...] = (
    _unary,
    _binary,
    _division,
    _bits,
    _cast,
    _reduction,
    _moments,
    _scan,
    _order,
    _place,
    _slice,
    _padding,
    _window,
    _convolution,
    _product,
    _resize,
    _normalised,
    _scattered,
)


def operator_script(seed: int) -> str:
    """Return a script that defines ``func``, the call of one operator with drawn attributes, and ``passes``, none.

    Parameters
    ----------
    seed : int

    Returns
    -------
    str
        For a namespace with ``relay`` and ``np``.
    """
    call = _Call(seed)
    kind = call.rng.choice(_KINDS)
    expression = kind(call)
    names = ", ".join(f"x{i}" for i in range(len(call.variables)))
    return "\n".join([*call.variables, f"func = relay.Function([{names}], {expression})", "passes = []", ""])
