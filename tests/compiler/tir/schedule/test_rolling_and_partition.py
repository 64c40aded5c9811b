"""Partitioned loops, rolling buffers, copies at loops, and reductions of pairs: programs that compute what they did."""

import numpy as np
import pytest

import compiler as tvm
from compiler import te, topi
from compiler.tir.schedule import Schedule
from compiler.tir.schedule.error import ScheduleError
from compiler.tir.script import tir as T
from compiler.tir.statements.function import PrimFunc


@T.prim_func
def pools(A: T.Buffer((12, 12), "int32"), C: T.Buffer((8, 8), "int32")):
    B = T.alloc_buffer((10, 10), "int32")
    for yo, xo in T.grid(2, 2):
        for ax0, ax1, d0, d1 in T.grid(6, 6, 3, 3):
            with T.block("B"):
                vy = T.axis.spatial(10, yo * 4 + ax0)
                vx = T.axis.spatial(10, xo * 4 + ax1)
                v0, v1 = T.axis.remap("RR", [d0, d1])
                with T.init():
                    B[vy, vx] = T.min_value("int32")
                B[vy, vx] = T.max(B[vy, vx], A[vy + v0, vx + v1])
        for yi, xi, d0, d1 in T.grid(4, 4, 3, 3):
            with T.block("C"):
                vy = T.axis.spatial(8, yo * 4 + yi)
                vx = T.axis.spatial(8, xo * 4 + xi)
                v0, v1 = T.axis.remap("RR", [d0, d1])
                with T.init():
                    C[vy, vx] = 0
                C[vy, vx] = C[vy, vx] + B[vy + v0, vx + v1]


@T.prim_func
def product(A: T.Buffer((24, 20), "int32"), B: T.Buffer((20, 24), "int32"), C: T.Buffer((24, 24), "int32")):
    for i, j, k in T.grid(24, 24, 20):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func
def two_stages(A: T.Buffer((24, 16), "int32"), C: T.Buffer((24, 16), "int32")):
    B = T.alloc_buffer((24, 16), "int32")
    for i in range(24):
        for j in range(16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2
        for j in range(16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 1


@T.prim_func
def block_without_axes_in_a_block(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("row"):
            vi = T.axis.spatial(4, i)
            for j in range(6):
                with T.block("step"):
                    _vj = T.axis.opaque(6, j)
                    T.reads(A[vi])
                    T.writes(C[vi])
                    with T.block("element"):
                        T.reads(A[vi])
                        T.writes(C[vi])
                        C[vi] = A[vi] + 1


@T.prim_func
def guarded(A: T.Buffer((9,), "int32"), C: T.Buffer((8,), "int32")):
    B = T.alloc_buffer((9,), "int32")
    for o in range(4):
        for b_0, b_1 in T.grid(3, 1):
            with T.block("B"):
                v = T.axis.spatial(9, o * 2 + (b_0 + b_1))
                T.where(b_0 + b_1 < 2)
                B[v] = A[v] + 1
        for c in range(2):
            with T.block("C"):
                v = T.axis.spatial(8, o * 2 + c)
                C[v] = B[v]


@T.prim_func
def with_tails(A: T.Buffer((9, 7), "int32"), C: T.Buffer((4, 7), "int32")):
    B = T.alloc_buffer((9, 7), "int32")
    for o in range(4):
        for b, i, j in T.grid(3, 2, 4):
            with T.block("B"):
                v = T.axis.spatial(9, o * 2 + b)
                w = T.axis.spatial(7, i * 4 + j)
                T.where(i * 4 + j < 7)
                B[v, w] = A[v, w] + 1
        for b, j in T.grid(3, 7):
            with T.block("C"):
                v, w, k = T.axis.remap("SSR", [o, j, b])
                with T.init():
                    C[v, w] = 0
                C[v, w] = C[v, w] + B[v * 2 + k, w]


def outputs(program: PrimFunc | Schedule) -> list[np.ndarray]:
    """Return what a program makes of small whole numbers; its last parameter is the output."""
    mod = program.mod if isinstance(program, Schedule) else tvm.IRModule({"main": program})
    rng = np.random.default_rng(1)
    func = mod["main"]
    buffers = [func.buffer_map[param] for param in func.params]
    arrays = [tvm.nd.array(rng.integers(-9, 9, [int(d) for d in b.shape]).astype(b.dtype)) for b in buffers]
    tvm.build(mod, target="llvm")(*arrays)
    return [array.numpy() for array in arrays]


def assert_same(sch: Schedule, program: PrimFunc) -> None:
    for after, before in zip(outputs(sch), outputs(program), strict=True):
        np.testing.assert_array_equal(after, before)


def block_names(sch: Schedule) -> set[str]:
    names: set[str] = set()
    tvm.tir.stmt_functor.post_order_visit(
        sch.mod["main"].body, lambda n: names.add(n.name_hint) if isinstance(n, tvm.tir.Block) else None
    )
    return names


@pytest.mark.parametrize(
    ("factors", "extents"),
    [([3, None, 5], [3, 16, 5]), ([3, 5], [3, 5, 16]), ([None, 7], [17, 7]), ([-1, 1], [23, 1]), ([20, 4], [20, 4])],
)
@pytest.mark.parametrize("axis", [0, 1])
def test_a_partitioned_loop_computes_the_same(factors: list[int | None], extents: list[int], axis: int) -> None:
    sch = Schedule(product, debug_mask="all")
    loops = sch.loop_partition(sch.get_loops("C")[axis], factors)
    assert [int(sch.get(loop).extent) for loop in loops] == extents
    assert [int(sch.get(loop).min) for loop in loops] == [sum(extents[:at]) for at in range(len(extents))]
    assert_same(sch, product)


def test_a_partitioned_reduction_sets_its_initial_value_once() -> None:
    sch = Schedule(product, debug_mask="all")
    sch.loop_partition(sch.get_loops("C")[2], [6, None])
    assert_same(sch, product)
    assert sch.get(sch.get_block("C_k0")).init is not None
    assert sch.get(sch.get_block("C_k1")).init is None
    assert block_names(sch) >= {"C_k_common", "C_k0_partition", "C_k1_partition", "C_k0", "C_k1"}


def test_partitions_of_partitions_and_of_a_loop_of_two_stages() -> None:
    sch = Schedule(product, debug_mask="all")
    _, rest = sch.loop_partition(sch.get_loops("C")[0], [4, None])
    sch.loop_partition(rest, [7, None])
    assert_same(sch, product)
    sch = Schedule(two_stages, debug_mask="all")
    sch.loop_partition(sch.get_loops("B")[0], [10, None])
    assert_same(sch, two_stages)


def test_partitions_do_not_share_a_block_that_uses_no_variable_of_theirs() -> None:
    sch = Schedule(block_without_axes_in_a_block, debug_mask="all")
    sch.loop_partition(sch.get_loops("step")[0], [2, None])
    assert_same(sch, block_without_axes_in_a_block)


@pytest.mark.parametrize("factors", [[None, None], [30, None], [24, None], [0, 5], [20, 20]])
def test_factors_that_make_no_partition_are_refused(factors: list[int | None]) -> None:
    sch = Schedule(product)
    with pytest.raises(ScheduleError):
        sch.loop_partition(sch.get_loops("C")[0], factors)


def test_loops_with_annotations_are_not_partitioned() -> None:
    sch = Schedule(product)
    loop = sch.get_loops("C")[0]
    sch.annotate(loop, "note", 1)
    with pytest.raises(ScheduleError, match="annotation or thread binding"):
        sch.loop_partition(loop, [4, None])


def test_a_rolling_buffer_is_as_small_as_one_iteration_needs() -> None:
    sch = Schedule(pools, debug_mask="all")
    sch.rolling_buffer("B", 0)
    assert_same(sch, pools)
    (buffer,) = sch.get(sch.get_block("root")).alloc_buffers
    assert [int(dim) for dim in buffer.shape] == [6, 10]
    replayed = Schedule(pools)
    sch.trace.apply_to_schedule(replayed, remove_postproc=False)
    tvm.ir.assert_structural_equal(replayed.mod, sch.mod)


def test_nothing_rolls_where_no_iterations_overlap() -> None:
    sch = Schedule(two_stages)
    with pytest.raises(ScheduleError, match="rollable"):
        sch.rolling_buffer("B", 0)
    with pytest.raises(ScheduleError, match="output block"):
        sch.rolling_buffer("C", 0)


def test_nothing_rolls_that_an_iteration_left_out() -> None:
    with pytest.raises(ScheduleError, match="no rollable loop"):
        Schedule(guarded).rolling_buffer("B", 0)


def test_a_condition_on_another_dimension_lets_a_buffer_roll() -> None:
    sch = Schedule(with_tails)
    sch.rolling_buffer("B", 0)
    assert_same(sch, with_tails)


def test_copies_at_loops_hold_what_one_iteration_accesses() -> None:
    sch = Schedule(product, debug_mask="all")
    i, j, k = sch.get_loops("C")
    i_0, i_1 = sch.split(i, [None, 8])
    j_0, j_1 = sch.split(j, [None, 7])
    k_0, k_1 = sch.split(k, [None, 5])
    sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
    sch.read_at(k_0, sch.get_block("C"), 0, "local")
    sch.read_at(k_0, sch.get_block("C"), 1, "local")
    sch.write_at(j_0, sch.get_block("C"), 0, "local")
    assert block_names(sch) == {"root", "A_local", "B_local", "C_local", "C"}
    assert_same(sch, product)


@pytest.mark.parametrize(("scope", "extent"), [("shared", 24), ("local", 6)])
def test_a_copy_in_memory_that_threads_share_holds_what_all_of_them_read(scope: str, extent: int) -> None:
    sch = Schedule(product)
    i, j, k = sch.get_loops("C")
    i_0, i_1 = sch.split(i, [None, 6])
    sch.reorder(i_0, j, k, i_1)
    sch.bind(i_0, "threadIdx.x")
    copy = sch.get(sch.read_at(k, sch.get_block("C"), 0, scope))
    assert copy.writes[0].region[0].extent.value == extent


def test_a_result_is_not_copied_before_it_is_complete() -> None:
    sch = Schedule(product)
    _, _, k = sch.get_loops("C")
    k_0, _ = sch.split(k, [None, 5])
    with pytest.raises(tvm.TVMError, match="is a reduction over loop"):
        sch.write_at(k_0, sch.get_block("C"), 0, "local")


@pytest.mark.parametrize("best", ["argmax", "argmin"])
@pytest.mark.parametrize("inner", [0, 1])
def test_places_and_values_are_reduced_in_two_steps(best: str, inner: int) -> None:
    a = te.placeholder((6, 40), name="A", dtype="int32")
    func = te.create_prim_func([a, getattr(topi, best)(a, axis=1)])
    sch = Schedule(func, debug_mask="all")
    block = sch.get_child_blocks(sch.get_block("root"))[0]
    loops = sch.split(sch.get_loops(block)[1], [None, 8])
    sch.rfactor(loops[inner], 1)
    data, result = outputs(sch)
    np.testing.assert_array_equal(result, getattr(np, best)(data, axis=1))


def test_pairs_of_sums_are_reduced_in_two_steps() -> None:
    @T.prim_func
    def sums(A: T.Buffer((6, 40), "int32"), S: T.Buffer((6,), "int32"), Q: T.Buffer((6,), "int32")):
        for i, k in T.grid(6, 40):
            with T.block("sums"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = 0
                    Q[vi] = 0
                s: T.int32 = S[vi] + A[vi, vk]
                q: T.int32 = Q[vi] + A[vi, vk] * A[vi, vk]
                S[vi] = s
                Q[vi] = q

    sch = Schedule(sums, debug_mask="all")
    _, k = sch.get_loops("sums")
    sch.rfactor(sch.split(k, [None, 8])[1], 0)
    data, total, squares = outputs(sch)
    np.testing.assert_array_equal(total, data.sum(1))
    np.testing.assert_array_equal(squares, (data**2).sum(1))


@pytest.mark.parametrize(
    ("initial", "better"), [("0", ">="), ("-1", ">"), ("-1", "<=")], ids=["other start", "last of equals", "smallest"]
)
def test_pairs_of_another_kind_are_not_reduced_in_two_steps(initial: str, better: str) -> None:
    source = f"""
@T.prim_func
def main(A: T.Buffer((4, 8), "int32"), I: T.Buffer((4,), "int32"), V: T.Buffer((4,), "int32")):
    for i, k in T.grid(4, 8):
        with T.block("best"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                I[vi] = {initial}
                V[vi] = T.min_value("int32")
            place: T.int32 = T.Select(V[vi] {better} A[vi, vk], I[vi], vk)
            value: T.int32 = T.Select(V[vi] {better} A[vi, vk], V[vi], A[vi, vk])
            I[vi] = place
            V[vi] = value
"""
    sch = Schedule(tvm.script.from_source(source))
    with pytest.raises(ScheduleError, match="place and value"):
        sch.rfactor(sch.get_loops("best")[1], 0)


def test_partitioned_tiles_have_the_product_that_was_asked_for() -> None:
    for seed in range(20):
        sch = Schedule(product, seed=seed)
        factors = [int(sch.get(f)) for f in sch.sample_partitioned_tile(sch.get_loops("C")[0], 4, 2, 6)]
        assert np.prod(factors) == 24
        assert np.prod(factors[2:]) % 6 == 0
    sch = Schedule(product)
    with pytest.raises(tvm.TVMError, match="does not divide"):
        sch.sample_partitioned_tile(sch.get_loops("C")[0], 3, 1, 5)
