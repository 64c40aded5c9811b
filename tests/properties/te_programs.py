"""Random small programs of tensor expressions, drawn by hypothesis.

Elements are small whole numbers of any type.  Those of integer types wrap around as NumPy's do, so that every order
of summation gives the same result and a comparison can be exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from hypothesis import strategies as st

from compiler import te
from compiler.ir.expr.primexpr import Select

Draw = Callable[..., Any]
T = TypeVar("T")

MAX_ELEMENTS = 200
"""Elements of a tensor, beyond which a program would take long to interpret."""


DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")
"""What elements are of."""


@dataclass
class Program:
    """Placeholders, and the tensors computed from them; the last one is an output."""

    inputs: list[te.Tensor]
    computed: list[te.Tensor]

    @property
    def outputs(self) -> list[te.Tensor]:
        """The tensors that no other one reads."""
        read = {t for c in self.computed for t in c.op.input_tensors}
        return [t for t in self.computed if t not in read]


def pick(draw: Draw, items: Sequence[T]) -> T:
    """Draw one of some things by its place, so that hypothesis reports a number and not the thing."""
    return items[draw(st.integers(0, len(items) - 1))]


def programs(draw: Draw, stages: int = 3) -> Program:
    """Draw a program of up to ``stages`` computed tensors."""
    sizes = st.integers(1, 9)
    dtype = draw(st.sampled_from(DTYPES))
    inputs = [te.placeholder((draw(sizes), draw(sizes)), dtype, name=name) for name in ("A", "B")]
    program = Program(inputs, [])
    for index in range(draw(st.integers(1, stages))):
        known = program.inputs + program.computed
        source = pick(draw, known[-2:] if program.computed else known)
        other = pick(draw, known)
        define = pick(draw, DEFINITIONS)
        tensor = define(draw, source, other, f"T{index}")
        if tensor is not None:
            program.computed.append(tensor)
    if not program.computed:
        program.computed.append(_elementwise(draw, inputs[0], inputs[1], "T"))
    return program


def values(program: Program) -> dict[te.Tensor, Any]:
    """Return arrays for the inputs: small numbers, which most programs do exact arithmetic with."""
    rng = np.random.default_rng(0)
    return {t: rng.integers(-9, 9, _dims(t)).astype(t.dtype) for t in program.inputs}


def assert_same(result: Any, expected: Any) -> None:
    """Compare exactly, or with what rounding in another order may do to the largest of the elements.

    Sums of float16 overflow in some orders and not in others: where they did, nothing is compared.
    """
    if result.dtype.kind != "f":
        np.testing.assert_array_equal(result, expected)
        return
    largest = np.abs(expected, dtype="float64").max(initial=1.0, where=np.isfinite(expected))
    if result.dtype == np.float16:
        expected = np.where(np.isfinite(result), expected, result)
    np.testing.assert_allclose(result, expected, rtol=0, atol=16 * np.finfo(result.dtype).eps * largest)


def _dims(tensor: te.Tensor) -> list[int]:
    return [int(d) for d in tensor.shape]


def _elementwise(draw: Draw, a: te.Tensor, b: te.Tensor, name: str) -> te.Tensor:
    factor = draw(st.integers(0 if a.dtype.startswith("uint") else -3, 3))
    if _dims(a) == _dims(b):
        return te.compute(a.shape, lambda *i: a(*i) * factor + b(*i), name=name)
    return te.compute(a.shape, lambda *i: te.max(a(*i), factor) - 1, name=name)


def _padded(draw: Draw, a: te.Tensor, b: te.Tensor, name: str) -> te.Tensor | None:
    rows, columns = (*_dims(a), 1)[:2]
    before, after = draw(st.integers(0, 2)), draw(st.integers(0, 2))
    if a.ndim != 2 or (rows + before + after) * columns > MAX_ELEMENTS:
        return None
    choose = pick(draw, [te.if_then_else, _select])
    return te.compute(
        (rows + before + after, columns),
        lambda i, j: choose(te.all(i >= before, i < rows + before), a[i - before, j], 7),
        name=name,
    )


def _select(condition: Any, value: Any, other: Any) -> Any:
    return te.if_then_else(te.any(condition), value + 1, other)


def _window(draw: Draw, a: te.Tensor, b: te.Tensor, name: str) -> te.Tensor | None:
    dims = _dims(a)
    if len(dims) != 2:
        return None
    stride, width = draw(st.integers(1, 2)), draw(st.integers(1, min(3, dims[1])))
    r = te.reduce_axis((0, width), name="r")
    size = (dims[1] - width) // stride + 1
    return te.compute((dims[0], size), lambda i, j: te.sum(a[i, j * stride + r], axis=r), name=name)


def _row_reduction(draw: Draw, a: te.Tensor, b: te.Tensor, name: str) -> te.Tensor | None:
    if a.ndim != 2:
        return None
    reducer = pick(draw, [te.sum, te.max, te.min])
    begin = draw(st.integers(0, _dims(a)[1] - 1))
    k = te.reduce_axis((begin, _dims(a)[1]), name="k")
    if draw(st.booleans()):
        return te.compute((_dims(a)[0],), lambda i: reducer(a[i, k], axis=k), name=name)
    m = te.reduce_axis((0, _dims(a)[0]), name="m")
    return te.compute((1,), lambda z: reducer(a[m, k] + z, axis=[m, k]), name=name)


def _conditional_sum(draw: Draw, a: te.Tensor, b: te.Tensor, name: str) -> te.Tensor | None:
    if a.ndim != 2:
        return None
    k = te.reduce_axis((0, _dims(a)[1]), name="k")
    if draw(st.booleans()):
        return te.compute((_dims(a)[0],), lambda i: te.sum(a[i, k], axis=k, where=a[i, k] > 1), name=name)
    return te.compute((_dims(a)[0],), lambda i: te.sum(a[i, k], axis=k, where=k <= i), name=name)


def _matmul(draw: Draw, a: te.Tensor, b: te.Tensor, name: str) -> te.Tensor | None:
    if a.ndim != 2 or b.ndim != 2:
        return None
    (rows, left), (right, columns) = _dims(a), _dims(b)
    if rows * columns * min(left, right) > 3 * MAX_ELEMENTS:
        return None
    k = te.reduce_axis((0, min(left, right)), name="k")
    return te.compute((rows, columns), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name=name)


def _moved(draw: Draw, a: te.Tensor, b: te.Tensor, name: str) -> te.Tensor | None:
    dims = _dims(a)
    if len(dims) == 1:
        return te.compute(dims, lambda i: a[dims[0] - 1 - i], name=name)
    if len(dims) != 2 or dims[0] * dims[1] * 2 > MAX_ELEMENTS:
        return None
    rows, columns = dims
    ways = [
        lambda: te.compute((columns, rows), lambda i, j: a[j, i], name=name),
        lambda: te.compute((rows, columns), lambda i, j: a[rows - 1 - i, j], name=name),
        lambda: te.compute((rows * columns,), lambda i: a[i // columns, i % columns], name=name),
        lambda: te.compute((rows, (columns + 1) // 2), lambda i, j: a[i, j * 2], name=name),
        lambda: te.compute((rows, columns, 2), lambda i, j, c: a[i, j] * c, name=name),
    ]
    return pick(draw, ways)()


def _gathered(draw: Draw, a: te.Tensor, b: te.Tensor, name: str) -> te.Tensor:
    """Read at places that are data; nothing is read outside, zero stands there."""
    width = _dims(a)[0]

    def place(*i: Any) -> Any:
        return b(*i).astype("int32") if b.dtype.startswith("float") else b(*i)

    if draw(st.booleans()):
        return te.compute(b.shape, lambda *i: a(place(*i), *[0] * (a.ndim - 1)), name=name)
    return te.compute(b.shape, lambda *i: a(te.abs(place(*i)) % width, *[0] * (a.ndim - 1)), name=name)


def _convolved(draw: Draw, a: te.Tensor, b: te.Tensor, name: str) -> te.Tensor | None:
    if a.ndim != 2 or min(_dims(a)) < 2:
        return None
    rows, columns = _dims(a)
    y, x = te.reduce_axis((0, 2), name="y"), te.reduce_axis((0, min(3, columns)), name="x")
    height, width = rows - 1, columns - min(3, columns) + 1
    return te.compute((height, width), lambda i, j: te.sum(a[i + y, j + x] * a[height - i, j], axis=[y, x]), name=name)


def _largest_place(draw: Draw, a: te.Tensor, b: te.Tensor, name: str) -> te.Tensor | None:
    """One of the two results of a reduction of pairs."""
    if a.ndim != 2:
        return None
    k = te.reduce_axis((0, _dims(a)[1]), name="k")
    first = te.comm_reducer(
        lambda x, y: (
            Select(te.any(x[1] > y[1], te.all(x[1].equal(y[1]), x[0] < y[0])), x[0], y[0]),
            te.max(x[1], y[1]),
        ),
        lambda i, v: (te.const(99, i), te.min_value(v)),
        name="argmax",
    )
    both = te.compute((_dims(a)[0],), lambda i: first((k, a[i, k]), axis=k), name=name)
    return pick(draw, both)


def _twins(draw: Draw, a: te.Tensor, b: te.Tensor, name: str) -> te.Tensor:
    return pick(draw, te.compute(a.shape, lambda *i: (a(*i) + 1, a(*i) * 2), name=name))


DEFINITIONS: list[Callable[[Draw, te.Tensor, te.Tensor, str], te.Tensor | None]] = [
    _elementwise,
    _padded,
    _window,
    _row_reduction,
    _conditional_sum,
    _matmul,
    _moved,
    _gathered,
    _convolved,
    _largest_place,
    _twins,
]
