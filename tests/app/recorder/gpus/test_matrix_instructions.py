"""Which thread has which element of a matrix, against emulation and algebra; banks of ``ldmatrix``, by brute force."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from app.gallery import load_gallery
from app.kernel_reports import KernelReport, MatrixMap
from app.recorder.gpus.matrix_instructions import MatrixUse, fragment_map, matrix_uses, operand_maps, row_maps
from compiler.driver.build import build
from compiler.driver.emulate import emulate
from compiler.runtime.arrays.ndarray import array
from compiler.runtime.modules.device_module import DeviceModule
from compiler.tir.script import from_source
from compiler.tir.statements.function import PrimFunc
from compiler.tir.warp_access import explain_kernels
from tests.app.recorder.gpus.test_device_code import answered

INSTRUCTIONS = [
    *((f"m16n8k{k}", *words) for k in (8, 16) for words in (("fp16", "fp16", "fp32"), ("bf16", "bf16", "fp32"))),
    *((f"m16n8k{k}", "tf32", "tf32", "fp32") for k in (4, 8)),
    *((form, "int8", "int8", "int32") for form in ("m8n8k16", "m16n8k16", "m16n8k32")),
    *((form, "uint4", "int4", "int32") for form in ("m8n8k32", "m16n8k32", "m16n8k64")),
    ("m8n8k4", "fp64", "fp64", "fp64"),
]
LOAD = """
@T.prim_func
def main(A: T.Buffer(({elements},), "{dtype}"), B: T.Buffer((32, {own}), "{dtype}")):
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.alloc_buffer(({elements},), "{dtype}", scope="shared")
    r = T.alloc_buffer(({own},), "{dtype}", scope="local")
    for i in range({elements} // 32):
        S[i * 32 + tx] = A[i * 32 + tx]
    T.evaluate(T.ptx_ldmatrix({transposed}, {count}, ".b16", r.data, 0, S.access_ptr("r"), {place}, dtype="{dtype}"))
    for i in range({own}):
        B[tx, i] = r[i]
"""


def load(
    place: str, count: int = 4, transposed: bool = False, dtype: str = "float16", elements: int = 1024
) -> PrimFunc:
    """Return a kernel of a warp that loads matrices, each lane from an index of ``tx``."""
    own = count * (2 if dtype == "float16" else 4)
    settings = {"place": place, "count": count, "transposed": transposed, "dtype": dtype, "elements": elements}
    module = from_source(LOAD.format(own=own, **settings))
    assert isinstance(module, PrimFunc)
    return module


def use_of(module: PrimFunc) -> MatrixUse:
    [device] = build(module, target="cuda").imported_modules
    assert isinstance(device, DeviceModule)
    [kernel] = explain_kernels(device.kernels)
    [use] = matrix_uses(kernel)
    return use


def places(map_: MatrixMap) -> set[tuple[int, int]]:
    return set(zip(map_.lanes, map_.numbers, strict=True))


@pytest.mark.parametrize("words", INSTRUCTIONS, ids=" ".join)
def test_every_element_is_in_one_register_of_one_thread(words: tuple[str, str, str, str]) -> None:
    maps = operand_maps(*words)
    m, n, k = (int(each) for each in words[0].replace("m", "").replace("n", " ").replace("k", " ").split())
    assert [(map_.name, map_.rows, map_.columns) for map_ in maps] == [("A", m, k), ("B", k, n), ("C and D", m, n)]
    for map_ in maps:
        elements = map_.rows * map_.columns
        own = elements // 32
        assert len(map_.lanes) == len(map_.numbers) == elements
        assert places(map_) == {(lane, number) for lane in range(32) for number in range(own)}
        # a register of an operand has neighbours along the sum
        cells = {(lane, number): at for at, (lane, number) in enumerate(zip(map_.lanes, map_.numbers, strict=True))}
        step = map_.columns if map_.name == "B" else 1
        for (lane, number), at in cells.items():
            if number % map_.per_register:
                assert cells[lane, number - 1] == at - step


def test_instructions_whose_layout_is_another_have_no_map() -> None:
    assert operand_maps("m8n8k4", "fp16", "fp16", "fp32") == []
    assert operand_maps("m16n8k16", "nothing", "fp16", "fp32") == []


@pytest.mark.parametrize(
    ("count", "transposed", "dtype"),
    [(1, False, "float16"), (2, True, "float16"), (4, True, "float16"), (4, False, "int8")],
)
def test_ldmatrix_puts_what_its_picture_says_into_registers(count: int, transposed: bool, dtype: str) -> None:
    """The place of every element, followed from memory, is where emulation finds it."""
    place = f"(tx * 5 % {8 * count}) * {16 if dtype == 'int8' else 8}"
    module = load(place, count, transposed, dtype)
    use = use_of(module)
    assert use.access is not None
    assert use.access.addresses is not None
    memory = np.arange(1024) % 128 if dtype == "int8" else np.arange(1024)
    result = array(np.zeros((32, count * (4 if dtype == "int8" else 2)), dtype))
    emulate(module, target="cuda")(array(memory.astype(dtype)), result)
    found = result.numpy()
    [lanes] = use.access.addresses
    assert (lanes < 0).tolist() == [lane >= 8 * count for lane in range(32)]
    size = use.access.site.element
    for map_ in use.matrices:
        assert map_.address_lane is not None
        for cell, (lane, number) in enumerate(zip(map_.lanes, map_.numbers, strict=True)):
            row, column = divmod(cell, map_.columns)
            at = lanes[map_.address_lane + row] // size + column
            assert found[lane, number] == memory[at]
    assert set().union(*map(places, use.matrices)) == {(lane, i) for lane in range(32) for i in range(found.shape[1])}


def test_registers_of_the_matrices_follow_each_other() -> None:
    assert [sorted(set(map_.numbers)) for map_ in row_maps(4, "float16", False)] == [[0, 1], [2, 3], [4, 5], [6, 7]]


def passes(place: Callable[[int], int]) -> int:
    """Return the worst conflict of four phases of eight rows of 16 bytes, word by word."""
    worst = 0
    for first in range(0, 32, 8):
        banks: dict[int, set[int]] = {}
        for lane in range(first, first + 8):
            for word in range(place(lane) // 2, place(lane) // 2 + 4):
                banks.setdefault(word % 32, set()).add(word)
        worst = max(worst, *(len(words) for words in banks.values()))
    return worst


def test_bank_conflicts_of_random_swizzles() -> None:
    rng = random.Random(3)
    met = set()
    for stride in (8, 16, 24, 32, 40, 64):
        turn, shift = rng.randrange(4), rng.choice([0, 1, 2])
        place = f"(tx % 16) * {stride} + ((tx // 16) ^ ((tx % 16 // {1 << shift}) & {turn})) * 8"
        access = use_of(load(place, elements=2048)).access
        assert access is not None
        expected = passes(lambda tx: eval(place, {"tx": tx}))  # noqa: B023
        assert access.ways == expected
        met.add(expected)
    assert len(met) > 2


def report(script: str) -> KernelReport:
    answer, _ = answered(script)
    assert not answer.problems
    device = answer.units[-1].device
    assert device is not None
    return device


def test_padding_takes_the_conflicts_out_of_the_example_and_lines_are_named() -> None:
    example = load_gallery().find("gpu-mma")
    assert example is not None
    script = example.script
    lines = script.splitlines()
    conflicts = []
    for padding in (0, 8):
        made = report(script.replace("64, 16, 0", f"64, 16, {padding}"))
        loads = [access for access in made.accesses if access.instruction.startswith("ldmatrix")]
        conflicts.append([access.ways for access in loads])
        assert {lines[access.line - 1].strip() for access in loads if access.line} == {
            'sch.tensorize(in_registers(copy, "write"), names[name])'
        }
        [product] = made.products
        assert product.instruction.startswith("mma.m16n8k16.row.col")
        assert [made.matrices[at].name for at in product.matrices] == ["A", "B", "C and D"]
        assert made.launches[0].moved >= made.launches[0].least == 2 * 64 * 64 * 2 + 64 * 64 * 4
    assert conflicts == [[2, 4], [1, 1]]


def test_fragments_of_wmma_hold_every_element_once_or_say_that_they_are_opaque() -> None:
    for scope, dtype in (("matrix_a", "float16"), ("matrix_b", "bfloat16"), ("accumulator", "float32")):
        map_ = fragment_map(f"wmma.{scope}", (16, 16, 16), dtype)
        assert places(map_) == {(lane, number) for lane in range(32) for number in range(8)}
    # the halves of B, and those of the result, are operands and results of two products m16n8k16
    _, right, result = operand_maps("m16n8k16", "fp16", "fp16", "fp32")
    for whole, half in (("matrix_b", right), ("accumulator", result)):
        map_ = fragment_map(f"wmma.{whole}", (16, 16, 16), "float16")
        for row in range(16):
            for column in range(16):
                part = row * 8 + column % 8
                cell = map_.lanes[row * 16 + column], map_.numbers[row * 16 + column]
                assert cell == (half.lanes[part], half.numbers[part] + column // 8 * 4)
    for shape, dtype in (((8, 32, 16), "float16"), ((16, 16, 16), "int8")):
        unknown = fragment_map("wmma.matrix_a", shape, dtype)
        assert (unknown.lanes, unknown.rows, unknown.columns) == ([], shape[0], shape[2])
        assert "nothing is known of this one" in unknown.note
