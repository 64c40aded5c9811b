"""Elements put where indices say, as reductions: each element of the result looks for the updates that hit it.

So every element is computed on its own and loops can run in parallel; the work is the product of the sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compiler import te, tir
from compiler.ir.error import ArgumentError, show
from compiler.topi.indexing import wrapped
from compiler.topi.reduction import highest, lowest
from compiler.topi.tag import Tag
from compiler.topi.util import axis_of, dims, flat_index, unflatten

REDUCTIONS = ("update", "add", "mul", "min", "max", "mean")

Hit = Callable[[Sequence[Any], Sequence[Any]], tuple[Any, Any]]
"""``(indices of the result, indices of the updates)`` to whether the update hits, and its value."""


def scatter_elements(data: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "update") -> Any:
    """Return ``data`` with ``updates[i]`` put at ``i`` but for one axis, where ``indices[i]`` says where.

    Parameters
    ----------
    reduction : {"update", "add", "mul", "min", "max", "mean"}
        How several values at one place, and the one of ``data``, become one; ``update`` takes the last update.
    """
    old, where = dims(data), dims(indices)
    at = axis_of(axis, len(old), "scatter_elements")

    def hit(i: Sequence[Any], k: Sequence[Any]) -> tuple[Any, Any]:
        point = (*i[:at], k[0], *i[at + 1 :])
        inside = [v < e for d, (v, e) in enumerate(zip(i, where, strict=True)) if d != at and not _covers(e, old[d])]
        here = wrapped(indices(*point), old[at]).equal(i[at])
        found = te.if_then_else(te.all(*inside), here, tir.const(False)) if inside else here
        return found, updates(*point)

    return _scatter(data, [where[at]], hit, reduction, "scatter_elements")


def scatter_nd(data: Any, indices: Any, updates: Any, mode: str = "update") -> Any:
    """Return ``data`` with slices put at the points whose coordinates stand along the first axis of ``indices``."""
    old, where = dims(data), dims(indices)
    count, points = where[0], where[1:]

    def hit(i: Sequence[Any], k: Sequence[Any]) -> tuple[Any, Any]:
        same = [wrapped(indices(m, *k), old[m]).equal(i[m]) for m in range(count)]
        return te.all(*same), updates(*k, *i[count:])

    return _scatter(data, points, hit, mode, "scatter_nd")


def sparse_to_dense(indices: Any, shape: Sequence[int], values: Any, default_value: Any) -> Any:
    """Return a tensor of a shape with values at indices, and a default elsewhere.

    Parameters
    ----------
    indices : Tensor
        One index, ``(count,)`` of them, or ``(count, len(shape))`` points.
    """
    where = dims(indices)
    base = te.compute(tuple(shape), lambda *i: default_value(), name="default", tag=Tag.ELEMWISE)

    def hit(i: Sequence[Any], k: Sequence[Any]) -> tuple[Any, Any]:
        if len(where) == 2:
            same = [indices(k[0], d).astype("int32").equal(i[d]) for d in range(where[1])]
        else:
            same = [indices(*k[: len(where)]).astype("int32").equal(i[0])]
        return te.all(*same), values(*k) if len(values.shape) else values()

    return _scatter(base, list(where[:1]) or [1], hit, "update", "sparse_to_dense")


def _covers(extent: Any, whole: Any) -> bool:
    return isinstance(extent, int) and isinstance(whole, int) and extent >= whole


def _scatter(data: Any, counts: Sequence[Any], hit: Hit, reduction: str, name: str) -> Any:
    if reduction == "update":
        return _last(data, counts, hit, name)
    combine = _COMBINE.get(reduction)
    if combine is None:
        raise ArgumentError(f"{name}: the reduction must be one of {', '.join(REDUCTIONS)}, got {show(reduction)}")
    return combine(data, counts, hit, name)


def _over(data: Any, counts: Sequence[Any], hit: Hit, reduce: Any, name: str, value: Any) -> Any:
    """Return a reduction over all updates of ``value(whether it hits, the update)``."""
    ks = [te.reduce_axis((0, c), name=f"k{n}") for n, c in enumerate(counts)]
    if not ks:
        return te.compute(dims(data), lambda *i: value(*hit(i, ())), name=name, tag=Tag.INJECTIVE)
    at = [k.var for k in ks]
    return te.compute(dims(data), lambda *i: reduce(value(*hit(i, at)), axis=ks), name=name, tag=Tag.COMM_REDUCE)


def _last(data: Any, counts: Sequence[Any], hit: Hit, name: str) -> Any:
    """Find the last update that hits, then read it."""
    ks = [te.reduce_axis((0, c), name=f"k{n}") for n, c in enumerate(counts)]
    at = [k.var for k in ks]

    def place(*i: Any) -> Any:
        return te.max(tir.Select(hit(i, at)[0], flat_index(at, counts) + 0, tir.const(-1, "int32")), axis=ks)

    if not ks:
        found = te.compute(
            dims(data),
            lambda *i: tir.Select(hit(i, ())[0], tir.const(0, "int32"), tir.const(-1, "int32")),
            name=f"{name}_last",
            tag=Tag.INJECTIVE,
        )
    else:
        found = te.compute(dims(data), place, name=f"{name}_last", tag=Tag.COMM_REDUCE)

    def element(*i: Any) -> Any:
        last = found(*i)
        return te.if_then_else(last >= 0, hit(i, unflatten(te.max(last, 0), counts))[1], data(*i))

    return te.compute(dims(data), element, name=name, tag=Tag.INJECTIVE)


def _constant(data: Any, value: Any) -> Any:
    return tir.const(value, data.dtype)


def _joined(data: Any, part: Any, function: Callable[[Any, Any], Any], name: str) -> Any:
    return te.compute(dims(data), lambda *i: function(data(*i), part(*i)), name=name, tag=Tag.ELEMWISE)


def _simple(reduce: Any, nothing: Callable[[str], Any], function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def run(data: Any, counts: Sequence[Any], hit: Hit, name: str) -> Any:
        def value(here: Any, update: Any) -> Any:
            return tir.Select(here, update, nothing(data.dtype))

        part = _over(data, counts, hit, reduce, f"{name}_part", value)
        return _joined(data, part, function, name)

    return run


def _mean(data: Any, counts: Sequence[Any], hit: Hit, name: str) -> Any:
    zero, one = _constant(data, 0), _constant(data, 1)
    total = _over(data, counts, hit, te.sum, f"{name}_sum", lambda here, update: tir.Select(here, update, zero))
    count = _over(data, counts, hit, te.sum, f"{name}_count", lambda here, update: tir.Select(here, one, zero))
    return te.compute(dims(data), lambda *i: (data(*i) + total(*i)) / (count(*i) + one), name=name, tag=Tag.ELEMWISE)


_COMBINE: dict[str, Callable[..., Any]] = {
    "add": _simple(te.sum, lambda t: tir.const(0, t), lambda a, b: a + b),
    "mul": _simple(te.prod, lambda t: tir.const(1, t), lambda a, b: a * b),
    "min": _simple(te.min, highest, te.min),
    "max": _simple(te.max, lowest, te.max),
    "mean": _mean,
}
