"""Products in x86's tile registers (AMX) that a schedule asks for."""

from __future__ import annotations

import shutil
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.classic.tir.intrinsics import amx
from compiler.classic.topi import x86_tensor_intrin
from compiler.ir.error import ArgumentError, BuildError, LoweringError
from compiler.runtime.modules.native_code import host_features, host_triple
from compiler.tir.interpreter import interpret
from tests.compiler.target.tile_programs import FEATURES, packed_product

SAPPHIRE_RAPIDS = "llvm -mtriple=x86_64-linux-gnu -mcpu=sapphirerapids"


def _tensorized(left: str = "uint8", right: str = "int8") -> tuple[te.Schedule, list[te.Tensor]]:
    a, b, _, c = packed_product(32, 32, 128, left, right)
    s = te.create_schedule(c.op)
    s[c].tensorize(c.op.axis[0], x86_tensor_intrin.amx_product(32, 32, 128, left, right))
    return s, [a, b, c]


def test_values_are_those_of_numpy() -> None:
    triple = host_triple()
    if not (triple.startswith("x86_64") and "linux" in triple and "avx2" in host_features()):
        pytest.skip("the programs are for x86-64 with AVX2, under Linux")
    if not host_features() >= FEATURES and shutil.which("cc") is None:
        pytest.skip("this processor has no AMX, and there is no C compiler for its emulation")
    command = [sys.executable, "-m", "tests.compiler.target.tile_programs"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(("left", "right"), list(amx.AMX_INTRINSICS))
def test_loops_and_assembly_show_the_instruction(left: str, right: str) -> None:
    s, tensors = _tensorized(left, right)
    signs = {"uint8": "u", "int8": "s"}
    instruction = "tdpbf16ps" if left == "bfloat16" else f"tdpb{signs[left]}{signs[right]}d"
    loops, built = str(tvm.lower(s, tensors)), tvm.build(s, tensors, SAPPHIRE_RAPIDS)
    assert "T.tile_configuration(16, 64, 16, 64, " in loops
    for text in (loops, built.get_source(), built.get_source("asm")):
        assert instruction in text
    assert " asm " not in built.get_source(), "on another processor LLVM would end the process"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=icelake-server", r"with AMX .* -mcpu=sapphirerapids"),
        ("llvm -mtriple=x86_64-pc-windows-msvc -mcpu=sapphirerapids", "under Linux"),
        ("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1", "x86-64 processors with AMX"),
        (
            f"{SAPPHIRE_RAPIDS} -mattr=-amx-int8",
            "tdpbusd needs a processor with AMX-INT8, such as -mcpu=sapphirerapids",
        ),
    ],
)
def test_other_targets_say_what_they_lack(target: str, message: str) -> None:
    s, tensors = _tensorized()
    with pytest.raises(BuildError, match=message):
        tvm.build(s, tensors, target)


def test_this_machine_says_what_it_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    from compiler.target.cpu import host_check

    s, tensors = _tensorized()
    built = tvm.build(s, tensors, SAPPHIRE_RAPIDS)
    monkeypatch.setattr(host_check, "host_features", lambda: frozenset({"avx512f"}))
    arrays = [tvm.nd.array(np.zeros([int(e) for e in t.shape], t.dtype)) for t in tensors]
    with pytest.raises(BuildError, match=r"uses AMX-INT8, which this CPU .*, without what is tensorized for AMX"):
        built(*arrays)
    with pytest.raises(BuildError, match=r"tile_configuration cannot be evaluated.*AMX"):
        interpret(tvm.lower(s, tensors)["main"], [array.numpy() for array in arrays])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((32, 48, 64), "need 9 tile registers"),
        ((32, 24, 64), "columns in blocks of 16"),
        ((32, 32, 66), "a depth in groups of 4"),
        ((0, 16, 64), "got 0 x 16 x 64"),
        ((16, 16, 64, "int8", "float16"), "got 'int8' by 'float16'"),
        ((16, 16, 64, "bfloat16", "int8"), "got 'bfloat16' by 'int8'"),
    ],
)
def test_products_that_do_not_fit_are_refused(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        amx.get_amx_intrin(*arguments)


def test_sums_in_registers_that_nothing_names_are_refused() -> None:
    a, b, _, c = packed_product(64, 32, 128, "uint8", "int8")
    s = te.create_schedule(c.op)
    sums = s.cache_write(c, "amx.tmm")
    i, j = sums.op.axis
    io, ii = s[sums].split(i, 32)
    s[sums].reorder(io, ii, j, sums.op.reduce_axis[0])
    s[sums].tensorize(ii, x86_tensor_intrin.dot_32x128x32_u8s8s32_sapphirerapids(128))
    with pytest.raises(LoweringError, match="'sums' must have the offset 0"):
        tvm.lower(s, [a, b, c])


@pytest.mark.parametrize("sizes", [(16,), (), (1,) * 18, (tir.Var("n"), 64)])
def test_a_configuration_has_rows_and_bytes_of_at_most_eight_tiles(sizes: tuple[object, ...]) -> None:
    params = [size for size in sizes if isinstance(size, tir.Var)]
    body = tir.Evaluate(tir.call_intrin("void", "tir.tile_configuration", *sizes))
    with pytest.raises(BuildError, match="expected the rows and the bytes of a row of 1 to 8 tiles"):
        tvm.build(tir.PrimFunc(params, body), target=SAPPHIRE_RAPIDS)


def test_an_instruction_of_a_newer_processor_is_refused() -> None:
    c, a, b = (tir.decl_buffer((16,), "int32", name=name) for name in "CAB")
    parts = [buffer.vload([0], "int32x16") for buffer in (c, a, b)]
    dot = tir.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", tir.const(3, "uint32"), *parts)
    with pytest.raises(BuildError, match="needs a processor with AVX512VNNI, such as -mcpu=cascadelake"):
        tvm.build(tir.PrimFunc([c, a, b], c.vstore([0], dot)), target="llvm -mtriple=x86_64-- -mcpu=skylake-avx512")


@pytest.mark.parametrize("dtype", ["bfloat16", "e4m3_float8"])
def test_a_pointer_to_an_element_of_a_narrow_type(dtype: str) -> None:
    a, b = (tir.decl_buffer((8,), dtype, name) for name in "AB")
    size = 2 if dtype == "bfloat16" else 1
    copied = tir.call_extern(
        "handle", "memcpy", b.access_ptr("w"), a.access_ptr("r", offset=4), tir.const(size * 4, "uint64")
    )
    kind = {"bfloat16": ml_dtypes.bfloat16, "e4m3_float8": ml_dtypes.float8_e4m3fn}[dtype]
    given, result = (tvm.nd.array(values.astype(kind)) for values in (np.arange(8.0), np.zeros(8)))
    tvm.build(tir.PrimFunc([a, b], tir.Evaluate(copied)), target="llvm")(given, result)
    np.testing.assert_array_equal(result.numpy().view(kind).astype("float32"), [4, 5, 6, 7, 0, 0, 0, 0])
