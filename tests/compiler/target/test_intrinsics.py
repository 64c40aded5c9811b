"""Every intrinsic computes what its NumPy reference computes, and own vector code is accurate."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.driver.build import build
from compiler.ir.expr.primexpr import Broadcast, Call, PrimExpr, const
from compiler.ir.module import IRModule
from compiler.ir.op import CallEffect, Op, registered_ops
from compiler.runtime.modules.native_code import host_features
from compiler.target.codegen.llvm.intrinsics import INTRINSICS
from compiler.target.codegen.llvm.selection.vector_math import VECTOR_FUNCTIONS
from compiler.tir.expressions import builtin, named_calls, op
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Evaluate
from tests.compiler.target.kernels import compile_module, elementwise, evaluate

Array = np.ndarray[Any, Any]
COUNT = 64

DOMAINS: dict[str, tuple[float, float]] = {
    "log": (1e-3, 50),
    "log2": (1e-3, 50),
    "log10": (1e-3, 50),
    "log1p": (-0.9, 50),
    "sqrt": (0, 50),
    "rsqrt": (1e-2, 50),
    "asin": (-1, 1),
    "acos": (-1, 1),
    "atanh": (-0.95, 0.95),
    "acosh": (1, 50),
    "pow": (0.1, 5),
    "exp10": (-4, 4),
}
UNARY = (
    "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
    "sigmoid erf floor ceil trunc round nearbyint fabs isnan"
)
BINARY = "pow fmod atan2 copysign hypot nextafter"
TOLERANCE = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-13}


def inputs(name: str, dtype: str, seed: int) -> Array:
    low, high = DOMAINS.get(name, (-6, 6))
    return np.random.default_rng(seed).uniform(low, high, COUNT).astype(dtype)


def call(name: str, *args: PrimExpr) -> PrimExpr:
    dtype = "bool" if name == "isnan" else args[0].dtype
    if name == "isnan" and "x" in args[0].dtype:
        dtype += args[0].dtype[args[0].dtype.index("x") :]
    return Call(dtype, Op.get("tir." + name), args)


@pytest.mark.sample(3)
@pytest.mark.parametrize("lanes", [1, 8])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", UNARY.split())
def test_unary(name: str, dtype: str, lanes: int) -> None:
    a = inputs(name, dtype, 1)
    result = "bool" if name == "isnan" else dtype
    wanted = np.asarray(Op.get("tir." + name).reference(a)).astype(result)  # type: ignore[misc]
    actual = evaluate(lambda x: call(name, x), [a], result, lanes)
    np.testing.assert_allclose(actual, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("name", BINARY.split())
def test_binary(name: str, dtype: str, lanes: int) -> None:
    a, b = inputs(name, dtype, 2), inputs(name, dtype, 3)
    wanted = Op.get("tir." + name).reference(a, b)  # type: ignore[misc]
    actual = evaluate(lambda x, y: call(name, x, y), [a, b], dtype, lanes)
    rtol = 0 if name == "nextafter" else TOLERANCE[dtype]
    np.testing.assert_allclose(actual, wanted, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_fma_and_ldexp(dtype: str) -> None:
    a, b, c = (inputs("exp", dtype, seed) for seed in (4, 5, 6))
    wide = a.astype("longdouble") * b + c
    np.testing.assert_allclose(evaluate(op.fma, [a, b, c], dtype), wide.astype(dtype), rtol=TOLERANCE[dtype])
    shifts = np.random.default_rng(7).integers(-6, 6, COUNT).astype("int32")
    np.testing.assert_array_equal(evaluate(op.ldexp, [a, shifts], dtype), np.ldexp(a, shifts))


def test_halves_that_are_chosen_are_not_converted_in_between() -> None:
    a, b = te.placeholder((64,), "float16", "a"), te.placeholder((64,), "float16", "b")

    def clipped(i: Any) -> PrimExpr:
        sums = op.fminimum(a[i] + b[i], const(6, "float16"))
        return op.fmaximum(sums, const(-6, "float16")).astype("float32")

    c = te.compute((64,), clipped, "c")
    module = build(te.create_schedule(c.op), [a, b, c], target="llvm")
    assert "fptrunc" not in module.get_source("ll")
    x, y = (np.random.default_rng(seed).normal(scale=5, size=64).astype("float16") for seed in (0, 1))
    x[:4], y[2:6] = [np.nan, 6e4, -np.inf, -0.0], 6e4
    result = tvm.nd.array(np.zeros(64, "float32"))
    module(tvm.nd.array(x), tvm.nd.array(y), result)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(result.numpy(), np.clip(x + y, np.float16(-6), np.float16(6)).astype("float32"))


def units_apart(actual: Array, exact: Array) -> float:
    """Return the largest distance in units of the last place of the exact value."""
    spacing = np.spacing(np.abs(exact.astype(actual.dtype)))
    return float(np.max(np.abs(actual.astype("longdouble") - exact) / spacing))


@pytest.mark.parametrize(("dtype", "wide"), [("float32", "float64"), ("float64", "longdouble")])
@pytest.mark.parametrize(("name", "low", "high"), [("exp", -80, 80), ("log", 1e-30, 1e30), ("sigmoid", -80, 80)])
def test_vector_functions_are_accurate(name: str, low: float, high: float, dtype: str, wide: str) -> None:
    if name == "log":
        a = np.geomspace(low, high, 1 << 16).astype(dtype)
    else:
        a = np.linspace(low, high, 1 << 16).astype(dtype)
    exact = Op.get("tir." + name).reference(a.astype(wide))  # type: ignore[misc]
    assert units_apart(evaluate(lambda x: call(name, x), [a], dtype, 16), exact) <= 3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["tanh", "erf"])
@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=native"])
def test_quotients_of_polynomials_are_off_by_few_units_and_end_at_one(target: str, name: str, dtype: str) -> None:
    a = np.concatenate([-np.geomspace(12, 1e-30, 1 << 15), np.linspace(0, 10, 15 << 15)]).astype(dtype)
    a[:4] = np.nan, np.inf, -np.inf, 3e38
    exact = Op.get("tir." + name).reference(a.astype("float64" if dtype == "float32" else "longdouble"))  # type: ignore[misc]
    found = evaluate(lambda x: call(name, x), [a], dtype, 16, target)
    is_fused = "native" in target and "fma" in host_features()
    most = {"tanh": 5, "erf": 6}[name] + (not is_fused) if dtype == "float32" else 3
    assert units_apart(found[1:], exact[1:]) <= most
    assert np.isnan(found[0])
    assert np.abs(found[1:]).max() == 1


def test_sigmoids_are_right_where_powers_of_e_overflow() -> None:
    a = np.float32([-88.6, -88.9, -89.2, -150, -np.inf, 88, 89, 150, np.inf, np.nan, -87.4, -86.5, 0, -0.0, 1e-40, -20])
    with np.errstate(over="ignore"):
        exact = 1 / (1 + np.exp(-a.astype("float64")))
    found = evaluate(lambda x: call("sigmoid", x), [a], "float32", 16)
    np.testing.assert_allclose(found, exact, rtol=3e-7, atol=3e-39)
    assert not found[3:5].any()


@pytest.mark.parametrize("lanes", [8, 16, 48])
def test_single_powers_of_e_are_off_by_little_more_than_a_unit(lanes: int) -> None:
    special = np.float32([0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 88.8, -103.5, -150, 1e-40, 89])
    a = np.concatenate([np.resize(special, 48), np.linspace(-104, 88.7, 48 << 10, dtype="float32")])
    with np.errstate(over="ignore"):
        exact = np.exp(a.astype("float64"))
        rounded = exact.astype("float32")
    found = evaluate(lambda x: call("exp", x), [a], "float32", lanes, "llvm -mcpu=native")
    assert units_apart(found[48:], exact[48:]) < 1.25
    np.testing.assert_allclose(found[:48], rounded[:48], rtol=1e-7, atol=2e-45)


@pytest.mark.parametrize(("lanes", "is_scaled"), [(16, True), (48, True), (8, False)])
def test_powers_in_whole_registers_are_scaled_by_instructions(lanes: int, is_scaled: bool) -> None:
    func = elementwise(lambda x: call("exp", x), ["float32"], "float32", 96, lanes)
    text = compile_module(func, "llvm -mtriple=x86_64-linux-gnu -mcpu=x86-64-v4").get_source("asm")
    assert (bool(re.search(r"vscalefps.*zmm", text)), "vcvtdq2ps" in text) == (is_scaled, False), text


@pytest.mark.parametrize(("dtype", "wide"), [("float32", "float64"), ("float64", "longdouble")])
@pytest.mark.parametrize("exponent", range(1, 5))
def test_small_whole_powers_are_accurate(exponent: int, dtype: str, wide: str) -> None:
    special = [-0.0, 0.0, np.inf, -np.inf, np.nan, 1e-30, -1e30]
    a = np.concatenate([np.linspace(-30, 30, 1 << 12), special]).astype(dtype)
    actual = evaluate(lambda x: op.power(x, const(float(exponent), dtype)), [a], dtype)
    with np.errstate(over="ignore", under="ignore"):
        exact = a.astype(wide) ** exponent
        normal = np.isfinite(exact.astype(dtype)) & (np.abs(exact) >= np.finfo(dtype).tiny)
        np.testing.assert_array_equal(actual[~normal], exact.astype(dtype)[~normal])
        assert units_apart(actual[normal], exact[normal]) <= 3


@pytest.mark.parametrize("cpu", ["x86-64", "haswell", "sapphirerapids", "znver4"])
def test_a_small_whole_power_is_a_product_of_vectors(cpu: str) -> None:
    def calls(exponent: float) -> bool:
        a = te.placeholder((64,), "float64", name="a")
        b = te.compute(a.shape, lambda i: te.power(a[i] + 1, exponent), name="b")
        s = te.create_schedule(b.op)
        s[b].vectorize(b.op.axis[0])
        return "pow" in tvm.build(s, [a, b], f"llvm -mtriple=x86_64-linux-gnu -mcpu={cpu}").get_source("asm").replace(
            "main_pow", ""
        )

    assert not calls(3.0)
    assert calls(2.5)


SPECIAL = [
    np.nan,
    np.inf,
    -np.inf,
    0.0,
    -0.0,
    1e-40,
    -1e-40,
    200.0,
    -200.0,
    1e-45,
    88.8,
    -103.9,
    3e38,
    -3e38,
    1.0,
    -1.0,
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", sorted(n.removeprefix("tir.") for n in VECTOR_FUNCTIONS))
def test_vector_functions_at_special_values(name: str, dtype: str) -> None:
    a = np.array(SPECIAL).astype(dtype)
    with np.errstate(all="ignore"):
        wanted = Op.get("tir." + name).reference(a)  # type: ignore[misc]
    actual = evaluate(lambda x: call(name, x), [a], dtype, 16)
    np.testing.assert_allclose(actual, wanted, rtol=1e-5 if dtype == "float32" else 1e-12, atol=1e-44)


def random_singles(count: int) -> Array:
    """Return numbers whose bits are random: of all magnitudes, infinities and NaNs among them."""
    return np.random.default_rng(0).integers(0, 1 << 32, count, dtype=np.uint32).view(np.float32)


def assert_within_units(actual: Array, wanted: Array, most: float) -> None:
    """Check single precision against double precision, in units in the last place."""
    with np.errstate(all="ignore"):
        rounded = wanted.astype("float32")
        error = np.abs(actual - wanted) / np.spacing(np.abs(rounded))
    same = (actual == rounded) | (np.isnan(actual) & np.isnan(rounded))
    assert error[~same].max(initial=0) <= most
    assert same[~np.isfinite(rounded)].all()


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_angles_of_all_magnitudes_are_reduced_exactly(name: str, lanes: int) -> None:
    near_zeros = np.arange(-64, 64).astype("float32") * np.float32(np.pi / 2)
    a = np.concatenate([random_singles(4096), near_zeros])
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(a.astype("float64"))
    assert_within_units(evaluate(lambda x: call(name, x), [a], "float32", lanes), wanted, 1.5)


@pytest.mark.parametrize("lanes", [1, 16])
def test_powers_are_those_of_double_precision(lanes: int) -> None:
    numbers = [
        0.0,
        -0.0,
        1,
        -1,
        2,
        -2,
        0.5,
        -2.5,
        3,
        5,
        16777215,
        -16777217,
        3e38,
        -3e38,
        1e-45,
        np.inf,
        -np.inf,
        np.nan,
    ]
    base, exponent = (grid.ravel() for grid in np.meshgrid(np.float32(numbers), np.float32(numbers)))
    base = np.concatenate([base, random_singles(4096), np.zeros(-len(base) % 16, "float32")])
    exponent = np.resize(np.concatenate([exponent, np.linspace(-4, 4, 1021, dtype="float32")]), base.shape)
    with np.errstate(all="ignore"):
        wanted = np.power(base.astype("float64"), exponent.astype("float64"))
    actual = evaluate(lambda x, y: call("pow", x, y), [base, exponent], "float32", lanes)
    assert_within_units(actual, wanted, 1)
    np.testing.assert_array_equal(np.signbit(actual)[wanted == 0], np.signbit(wanted)[wanted == 0])


@pytest.mark.parametrize("name", sorted(VECTOR_FUNCTIONS))
def test_vector_functions_call_nothing(name: str) -> None:
    text = compile_module(elementwise(lambda x: call(name.removeprefix("tir."), x), ["float32"], "float32", 64, 16))
    assert "call" not in text.get_source("asm")


def test_every_pure_operator_has_code() -> None:
    """Whatever the language can name and NumPy can compute, machine code can compute."""
    missing = [
        name
        for name, row in registered_ops().items()
        if type(row) is Op and row.effect is CallEffect.PURE and row.reference is not None and name not in INTRINSICS
    ]
    assert not missing


def test_functions_are_written_in_alphabetical_order() -> None:
    names = ["Danny", "Sammy", "Kirby"]
    functions = {name: PrimFunc([], Evaluate(const(0))).with_attr("global_symbol", name) for name in names}
    module = build(IRModule(functions), target="llvm")
    defined = re.findall(r"^define[^@]*@(\w+)", module.get_source("ll"), re.MULTILINE)
    assert [name for name in defined if name in names] == sorted(names)


def test_halves_of_vectors() -> None:
    a = np.arange(16, dtype="float32")

    def swap(x: PrimExpr) -> PrimExpr:
        low, high = op.vectorlow("float32x4", x), op.vectorhigh("float32x4", x)
        return op.vectorcombine("float32x8", high, low)

    wanted = a.reshape(2, 2, 4)[:, ::-1].reshape(-1)
    np.testing.assert_array_equal(evaluate(swap, [a], "float32", 8), wanted)


def test_llvm_intrinsics_and_c_functions() -> None:
    a = inputs("sqrt", "float32", 8)
    by_llvm = evaluate(
        lambda x: named_calls.call_llvm_pure_intrin(x.dtype, "llvm.sqrt", const(1, "uint32"), x), [a], "float32", 8
    )
    np.testing.assert_array_equal(by_llvm, np.sqrt(a))
    by_c = evaluate(lambda x: named_calls.call_pure_extern("float32", "cbrtf", x), [a], "float32")
    np.testing.assert_allclose(by_c, np.cbrt(a), rtol=1e-6)


@pytest.mark.parametrize(
    "name",
    [
        "llvm.x86.avx512.vpdpbusd.512",
        "llvm.x86.avx512bf16.dpbf16ps.256",
        "llvm.x86.sse41.ptestc",
        "llvm.nvvm.fma.rn.ftz.bf16x2",
        "llvm.arm.mve.vctp64",
    ],
)
def test_intrinsics_with_other_parameters_in_older_releases_are_known(name: str) -> None:
    number = tvm.target.codegen.llvm_lookup_intrinsic_id(name)
    assert tvm.target.codegen.llvm_get_intrinsic_name(number) == name


def test_a_dot_product_of_bytes_by_its_name() -> None:
    C, A, B = (tir.decl_buffer((16,), "int32", name=name) for name in "CAB")
    parts = [buffer.vload([0], "int32x16") for buffer in (C, A, B)]
    three = tir.const(3, "uint32")
    dot = tir.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", three, *parts)
    func = tir.PrimFunc([C, A, B], C.vstore([0], dot))
    assert "vpdpbusd" in tvm.build(func, target="llvm -mtriple=x86_64-- -mcpu=cascadelake").get_source("s")


def test_a_prefetch_by_its_name_returns_nothing() -> None:
    buffer, four = tir.decl_buffer((4,), "uint8"), tir.const(4, "uint32")
    prefetch = tir.call_llvm_intrin("int32", "llvm.prefetch", four, buffer.access_ptr("r"), 0, 3, 1)
    assert (
        "void @llvm.prefetch" in tvm.build(tir.PrimFunc([buffer], tir.Evaluate(prefetch)), target="llvm").get_source()
    )


def test_if_then_else_of_a_vector() -> None:
    a = inputs("exp", "float32", 9)
    chosen = evaluate(
        lambda x: builtin.if_then_else(const(True), x, Broadcast(const(0.0, "float32"), 8)), [a], "float32", 8
    )
    np.testing.assert_array_equal(chosen, a)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["tanh", "erf", "sin"])
def test_odd_functions_keep_the_sign_of_zero(name: str, dtype: str) -> None:
    zeros = np.array([0.0, -0.0] * 8, dtype)
    actual = evaluate(lambda x: call(name, x), [zeros], dtype, 16)
    np.testing.assert_array_equal(np.signbit(actual), np.signbit(zeros))
