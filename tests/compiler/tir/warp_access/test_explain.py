"""Accesses of warps, against threads that run one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product
from typing import Any

import numpy as np
import pytest

from compiler import te
from compiler.driver.build import build
from compiler.driver.device_pipeline import split_for_device
from compiler.driver.emulate import emulate
from compiler.driver.lower import lower
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import array
from compiler.runtime.modules.device_module import DeviceModule
from compiler.target.target import Target
from compiler.tir.sanitizer.thread_source import ThreadSource
from compiler.tir.schedule import Schedule
from compiler.tir.transform.calls.kernel_code import KernelCode
from compiler.tir.warp_access import KernelAccesses, bank_ways, explain_kernels, pattern_of, sectors
from compiler.tir.warp_access.explain import outermost_launch
from tests.compiler.driver.gpu_programs import random_program


class RecordingThread:
    """A thread that notes the places of its accesses, and reads zeros."""

    def __init__(self) -> None:
        self.places: dict[int, list[int]] = defaultdict(list)
        self.sites: dict[int, Any] = {}

    def allocate(self, n: Any, size: int) -> None:
        """Nothing is stored."""

    def read(self, place: Any, view: Any, indices: tuple[Any, ...]) -> Any:
        self._note(place, indices)
        return 0.0 if np.ndim(indices[0]) == 0 else np.zeros(len(indices[0]))

    def write(self, place: Any, view: Any, indices: tuple[Any, ...], value: Any) -> None:
        self._note(place, indices)

    def _note(self, place: Any, indices: tuple[Any, ...]) -> None:
        self.places[id(place)].append(int(np.min(indices[0])))
        self.sites[id(place)] = place


def device_module(s: Any, args: list[Any]) -> IRModule:
    return split_for_device(lower(s, args), Target("cuda", host="llvm"), packed=False).device


def brute_force(module: IRModule) -> dict[tuple[str, bool], list[np.ndarray[Any, Any]]]:
    """Return the elements that the lanes of each warp access together, by buffer and direction.

    All lanes of the programs here do the same, so that the nth access of each lane is the warp's nth.
    """
    [(_, func)] = module.items()
    kernel = KernelCode(outermost_launch(func))
    axes = [*kernel.blocks, *kernel.threads]
    run = ThreadSource([kernel.variables[axis.tag] for axis in axes]).generator(kernel.code)
    rows: dict[tuple[str, bool], list[np.ndarray[Any, Any]]] = defaultdict(list)
    for block in product(*(range(axis.extent.value) for axis in kernel.blocks)):
        threads = [
            tuple(reversed(place))
            for place in product(*(range(axis.extent.value) for axis in reversed(kernel.threads)))
        ]
        for first in range(0, len(threads), 32):
            warp = []
            for place in threads[first : first + 32]:
                thread = RecordingThread()
                for _ in run(thread, *block, *place):
                    pass
                warp.append(thread)
            for key, site in warp[0].sites.items():
                lanes = [thread.places[key] for thread in warp]
                for together in zip(*lanes, strict=True):
                    rows[site.access.buffer.name, site.writes].append(np.array(together))
    return rows


def check(module: IRModule) -> KernelAccesses:
    """Compare what is computed with the threads' own accesses: total sectors by buffer and direction."""
    [kernel] = explain_kernels(module)
    rows, sizes = brute_force(module), {access.buffer: access.size for access in kernel.accesses}
    computed: dict[tuple[str, bool], float] = defaultdict(float)
    counted: dict[tuple[str, bool], float] = defaultdict(float)
    for access in kernel.accesses:
        assert access.addresses is not None
        assert access.exact
        computed[access.buffer, access.writes] += float(sectors(access.addresses, access.size).sum())
    for key, warps in rows.items():
        if key[0] in sizes:
            for places in warps:
                touched = {(p * 4 + byte) // 32 for p in places.tolist() for byte in range(sizes[key[0]])}
                counted[key] += len(touched)
    assert computed == counted
    assert kernel.least <= kernel.moved
    return kernel


def copy(index: Any, threads: int = 32, lanes: int = 1, extent: int = 256) -> IRModule:
    """Return a kernel that copies elements which a function of the position names."""
    A = te.placeholder((extent * 40,), name="A")
    B = te.compute((extent,), lambda i: A[index(i)], name="B")
    s = te.create_schedule(B.op)
    block, thread = s[B].split(B.op.axis[0], factor=threads * lanes)
    if lanes > 1:
        thread, lane = s[B].split(thread, factor=lanes)
        s[B].vectorize(lane)
    s[B].bind(block, te.thread_axis("blockIdx.x"))
    s[B].bind(thread, te.thread_axis("threadIdx.x"))
    return device_module(s, [A, B])


@pytest.mark.parametrize(
    ("index", "pattern", "count"),
    [
        (lambda i: i, "coalesced", 4),
        (lambda i: i * 2, "strided", 8),
        (lambda i: i * 8, "strided", 32),
        (lambda i: i * 33, "strided", 32),
        (lambda i: i // 32, "broadcast", 1),
        (lambda i: i * i % 255, "scattered", None),
        (lambda i: 255 - i, "coalesced", 4),
        (lambda i: i + 1, "coalesced", 5),
    ],
)
def test_sectors_of_a_copy(index: Any, pattern: str, count: int | None) -> None:
    kernel = check(copy(index))
    [load] = [access for access in kernel.accesses if not access.writes]
    assert load.pattern == pattern
    assert count is None or load.sectors == count


def test_vectors_move_more_at_once() -> None:
    kernel = check(copy(lambda i: i, lanes=4))
    [load] = [access for access in kernel.accesses if not access.writes]
    assert (load.size, load.sectors, load.pattern) == (16, 16, "coalesced")


def test_warps_that_are_not_full() -> None:
    kernel = check(copy(lambda i: i, threads=16))
    [load] = [access for access in kernel.accesses if not access.writes]
    assert load.sectors == 2


def matmul(tile: int = 8) -> IRModule:
    A, B = te.placeholder((16, 16), name="A"), te.placeholder((16, 16), name="B")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((16, 16), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    (bi, ti), (bj, tj) = (s[C].split(axis, factor=tile) for axis in C.op.axis)
    s[C].reorder(bi, bj, ti, tj)
    for axis, tag in zip((bi, bj, ti, tj), ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"), strict=True):
        s[C].bind(axis, te.thread_axis(tag))
    return device_module(s, [A, B, C])


def test_a_matrix_product() -> None:
    kernel = check(matmul())
    assert (kernel.blocks, kernel.threads) == (4, 64)
    assert kernel.flops == 2 * 16**3
    assert kernel.least == (16 * 16 * 2 + 16 * 16 * 2) * 4  # C is read and written
    assert kernel.moved == sum(float(sectors(a.addresses, a.size).sum()) * 32 for a in kernel.accesses)  # type: ignore[arg-type]


@pytest.mark.parametrize("pad", [0, 1])
def test_bank_conflicts_of_a_transposition(pad: int) -> None:
    A = te.placeholder((32, 32), name="A")
    B = te.compute((32, 32), lambda i, j: A[j, i], name="B")
    s = te.create_schedule(B.op)
    staged = s.cache_read(A, "shared", [B])
    s[staged].storage_align(staged.op.axis[0], 32, pad)
    ty, tx = te.thread_axis((0, 8), "threadIdx.y"), te.thread_axis((0, 32), "threadIdx.x")
    for stage in (staged, B):
        rows, columns = s[stage].op.axis
        rest, row = s[stage].split(rows, factor=8)
        s[stage].bind(row, ty)
        s[stage].bind(columns, tx)
    s[staged].compute_root()
    one = s[B].split(rest, nparts=1)[0]
    s[B].bind(one, te.thread_axis("blockIdx.x"))
    s[staged].compute_at(s[B], one)
    [kernel] = explain_kernels(device_module(s, [A, B]))
    [load] = [access for access in kernel.accesses if access.scope == "shared" and not access.writes]
    assert load.ways == (1 if pad else 32)


@pytest.mark.parametrize("first", [0, *(pytest.param(n, marks=pytest.mark.long) for n in (20, 40, 60))])
def test_random_schedules(first: int) -> None:
    """Where all threads do the same, so that the nth access of each lane is the warp's nth."""
    compared = 0
    for seed in range(first, first + 20):
        made = random_program(seed)
        module = device_module(made.schedule, made.args)
        if any(word in str(module) for word in ("if ", "if_then_else", "shuffle")):
            continue
        [kernel] = explain_kernels(module)
        assert all(access.addresses is not None for access in kernel.accesses)
        if all(access.exact for access in kernel.accesses):
            check(module)
            compared += 1
    assert compared


def places_of_lanes(module: IRModule) -> dict[tuple[str, bool], Counter[tuple[int, int]]]:
    """Return how often each lane of a warp accesses each byte, by buffer and direction, thread by thread."""
    [(_, func)] = module.items()
    kernel = KernelCode(outermost_launch(func))
    axes = [*kernel.blocks, *kernel.threads]
    run = ThreadSource([kernel.variables[axis.tag] for axis in axes]).generator(kernel.code)
    counted: dict[tuple[str, bool], Counter[tuple[int, int]]] = defaultdict(Counter)
    for block in product(*(range(axis.extent.value) for axis in kernel.blocks)):
        positions = product(*(range(axis.extent.value) for axis in reversed(kernel.threads)))
        for position, place in enumerate(positions):
            thread = RecordingThread()
            for _ in run(thread, *block, *reversed(place)):
                pass
            for key, elements in thread.places.items():
                site = thread.sites[key]
                lanes = counted[site.access.buffer.name, site.writes]
                lanes.update((position % 32, element * 4) for element in elements)
    return counted


def test_lanes_that_a_condition_keeps_away() -> None:
    """Where lanes do different things, each of them does what its thread does."""
    guarded = 0
    for seed in range(12):
        made = random_program(seed)
        module = device_module(made.schedule, made.args)
        [kernel] = explain_kernels(module)
        if "shuffle" in str(module) or not all(access.exact for access in kernel.accesses):
            continue
        if any(access.addresses is None for access in kernel.accesses):
            continue  # what memory holds decides
        computed: dict[tuple[str, bool], Counter[tuple[int, int]]] = defaultdict(Counter)
        for access in kernel.accesses:
            assert access.addresses is not None
            rows, lanes = np.nonzero(access.addresses >= 0)
            busy = zip(lanes.tolist(), access.addresses[rows, lanes].tolist(), strict=True)
            computed[access.buffer, access.writes].update(busy)
        traced = {key: places for key, places in places_of_lanes(module).items() if key in computed}
        assert traced == {key: places for key, places in computed.items() if places}, f"seed {seed}: {module}"
        guarded += "if " in str(module) or "if_then_else" in str(module)
    assert guarded > 2


def test_words_of_a_bank() -> None:
    lanes = np.arange(32)
    for stride, ways in ((0, 1), (1, 1), (2, 2), (3, 1), (16, 16), (32, 32), (33, 1)):
        assert bank_ways((lanes * stride * 4)[None, :], 4).tolist() == [ways], stride
    assert bank_ways((lanes * 16)[None, :], 16).tolist() == [1]  # each quarter of a warp fills all banks once
    assert bank_ways(np.full((1, 32), -1), 4).tolist() == [0]


def test_random_places_against_sets() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 4, 8, 16):
        places = rng.integers(0, 40, (200, 32)) * size
        places[rng.random(places.shape) < 0.2] = -1
        for row, count in zip(places, sectors(places, size), strict=True):
            assert count == len({(p + b) // 32 for p in row.tolist() if p >= 0 for b in range(size)})
        if size == 4:
            for row, ways in zip(places, bank_ways(places, size), strict=True):
                words = {p // 4 for p in row.tolist() if p >= 0}
                assert ways == max([0, *(sum(w % 32 == bank for w in words) for bank in range(32))])


def test_a_warp_without_a_busy_lane() -> None:
    assert pattern_of(np.full((2, 32), -1), 4) == "idle"


def test_a_layout_exchanged_by_xor_takes_the_conflicts_out_of_a_transposition() -> None:
    A = te.placeholder((64, 64), "float32", "A")
    B = te.compute((64, 64), lambda i, j: A[j, i], name="B")
    ways = []
    for swizzled in (False, True):
        sch = Schedule(te.create_prim_func([A, B]))
        block = sch.get_block("B")
        (i_0, i_1), (j_0, j_1) = (sch.split(loop, [None, 32]) for loop in sch.get_loops(block))
        sch.reorder(i_0, j_0, i_1, j_1)
        sch.bind(i_0, "blockIdx.y")
        sch.bind(j_0, "blockIdx.x")
        shared = sch.cache_read(block, 0, "shared")
        sch.compute_at(shared, j_0)
        for rows, columns in ((i_1, j_1), sch.get_loops(shared)[-2:]):
            _, row = sch.split(rows, [None, 8])
            sch.bind(row, "threadIdx.y")
            sch.bind(columns, "threadIdx.x")
        if swizzled:
            sch.transform_layout(
                shared,
                ("write", 0),
                lambda i, j: (i, j // 32 * 32 + (j % 32 ^ i % 32)),
                assume_injective_transform=True,
            )
        given = np.random.default_rng(0).random((64, 64), "float32")
        result = array(np.zeros((64, 64), "float32"))
        emulate(sch.mod, target="cuda")(array(given), result)
        np.testing.assert_array_equal(result.numpy(), given.T)
        [device] = build(sch.mod, target="cuda").imported_modules
        assert isinstance(device, DeviceModule)
        [kernel] = explain_kernels(device.kernels)
        ways += [access.ways for access in kernel.accesses if access.scope == "shared" and not access.writes]
    assert ways == [32, 1]
