"""The elements of buffers that statements read and write."""

from compiler import tir
from compiler.classic.arith import ffi_api as _ffi_api


def nest(n):
    a, b = (tir.decl_buffer((n, 20), name=name) for name in "ab")
    i, j = tir.Var("i", "int32"), tir.Var("j", "int32")
    store = tir.BufferStore(a, b.vload((i - 1, j + 1)) + a.vload((i - 1, j - 1)), [i, j])
    inner = tir.For(j, i, 4, tir.ForKind.SERIAL, store)
    return a, b, tir.For(i, 0, 10, tir.ForKind.SERIAL, inner)


def box(ranges):
    return [(r.min.value, r.extent.value) for r in ranges]


def test_loops_around_an_access_are_followed():
    a, b, stmt = nest(100)
    touched = _ffi_api.DomainTouched
    assert box(touched(stmt, b, True, True)) == [(-1, 10), (1, 13)]
    assert box(touched(stmt, a, True, False)) == [(-1, 10), (-1, 13)]
    assert box(touched(stmt, a, False, True)) == [(0, 10), (0, 13)]
    assert box(touched(stmt, a, True, True)) == [(-1, 11), (-1, 14)]
    assert touched(stmt, b, False, True) == []


def test_accesses_are_listed():
    a, b, stmt = nest(100)
    accesses = _ffi_api.DomainTouchedAccessMap(tir.PrimFunc([a, b], stmt))
    assert {buffer: [len(kind) for kind in kinds] for buffer, kinds in accesses.items()} == {a: [1, 1, 2], b: [1, 0, 1]}
    loads, _, _ = accesses[b]
    assert [(s.min_value.value, s.max_value.value) for s in loads[0]] == [(-1, 8), (1, 13)]
