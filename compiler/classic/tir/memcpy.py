"""Recognises loops that copy a contiguous block of memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from compiler.arith.analyzer import Analyzer
from compiler.arith.iterators.detect_iter_map import detect_iter_map
from compiler.arith.iterators.iter_map import IterMapLevel, IterSumExpr
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Range, StringImm, Var, const
from compiler.ir.node import Node
from compiler.ir.structural import structural_equal
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.stmt import For, Stmt
from compiler.tir.statements.stmt_functor import pre_order_visit

Copy = tuple[BufferRegion, BufferRegion]


def identify_memcpy(stmt: Stmt) -> list[Copy | StringImm]:
    """Say of each loop whether it copies one block of memory to another.

    ::

        for i in range(16):
            for j in range(16):       →    (A[0:256], B[0:16, 0:16]) and, of the loop over j,
                B[i, j] = A[i*16 + j]      (A[i * 16:i * 16 + 16], B[i, 0:16])

    For each loop, outer ones first: what is read and what is written, or why it is no copy.
    """
    results: list[Copy | StringImm] = []

    def identify(n: Node) -> bool:
        if isinstance(n, For):
            try:
                results.append(_copy(n))
            except _NoCopyError as reason:
                results.append(StringImm(str(reason)))
        return True

    pre_order_visit(stmt, identify)
    return results


class _NoCopyError(Exception):
    """Why a loop is no copy."""


def _copy(loop: For) -> Copy:
    ranges: dict[Var, Range] = {}
    body: Stmt = loop
    while isinstance(body, For):
        ranges[body.loop_var] = Range.from_fields(body.min, body.extent)
        body = body.body
    if not isinstance(body, BufferStore):
        raise _NoCopyError(f"Expected innermost loop to have BufferStore body, but instead found {body}")
    load = body.value
    if not isinstance(load, BufferLoad):
        raise _NoCopyError(f"Expected BufferStore's value to be BufferLoad, but instead found {load}")
    analyzer = Analyzer()
    for var, domain in ranges.items():
        analyzer.bind(var, domain)
    ends: dict[str, BufferLoad | BufferStore] = {"src": load, "dst": body}
    places = {name: analyzer.simplify(_place(access.buffer, access.indices)) for name, access in ends.items()}
    src, dst = (_iterators(name, place, ranges) for name, place in places.items())
    for name, place in places.items():
        _check_count(name, place, ranges, analyzer)
    _check_order(src, dst)
    return _region(load, ranges, analyzer), _region(body, ranges, analyzer)


def _place(buffer: Buffer, indices: Sequence[PrimExpr]) -> PrimExpr:
    """Return where an element lies, counted in elements of compact rows."""
    place = indices[0]
    for index, extent in zip(indices[1:], buffer.shape[1:], strict=True):
        place = place * extent + index
    return place


def _iterators(name: str, place: PrimExpr, ranges: Mapping[Var, Range]) -> IterSumExpr:
    iter_map = detect_iter_map([place], ranges, check_level=IterMapLevel.Bijective)
    if not iter_map.indices:
        count, errors = len(iter_map.errors), "; ".join(map(str, iter_map.errors))
        raise _NoCopyError(
            f"arith::DetectIterMap({name}) returned {count} errors: [{errors}] for {name}_index = {place}"
        )
    return iter_map.indices[0]


def _check_count(name: str, place: PrimExpr, ranges: Mapping[Var, Range], analyzer: Analyzer) -> None:
    """Reject loops that leave elements out, or touch some several times."""
    one = const(1, place.dtype)
    iterations = reduce(lambda count, domain: count * domain.extent, ranges.values(), one)
    touched = analyzer.int_set(place, dict(ranges))
    same = analyzer.simplify(iterations.equal(touched.max_value - touched.min_value + 1))
    if not isinstance(same, IntImm) or not same.value:
        raise _NoCopyError(
            f"Mismatch between loop iterations ({analyzer.simplify(iterations)}) and number of {name} indices touched "
            f"({touched}.  Equality to prove simplified to {same}"
        )


def _check_order(src: IterSumExpr, dst: IterSumExpr) -> None:
    """Reject loops that read and write in different orders."""
    if len(src.args) != len(dst.args):
        raise _NoCopyError(f"Mismatch between {len(src.args)} source terms and {len(dst.args)} destination terms")
    for index, (a, b) in enumerate(zip(src.args, dst.args, strict=True)):
        for field in ("source", "lower_factor", "extent", "scale"):
            read, written = getattr(a, field), getattr(b, field)
            if not structural_equal(read, written):
                raise _NoCopyError(
                    f"Term {index} had different {field}, src_term->{field} = {read}, dst_term->{field} = {written}"
                )


def _region(access: BufferLoad | BufferStore, ranges: Mapping[Var, Range], analyzer: Analyzer) -> BufferRegion:
    region = []
    for index in access.indices:
        touched = analyzer.int_set(index, dict(ranges))
        extent = analyzer.simplify(touched.max_value - touched.min_value + 1)
        region.append(Range.from_fields(analyzer.simplify(touched.min_value), extent))
    return BufferRegion(access.buffer, tuple(region))
