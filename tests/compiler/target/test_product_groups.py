"""Products that unrolled statements add one after another become the instruction that adds two or four of them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.ir.expr.primexpr import Cast, PrimExpr, Ramp, const
from compiler.ir.instrument import CodeForm, Instrument, instrumented
from compiler.target.codegen.llvm.selection.product_groups import grouped_products
from compiler.target.target import Target
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import Evaluate, Stmt
from tests.machines import require

ROWS, COLUMNS, DEPTH = 4, 32, 48
TYPES = [("uint8", "int8"), ("int8", "uint8"), ("int8", "int8"), ("uint8", "uint8"), ("int16", "int16")]
Weight = Callable[[Any, Any], Any]
Made = tuple[te.Schedule, list[te.Tensor]]


def product(first: str, second: str, shape: tuple[int, ...], at: Callable[..., Any], unrolled: int = 4) -> Made:
    """Return a product of matrices whose innermost loop, over so many products, is written out for each vector."""
    a, b = te.placeholder((ROWS, DEPTH), first, name="a"), te.placeholder(shape, second, name="b")
    k = te.reduce_axis((0, DEPTH), name="k")
    c: Any = te.compute(
        (ROWS, COLUMNS), lambda i, j: te.sum(a[i, k].astype("int32") * b[at(j, k)].astype("int32"), axis=k), name="c"
    )
    s = te.create_schedule(c.op)
    i, j = c.op.axis
    jo, ji = s[c].split(j, factor=16)
    ko, ki = s[c].split(k, factor=unrolled)
    s[c].reorder(jo, ko, i, ji, ki)
    s[c].unroll(i)
    s[c].unroll(ki)
    s[c].vectorize(ji)
    return s, [a, b, c]


LAYOUTS: dict[str, tuple[tuple[int, ...], Callable[..., Any]]] = {
    "in fours": ((COLUMNS // 16, DEPTH // 4, 16, 4), lambda j, k: (j // 16, k // 4, j % 16, k % 4)),
    "rows": ((DEPTH, COLUMNS), lambda j, k: (k, j)),
    "columns": ((COLUMNS, DEPTH), lambda j, k: (j, k)),
}


def numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return numbers of a data type, its least and its greatest among them."""
    info = np.iinfo(dtype)
    made = np.random.default_rng(0).integers(info.min, info.max, shape, dtype, endpoint=True)
    made.ravel()[::3], made.ravel()[1::7] = info.max, info.min
    return made


@pytest.mark.sample(10)
@pytest.mark.parametrize("cpu", ["x86-64", "haswell", "skylake-avx512", "icelake-server"])
@pytest.mark.parametrize("types", TYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("unrolled", [1, 3, 4, 6, 8])
def test_sums_are_the_same(cpu: str, types: tuple[str, str], layout: str, unrolled: int) -> None:
    require(target := f"llvm -mcpu={cpu}")
    s, args = product(*types, *LAYOUTS[layout], unrolled)
    a, b = (numbers(tuple(int(d) for d in arg.shape), arg.dtype) for arg in args[:2])
    result = tvm.nd.empty((ROWS, COLUMNS), "int32")
    tvm.build(s, args, target)(tvm.nd.array(a), tvm.nd.array(b), result)
    at = LAYOUTS[layout][1]
    weight = np.array([[b[at(j, k)] for j in range(COLUMNS)] for k in range(DEPTH)]).astype("int64")
    np.testing.assert_array_equal(result.numpy(), (a.astype("int64") @ weight).astype("int32"))


def instructions(made: Made, target: str) -> set[str]:
    """Return which instructions of those that add products a program has."""
    text = tvm.build(*made, target).get_source("asm")
    return set(re.findall(r"\b(vpdpbusd|v?pmaddwd|vpdpwssd|v?pmulld|usdot|sdot|udot)\b", text))


@pytest.mark.parametrize(
    ("target", "types", "layout", "expected"),
    [
        ("llvm -mcpu=icelake-server", ("uint8", "int8"), "in fours", {"vpdpbusd"}),
        ("llvm -mcpu=icelake-server", ("int8", "uint8"), "in fours", {"vpdpbusd"}),
        ("llvm -mcpu=icelake-server", ("uint8", "int8"), "rows", {"vpdpbusd"}),
        ("llvm -mcpu=alderlake", ("uint8", "int8"), "in fours", {"vpdpbusd"}),
        ("llvm -mcpu=icelake-server", ("int16", "int16"), "rows", {"vpdpwssd"}),
        ("llvm -mcpu=skylake-avx512", ("uint8", "int8"), "in fours", {"vpmaddwd"}),
        ("llvm -mcpu=haswell", ("int16", "int16"), "rows", {"vpmaddwd"}),
        ("llvm -mcpu=x86-64", ("int16", "int16"), "rows", {"pmaddwd"}),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-v1", ("uint8", "int8"), "in fours", {"usdot"}),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", ("int8", "int8"), "in fours", {"sdot"}),
    ],
)
def test_instructions_of_processors(target: str, types: tuple[str, str], layout: str, expected: set[str]) -> None:
    assert instructions(product(*types, *LAYOUTS[layout]), target) == expected


def test_of_eight_products_four_are_one_group_and_four_another() -> None:
    made = product("uint8", "int8", *LAYOUTS["in fours"], 8)
    assert instructions(made, "llvm -mcpu=icelake-server") == {"vpdpbusd"}


def test_what_is_added_to_other_places_meanwhile_stays_apart() -> None:
    """Sums of another row stand between: each statement is on its own."""
    s, args = product("uint8", "int8", *LAYOUTS["rows"])
    jo, ko, i, ji, ki = s[args[2]].leaf_iter_vars
    s[args[2]].reorder(jo, ko, ki, i, ji)
    assert "vpdpbusd" not in instructions((s, args), "llvm -mcpu=icelake-server")


C, D, WIDE = decl_buffer((64,), "int32", "C"), decl_buffer((64,), "int32", "D"), decl_buffer((64,), "int64", "W")
A, B = decl_buffer((64,), "uint8", "A"), decl_buffer((64,), "int8", "B")


def vector(buffer: Buffer, first: int = 0) -> BufferLoad:
    return BufferLoad(buffer, (Ramp(const(first), const(1), 16),))


def addition(
    to: BufferLoad | None = None, before: BufferLoad | None = None, factor: PrimExpr | None = None, **more: Any
) -> BufferStore:
    """Return a statement that adds a product of bytes to a vector, or to another one ``before``."""
    to = vector(C) if to is None else to
    product = Cast(to.dtype, vector(A) if factor is None else factor) * Cast(to.dtype, vector(B))
    return BufferStore(to.buffer, (to if before is None else before) + product, to.indices, **more)


@pytest.mark.parametrize(
    ("stmts", "left"),
    [
        ([addition()] * 4, 1),
        ([addition()] * 9, 3),
        ([addition()] * 3, 3),
        ([addition(), addition(), addition(vector(C, 16)), addition(), addition()], 5),
        ([addition(), addition(), addition(vector(D)), addition(), addition()], 5),
        ([addition(before=vector(D))] * 4, 4),
        ([addition(before=vector(C, 16))] * 4, 4),
        ([addition(vector(WIDE))] * 4, 4),
        ([addition(predicate=const(True, "boolx16"))] * 4, 4),
        ([addition(factor=Cast("uint8x16", vector(C)))] * 4, 4),
        ([addition(BufferLoad(C, (Ramp(BufferLoad(C, (const(0),)), const(1), 16),)))] * 4, 4),
        ([addition(), addition(), Evaluate(const(0)), addition(), addition()], 5),
    ],
)
def test_statements_that_are_groups(stmts: list[Stmt], left: int) -> None:
    assert len(grouped_products(stmts, Target("llvm -mcpu=icelake-server"))) == left
    others = grouped_products(stmts, Target("llvm -mtriple=riscv64-linux-gnu"))
    assert others == [(stmt, stmt) for stmt in stmts]


class _Emitted(Instrument):
    """Keeps the LLVM IR, with the lines of the loops that it comes from."""

    text = ""

    def code_generated(self, form: CodeForm, language: str, text: str, milliseconds: float) -> None:
        if form == "emitted":
            self.text = text


def test_instructions_of_a_group_come_from_the_line_of_its_first_product() -> None:
    s, args = product("uint8", "int8", *LAYOUTS["in fours"])
    lowered, kept = tvm.lower(s, args), _Emitted()
    with instrumented(kept):
        tvm.build(lowered, target="llvm -mcpu=icelake-server")
    places = re.findall(r"call <16 x i32> @\S*vpdpbusd.*!dbg (!\d+)", kept.text)
    lines = {int(re.findall(rf"^{place} = !DILocation\(.*line: (\d+)", kept.text, re.MULTILINE)[0]) for place in places}
    assert len(places) == ROWS
    assert lines
    assert 0 not in lines
