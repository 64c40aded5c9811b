"""Memory is allocated outside of the loops, shared where lifetimes allow, and typed by its vectors."""

from __future__ import annotations

import itertools

from compiler.ir.primexpr import Ramp, Var, cast, const
from compiler.ir.types import PointerType
from compiler.tir.buffer import Buffer, decl_buffer
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import Allocate, BufferStore, For, ForKind, IfThenElse, Stmt, seq
from compiler.tir.transform import Simplify, StorageRewrite
from tests.compiler.tir.transform.programs import allocate, apply, assert_same, function, loop, nodes


def local(name: str, size: int = 16, dtype: str = "int32", scope: str = "global") -> Buffer:
    return decl_buffer((size,), dtype, name=name, scope=scope)


A, C = decl_buffer((16,), "int32", name="A"), decl_buffer((16,), "int32", name="C")


def copy(target: Buffer, source: Buffer, reverse: bool = False) -> Stmt:
    """Return a loop that stores each element of ``source``, plus one, in order or from the end."""
    i = Var("i")
    index = 15 - i if reverse else i
    return loop(i, 16, BufferStore(target, source[index] + 1, (i,)))


def chain(*buffers: Buffer, reverse: bool) -> PrimFunc:
    """Return a function that passes A on from buffer to buffer, and the last one to C."""
    steps = [A, *buffers, C]
    body = seq([copy(t, s, reverse) for s, t in itertools.pairwise(steps)])
    for buffer in reversed(buffers):
        body = allocate(buffer, body)
    return function(body, A, C)


def rewritten(func: PrimFunc) -> PrimFunc:
    after = apply(func, StorageRewrite())
    assert_same(func, after)
    return after


def test_a_buffer_takes_the_memory_of_a_dead_one() -> None:
    after = rewritten(chain(local("L"), local("M"), local("N"), local("O"), reverse=True))
    assert [n.buffer_var.name for n in reversed(nodes(after, Allocate))] == ["L", "M"]


def test_a_buffer_is_overwritten_in_place() -> None:
    after = rewritten(chain(local("L"), local("M"), local("N"), reverse=False))
    assert [n.buffer_var.name for n in nodes(after, Allocate)] == ["L"]


def test_no_overwriting_where_an_element_is_read_again() -> None:
    i, k, m = Var("i"), Var("k"), local("M")
    source = local("L")
    twice = loop(k, 2, loop(i, 16, BufferStore(m, source[i] * 2 + k, (i,))))
    body = seq([copy(source, A), twice, copy(C, m)])
    after = rewritten(function(allocate(source, allocate(m, body)), A, C))
    assert len(nodes(after, Allocate)) == 2


def test_no_overwriting_where_two_statements_write() -> None:
    i, source, m = Var("i"), local("L"), local("M")
    both = loop(i, 16, seq([BufferStore(m, source[i], (i,)), BufferStore(m, source[i] + 5, (i,))]))
    body = seq([copy(source, A), both, copy(C, m)])
    after = rewritten(function(allocate(source, allocate(m, body)), A, C))
    assert len(nodes(after, Allocate)) == 2


def test_memory_grows_for_a_larger_buffer() -> None:
    small, other, large = local("S", 16), local("O", 16), local("B", 32)
    i = Var("i")
    body = seq(
        [
            copy(small, A),
            copy(other, small, reverse=True),
            loop(i, 32, BufferStore(large, other[i // 2], (i,))),
            copy(C, large),
        ]
    )
    after = rewritten(function(allocate(small, allocate(other, allocate(large, body))), A, C))
    assert [n.extents[0].value for n in reversed(nodes(after, Allocate))] == [32, 16]


def test_other_types_of_the_same_width_share() -> None:
    first, second, third = local("L"), local("M", dtype="float32"), local("N", dtype="float64")
    i = Var("i")

    def convert(target: Buffer, source: Buffer) -> Stmt:
        return loop(i, 16, BufferStore(target, cast(target.dtype, source[15 - i]), (i,)))

    body = seq([copy(first, A), convert(third, first), convert(second, third), convert(C, second)])
    after = rewritten(function(allocate(first, allocate(second, allocate(third, body))), A, C))
    assert [n.dtype for n in reversed(nodes(after, Allocate))] == ["int32", "float64"]


def test_allocations_leave_serial_loops_but_not_parallel_ones() -> None:
    o, i = Var("o"), Var("i")
    for kind, outermost in ((ForKind.SERIAL, Allocate), (ForKind.PARALLEL, For)):
        buffer = local("L", 4)
        inner = seq([loop(i, 4, BufferStore(buffer, A[o * 4 + i], (i,))), BufferStore(C, buffer[3], (o,))])
        after = rewritten(function(loop(o, 4, allocate(buffer, inner), kind), A, C))
        assert isinstance(after.body, outermost)
        assert len(nodes(after, Allocate)) == 1


def test_a_parallel_loop_within_a_function_keeps_its_own_memory() -> None:
    shared, own = local("S"), local("L", 4)
    o, i = Var("o"), Var("i")
    inner = seq([loop(i, 4, BufferStore(own, shared[o * 4 + i], (i,))), BufferStore(C, own[3], (o,))])
    body = seq([copy(shared, A), loop(o, 4, allocate(own, inner), ForKind.PARALLEL)])
    after = rewritten(function(allocate(shared, body), A, C))
    (parallel,) = [n for n in nodes(after, For) if n.kind == ForKind.PARALLEL]
    assert isinstance(parallel.body, Allocate)


def test_what_lives_around_a_loop_does_not_share_with_what_lives_in_it() -> None:
    outside, inside = local("S"), local("L", 16)
    o = Var("o")
    body = seq([copy(inside, A, reverse=True), BufferStore(C, inside[o] + outside[o], (o,))])
    func = function(allocate(outside, seq([copy(outside, A), loop(o, 16, allocate(inside, body))])), A, C)
    assert len(nodes(rewritten(func), Allocate)) == 2


def test_siblings_in_a_loop_share() -> None:
    first, second = local("L"), local("M")
    o = Var("o")
    body = seq([copy(first, A), copy(second, first, reverse=True), BufferStore(C, second[o], (o,))])
    third = local("N")
    body = seq([body, allocate(third, seq([copy(third, A, reverse=True), BufferStore(C, third[o] + C[o], (o,))]))])
    func = function(loop(o, 16, allocate(first, allocate(second, body))), A, C)
    assert len(nodes(rewritten(func), Allocate)) == 2


def test_private_arrays_and_single_values_keep_their_own() -> None:
    for buffers in ([local(n, scope="local") for n in "LMNO"], [local(n, 1) for n in "LMNO"]):
        i = Var("i")
        steps = [A, *buffers, C]
        body = seq([BufferStore(t, s[0] + C[1], (const(0),)) for s, t in itertools.pairwise(steps)])
        for buffer in reversed(buffers):
            body = allocate(buffer, body)
        after = rewritten(function(loop(i, 3, body), A, C))
        kinds = {n.buffer_var.type_annotation for n in nodes(after, Allocate)}
        assert all(isinstance(k, PointerType) for k in kinds)
        if buffers[0].scope == "local":
            assert isinstance(after.body, Allocate)


def test_a_size_that_only_an_inner_loop_knows_stays_inside() -> None:
    o, i = Var("o"), Var("i")
    buffer = decl_buffer((o + 1,), "int32", name="L")
    body = seq([loop(i, o + 1, BufferStore(buffer, A[i], (i,))), BufferStore(C, buffer[o], (o,))])
    after = rewritten(function(loop(o, 4, allocate(buffer, body)), A, C))
    assert isinstance(after.body, For)


def test_symbolic_sizes_share_only_if_they_are_written_alike() -> None:
    n, i = Var("n"), Var("i")
    a, c = decl_buffer((n,), "int32", name="A"), decl_buffer((n,), "int32", name="C")
    buffers = [decl_buffer((s,), "int32", name=name) for name, s in (("L", n), ("M", n), ("N", n), ("O", n + 1))]
    steps = [a, *buffers, c]
    body = seq([loop(i, n, BufferStore(t, s[n - 1 - i], (i,))) for s, t in itertools.pairwise(steps)])
    for buffer in reversed(buffers):
        body = allocate(buffer, body)
    func = function(body, a, c, scalars=(n,))
    after = apply(func, StorageRewrite())
    assert_same(func, after, scalars={"n": 9})
    assert len(nodes(after, Allocate)) == 3


def test_memory_that_nothing_touches_is_not_allocated() -> None:
    after = rewritten(function(allocate(local("L"), copy(C, A)), A, C))
    assert not nodes(after, Allocate)


def test_memory_of_vectors_becomes_an_array_of_vectors() -> None:
    i, j, buffer = Var("i"), Var("j"), local("L")

    def at(v: Var) -> Ramp:
        return Ramp(v * 4, const(1), 4)

    fill = loop(i, 4, BufferStore(buffer, A[at(i)], (at(i),)))
    use = loop(j, 4, BufferStore(C, buffer[at(j)] + buffer[at(j)], (at(j),)))
    after = apply(rewritten(function(allocate(buffer, seq([fill, use])), A, C)), Simplify())
    (memory,) = nodes(after, Allocate)
    assert (memory.dtype, memory.extents[0].value) == ("int32x4", 4)
    store = nodes(after, BufferStore)[0]
    assert store.indices[0] is i


def test_memory_is_scalar_where_an_access_is_scalar_or_may_be_misaligned() -> None:
    i, j = Var("i"), Var("j")
    for offset, read in ((0, lambda b: b[j]), (1, lambda b: b[Ramp(j, const(1), 4)])):
        buffer = local("L", 20)
        fill = loop(i, 4, BufferStore(buffer, A[Ramp(i * 4, const(1), 4)], (Ramp(i * 4 + offset, const(1), 4),)))
        value = read(buffer)
        index = j if value.dtype == "int32" else Ramp(j, const(1), 4)
        body = seq([BufferStore(buffer, const(0), (const(0),)), fill, loop(j, 12, BufferStore(C, value, (index,)))])
        (memory,) = nodes(rewritten(function(allocate(buffer, body), A, C)), Allocate)
        assert memory.dtype == "int32"


def test_a_branch_keeps_what_it_reads_alive() -> None:
    first, second, third = local("L"), local("M"), local("N")
    body = seq(
        [
            copy(first, A),
            copy(second, first, reverse=True),
            IfThenElse(A[0] > 1000, copy(C, first)),
            copy(third, second, reverse=True),
            copy(C, third),
        ]
    )
    func = function(allocate(first, allocate(second, allocate(third, body))), A, C)
    assert len(nodes(rewritten(func), Allocate)) == 2


def test_it_can_be_switched_off() -> None:
    func = chain(local("L"), local("M"), reverse=False)
    assert apply(func, StorageRewrite(), config={"tir.disable_storage_rewrite": True}) is func


def test_copies_of_one_allocation_are_told_apart() -> None:
    """Partitioning and virtual threads repeat statements, allocations included."""
    first, second, third = local("L"), local("M"), local("N")

    def piece(low: int) -> Stmt:
        body = seq([copy(first, A, reverse=True), copy(second, first, reverse=True), copy(third, second, reverse=True)])
        i = Var("i")
        use = loop(i, 4, BufferStore(C, third[i] + first[15 - i] + low, (i + low,)))
        return allocate(first, allocate(second, allocate(third, seq([body, use]))))

    around = local("S")
    body = seq([copy(around, A), piece(0), copy(C, around), piece(4), copy(around, C, reverse=True), piece(8)])
    func = function(allocate(around, seq([body, BufferStore(C, around[3], (const(15),))])), A, C)
    after = rewritten(func)
    variables = [n.buffer_var for n in nodes(after, Allocate)]
    assert len(set(variables)) == len(variables) == 4


def test_pieces_of_a_loop_that_allocate_the_same_buffers() -> None:
    m, n = local("M"), local("N")
    through_both = seq([copy(m, A), copy(n, m)])
    first = allocate(m, allocate(n, seq([through_both, copy(C, n)])))
    second = allocate(n, allocate(m, seq([copy(m, A), copy(n, m, reverse=True), copy(C, n, reverse=True)])))
    after = rewritten(function(seq([first, first, second]), A, C))
    variables = [x.buffer_var for x in nodes(after, Allocate)]
    assert len(set(variables)) == len(variables)
