"""Scalable vectors and accesses with predicates: nodes, text, simplification, vectorized loops, machine code."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compiler.arith import Analyzer
from compiler.driver.build import build
from compiler.ir.error import ArgumentError, BuildError, DTypeError, InternalError, LoweringError
from compiler.ir.expr.primexpr import Broadcast, PrimExpr, Ramp, Var, const
from compiler.ir.serialization.json_format import load_json, save_json
from compiler.ir.structural import assert_structural_equal
from compiler.runtime.arrays.ndarray import array
from compiler.target.target import Target
from compiler.tir.expressions import op as tir
from compiler.tir.interpreter import interpret
from compiler.tir.script import from_source
from compiler.tir.script.source import ScriptError
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform import VectorizeLoop
from tests.compiler.tir.transform.programs import apply

SVE = "llvm -mtriple=aarch64-linux-gnu -mattr=+sve"
RISC_V = "llvm -mtriple=riscv64-linux-gnu -mattr=+m,+a,+f,+d,+v"
PREDICATED = """
@T.prim_func
def main(A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32"), n: T.int32):
    for i in range(3):
        B.vstore([T.Ramp(i * 4, 1, 4)],
                 A.vload([T.Ramp(i * 4, 1, 4)], predicate=T.get_active_lane_mask("boolx4", i * 4, n))
                 + T.Broadcast(T.float32(1), 4),
                 predicate=T.get_active_lane_mask("boolx4", i * 4, n))
"""
SCALABLE = """
@T.prim_func
def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32"), n: T.int32):
    for i in T.serial((n + T.vscale() * 4 - 1) // (T.vscale() * 4)):
        for j in T.vectorized(T.vscale() * 4):
            if i * (T.vscale() * 4) + j < n:
                B[i * (T.vscale() * 4) + j] = A[i * (T.vscale() * 4) + j] * T.float32(2) + T.Cast("float32", j)
"""


def _lanes(count: int) -> PrimExpr:
    return tir.vscale() * count


def test_lanes_are_multiples_of_vscale() -> None:
    ramp = Ramp(0, 1, 4 * tir.vscale())
    assert ramp.dtype == "int32xvscalex4"
    assert_structural_equal(ramp.lanes, tir.vscale() * 4)
    assert Broadcast(const(1.0), _lanes(8)).dtype == "float32xvscalex8"
    assert (Broadcast(1, _lanes(4)) < Broadcast(2, _lanes(4))).dtype == "boolxvscalex4"
    assert (Broadcast(1, _lanes(4)) + 1).dtype == "int32xvscalex4"
    assert ramp.lanes.a.equal(tir.vscale())  # one number for the whole program
    assert not ramp.lanes.equal(tir.vscale())
    for lanes in (Var("n", "int32"), tir.vscale(), tir.vscale() * tir.vscale(), tir.vscale() * 4 + 1):
        with pytest.raises(ArgumentError, match="scalable lanes"):
            Ramp(0, 1, lanes)
    with pytest.raises(DTypeError):
        Broadcast(1, _lanes(4)) + Broadcast(1, 4)


def test_predicates_have_the_lanes_of_their_access() -> None:
    buffer = decl_buffer((16,), "float32", "A")
    rows = Ramp(0, 1, 4)
    mask = Broadcast(const(True), 4)
    assert BufferLoad(buffer, [rows], mask).dtype == "float32x4"
    for wrong in (Broadcast(const(True), 8), Broadcast(const(1), 4), Broadcast(const(True), _lanes(4))):
        with pytest.raises(DTypeError):
            BufferLoad(buffer, [rows], wrong)
        with pytest.raises(DTypeError):
            BufferStore(buffer, Broadcast(const(1.0), 4), [rows], wrong)
    long, ones = Ramp(0, 1, _lanes(4)), Broadcast(const(1.0), _lanes(4))
    with pytest.raises(DTypeError, match="mask dtype and value dtype must both be scalable"):
        BufferStore(buffer, ones, [long], mask)
    with pytest.raises(DTypeError, match="mask dtype and load indices must both be scalable"):
        BufferLoad(buffer, [long], mask)
    with pytest.raises(DTypeError, match="non-scalable data into scalable"):
        BufferStore(buffer, Broadcast(const(1.0), 4), [Ramp(0, 1, _lanes(4))])
    with pytest.raises(DTypeError, match="both be scalable"):
        BufferLoad(decl_buffer((4,), "float32xvscalex4"), [Ramp(0, 1, _lanes(4))])


@pytest.mark.parametrize("text", [PREDICATED, SCALABLE])
def test_text_and_json_read_back(text: str) -> None:
    func = from_source(text)
    assert_structural_equal(from_source(func.script()), func)
    assert_structural_equal(load_json(save_json(func)), func)


@pytest.mark.parametrize("count", [0, 3, 7, 10])
def test_only_active_lanes_are_read_and_stored(count: int) -> None:
    func: PrimFunc = from_source(PREDICATED)
    data = np.arange(10, dtype="float32")
    expected = np.where(np.arange(10) < count, data + 1, -1).astype("float32")
    interpreted = np.full(10, -1, "float32")
    interpret(func, [data, interpreted, count])
    np.testing.assert_array_equal(interpreted, expected)
    built = array(np.full(10, -1, "float32"))
    build(func, target="llvm")(array(data), built, count)
    np.testing.assert_array_equal(built.numpy(), expected)


def test_a_predicate_that_reads_memory_is_bound_first() -> None:
    """Passes look for what an access reads in its value and indices."""
    reads = """
@T.prim_func
def main(A: T.Buffer((16,), "float32"), M: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(4):
        B.vstore([T.Ramp(i * 4, 1, 4)], A[i * 4:i * 4 + 4], predicate=M[i * 4:i * 4 + 4] > T.Broadcast(T.float32(0), 4))
"""
    with pytest.raises(ScriptError, match=r"BufferStore: the predicate reads M.*; bind its value to a variable"):
        from_source(reads)
    bound = reads.replace(
        "B.vstore", "mask: T.boolx4 = M[i * 4:i * 4 + 4] > T.Broadcast(T.float32(0), 4)\n        B.vstore"
    )
    bound = re.sub("predicate=M.*", "predicate=mask)", bound)
    a, mask, b = (np.random.default_rng(seed).standard_normal(16).astype("float32") for seed in range(3))
    expected, result = np.where(mask > 0, a, b), array(b)
    build(from_source(bound), target="llvm")(array(a), array(mask), result)
    np.testing.assert_array_equal(result.numpy(), expected)


def test_branches_of_lanes_become_predicates() -> None:
    with Target(SVE):
        text = str(apply(from_source(SCALABLE), VectorizeLoop()))
    assert text.count("predicate=T.get_active_lane_mask") == 2
    assert "T.vectorized" not in text
    with Target("llvm -mcpu=haswell"), pytest.raises(LoweringError, match="Failed to vectorize loop with extent"):
        apply(from_source(SCALABLE), VectorizeLoop())


@pytest.mark.parametrize(("target", "instructions"), [(SVE, r"ld1w|whilel"), (RISC_V, r"vle32\.v|vsetvli")])
def test_machine_code_has_no_fixed_length(target: str, instructions: str) -> None:
    with Target(target):
        assembly = build(from_source(SCALABLE), target=target).get_source("asm")
    assert len(set(re.findall(instructions, assembly))) == 2, assembly


def test_languages_without_masks_refuse() -> None:
    with pytest.raises(BuildError, match="predicates"):
        build(from_source(PREDICATED), target="c")


def test_simplification_of_scalable_vectors() -> None:
    simplify = Analyzer().simplify
    lanes = _lanes(4)
    assert_structural_equal(simplify(Ramp(1, 1, lanes) + Broadcast(2, lanes)), Ramp(3, 1, lanes))
    assert_structural_equal(simplify(Ramp(0, 1, lanes) + Ramp(2, 3, lanes)), Ramp(2, 4, lanes))
    assert_structural_equal(simplify(Broadcast(8, lanes) // Broadcast(2, lanes)), Broadcast(4, lanes))
    quotient = Ramp(0, 1, lanes) // Broadcast(64, lanes)
    assert_structural_equal(simplify(quotient), quotient)
    assert Analyzer().can_prove(tir.vscale() * 4 < tir.vscale() * 8)


@pytest.mark.parametrize(
    ("element", "extent", "index", "lanes", "message"),
    [
        ("float32", "T.vscale() * 4", "j * 4:j * 4 + 4", "4", "Creating scalable vectors from existing vectors"),
        ("float32", "4", "j * T.vscale() * 4:(j + 1) * T.vscale() * 4", "T.vscale() * 4", "existing scalable vectors"),
        ("float32xvscalex4", "4", "j", "T.vscale() * 4", "over scalable buffer elements"),
    ],
)
def test_vectors_do_not_multiply_with_scalable_ones(
    element: str, extent: str, index: str, lanes: str, message: str
) -> None:
    ramp = "T.Ramp(j * T.vscale() * 4, 1, T.vscale() * 4)" if "(j + 1)" in index else index
    func = from_source(
        f"""
@T.prim_func
def main(A: T.Buffer((128,), "{element}")):
    for j in T.vectorized({extent}):
        A[{ramp}] = T.Broadcast(T.float32(1), {lanes})
"""
    )
    with Target(SVE), pytest.raises(InternalError, match=message):
        apply(func, VectorizeLoop())
