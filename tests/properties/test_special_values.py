"""Operations on NaN, infinities, zeros and denormals: all executors agree with NumPy and with the table of rules.

``STRATA_SPECIAL=all`` goes through every processor and vector length for each data type; the suite takes two.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import compiler
from compiler import relay, te, tir
from compiler.arith import Analyzer
from compiler.driver.build import build
from compiler.driver.emulate import emulate
from compiler.driver.lower import lower
from compiler.ir.expr import primexpr as ir
from compiler.tir.interpreter import interpret
from tests.contracts.measures.sources import ROOT
from tests.machines import processors
from tests.properties.not_a_number import RULES, table

Array = np.ndarray[Any, Any]

FLOATS: dict[str, tuple[Any, str]] = {
    "float16": (np.float16, "uint16"),
    "float32": (np.float32, "uint32"),
    "float64": (np.float64, "uint64"),
    "bfloat16": (ml_dtypes.bfloat16, "uint16"),
    "e4m3_float8": (ml_dtypes.float8_e4m3fn, "uint8"),
    "e5m2_float8": (ml_dtypes.float8_e5m2, "uint8"),
}
"""NumPy's type, and that of its bits."""
MANTISSA = {"float16": 10, "float32": 23, "float64": 52, "bfloat16": 7, "e4m3_float8": 3, "e5m2_float8": 2}
MCPUS = processors()
_ALL = os.environ.get("STRATA_SPECIAL") == "all"
_WAYS = [(mcpu, lanes) for mcpu in MCPUS for lanes in (1, 8)]
_FUNCTIONS: dict[str, Callable[..., Any]] = {name: f for rule in RULES for name, f in rule.functions.items()}
_BINARY = ("Max", "Min", "tir.fmaximum", "tir.fminimum", "LT", "LE", "GT", "GE", "EQ", "NE")


def specials(dtype: str) -> Array:
    """Return every sort of value: NaN of all kinds of bits, infinities, zeros, denormals, the largest, and numbers."""
    kind, bits = FLOATS[dtype]
    width, mantissa = np.dtype(bits).itemsize * 8, MANTISSA[dtype]
    top, sign = ((1 << (width - 1 - mantissa)) - 1) << mantissa, 1 << (width - 1)
    payloads = {1, (1 << mantissa) - 1, 1 << (mantissa - 1), 3 % (1 << mantissa)}
    patterns = [top | payload for payload in payloads] + [top, top - 1, 0, 1, (1 << mantissa) - 1]
    values = np.array([*patterns, *[p | sign for p in patterns]], bits).view(kind)
    return np.concatenate([values, np.array([1, -1, 1.5, 2, -2.5, 0.1], kind)])


def pairs(dtype: str) -> tuple[Array, Array]:
    """Return all pairs of special values as two arrays, of a whole number of vectors."""
    values = specials(dtype)
    a, b = (m.reshape(-1) for m in np.meshgrid(values, values))
    count = a.size // 8 * 8
    return a[:count].copy(), b[:count].copy()


def node(name: str, a: Any, b: Any) -> Any:
    """Return an operation on two expressions, without folding."""
    if name.startswith("tir."):
        return ir.Call(a.dtype, compiler.ir.Op.get(name), (ir.convert(a), ir.convert(b)))
    return getattr(ir, name)(a, b)


def assert_same(found: Array, wanted: Array, what: str) -> None:
    """Compare values; a NaN is any NaN, and zeros of both signs are the same."""
    with np.errstate(invalid="ignore"):
        found, wanted = (np.asarray(x).astype("float64") for x in (found, wanted))
    wrong = ~((found == wanted) | (np.isnan(found) & np.isnan(wanted)))
    assert not wrong.any(), f"{what}: {found[wrong][:4]} instead of {wanted[wrong][:4]}, {wrong.sum()} in all"


def _element(name: str, a: Any, b: Any) -> Callable[[Any], Any]:
    """Return an element of an operation's result, in a type that holds it exactly."""
    wide = "int32" if name.isupper() else "float64" if a.dtype == "float64" else "float32"
    return lambda i: node(name, a[i], b[i]).astype(wide)


def _bits_as(target: str, a: Any) -> Callable[[Any], Any]:
    """Return the bits of an element that is converted."""
    return lambda i: tir.reinterpret(FLOATS[target][1], a[i].astype(target))


def _of_truths(name: str, a: Any, b: Any) -> Callable[[Any], Any]:
    return lambda i: node(name, a[i] > 0, b[i] > 0).astype("int32")


def operations(dtype: str) -> tuple[list[Any], list[Any], dict[str, Array]]:
    """Return inputs and outputs of a program with all operations on a data type, and what they have to be."""
    x, y = pairs(dtype)
    a, b = (te.placeholder(x.shape, dtype, name) for name in "ab")
    outputs, wanted = [], {}
    with np.errstate(all="ignore"):
        for name in _BINARY:
            result = te.compute(x.shape, _element(name, a, b), name=name.replace(".", "_"))
            outputs.append(result)
            wanted[result.op.name] = _FUNCTIONS[name](x, y)
        for target, (kind, _) in FLOATS.items():
            outputs.append(te.compute(x.shape, _bits_as(target, a), name=f"to_{target}"))
            wanted[f"to_{target}"] = x.astype("float32" if dtype != "float64" else dtype).astype(kind)
    return [a, b], outputs, wanted


def found_in(name: str, result: Array) -> Array:
    """Return what a result stands for: bits of a cast are read as its type."""
    target = name.removeprefix("to_")
    return result.view(FLOATS[target][0]) if target in FLOATS else result


def ways(dtype: str) -> list[tuple[str, int]]:
    at = list(FLOATS).index(dtype)
    return _WAYS if _ALL else [_WAYS[(3 * at) % len(_WAYS)], _WAYS[(3 * at + 4) % len(_WAYS)]]


@pytest.mark.sample(2)
@pytest.mark.parametrize("dtype", FLOATS)
def test_machine_code_and_the_interpreter_follow_the_rules(dtype: str) -> None:
    inputs, outputs, wanted = operations(dtype)
    arrays = [*pairs(dtype), *[np.empty(t.shape[0].value, t.dtype) for t in outputs]]
    interpret(lower(te.create_schedule([t.op for t in outputs]), [*inputs, *outputs])["main"], arrays)
    for t, result in zip(outputs, arrays[2:], strict=True):
        assert_same(found_in(t.op.name, result), wanted[t.op.name], f"interpreted {t.op.name}")
    for mcpu, lanes in ways(dtype):
        schedule = te.create_schedule([t.op for t in outputs])
        for t in outputs if lanes > 1 else ():
            schedule[t].vectorize(schedule[t].split(t.op.axis[0], lanes)[1])
        given = [compiler.nd.array(each) for each in (*pairs(dtype), *[np.zeros_like(each) for each in arrays[2:]])]
        build(schedule, [*inputs, *outputs], f"llvm -mcpu={mcpu}")(*given)
        for t, result in zip(outputs, given[2:], strict=True):
            assert_same(found_in(t.op.name, result.numpy()), wanted[t.op.name], f"{t.op.name}, {mcpu}, {lanes} lanes")


@pytest.mark.parametrize("name", _BINARY)
def test_constants_fold_to_what_is_computed(name: str) -> None:
    for dtype in ("float16", "float32", "float64"):
        x, y = pairs(dtype)
        with np.errstate(all="ignore"):
            wanted = _FUNCTIONS[name](x, y)
        chosen = np.random.default_rng(3).choice(x.size, 60, replace=False)
        a, b = ([tir.const(float(v), dtype) for v in each[chosen]] for each in (x, y))
        folded = [Analyzer().simplify(node(name, *both)) for both in zip(a, b, strict=True)]
        constant = [(f.value if isinstance(f, (ir.IntImm, ir.FloatImm)) else None) for f in folded]
        if name.startswith("tir."):  # built, not folded later
            build_it = tir.fmaximum if name == "tir.fmaximum" else tir.fminimum
            constant = [build_it(*both).value for both in zip(a, b, strict=True)]
        assert None not in constant
        assert_same(np.array(constant, "float64"), wanted[chosen], f"{name} of constants in {dtype}")


_GRAPH: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "maximum": (relay.maximum, np.maximum),
    "minimum": (relay.minimum, np.minimum),
    "relu": (lambda x, y: relay.nn.relu(x), lambda x, y: np.maximum(x, x.dtype.type(0))),
    "clip": (lambda x, y: relay.clip(x, -1.0, 1.5), lambda x, y: np.clip(x, x.dtype.type(-1), x.dtype.type(1.5))),
    "max": (lambda x, y: relay.max(relay.reshape(x, (-1, 8)), axis=1), lambda x, y: x.reshape(-1, 8).max(1)),
    "min": (lambda x, y: relay.min(relay.reshape(x, (-1, 8)), axis=0), lambda x, y: x.reshape(-1, 8).min(0)),
    "argmax": (lambda x, y: relay.argmax(relay.reshape(y, (-1, 8)), axis=1), lambda x, y: y.reshape(-1, 8).argmax(1)),
    "argmin": (lambda x, y: relay.argmin(relay.reshape(x, (-1, 8)), axis=1), lambda x, y: x.reshape(-1, 8).argmin(1)),
    "sort": (lambda x, y: relay.sort(relay.reshape(x, (-1, 8)), axis=1), lambda x, y: np.sort(x.reshape(-1, 8), 1)),
    "sign": (lambda x, y: relay.sign(x), lambda x, y: np.sign(x)),
    "less": (relay.less, np.less),
    "not_equal": (relay.not_equal, np.not_equal),
    "max_pool": (
        lambda x, y: relay.nn.max_pool1d(relay.reshape(x, (1, 1, -1)), 4, 4),
        lambda x, y: x.reshape(-1, 4).max(1).reshape(1, 1, -1),
    ),
    "bfloat16": (
        lambda x, y: relay.cast(relay.cast(x, "bfloat16"), "float32"),
        lambda x, y: x.astype(ml_dtypes.bfloat16).astype("float32"),
    ),
}


@pytest.mark.parametrize("number", range(len(_GRAPH) if _ALL else 5))
def test_executors_of_graphs_agree_with_numpy(number: int) -> None:
    mcpu = MCPUS[number % len(MCPUS)]
    names = list(_GRAPH)[number :: 1 if _ALL else 5][: 1 if _ALL else None]
    a, b = pairs("float32")
    x, y = (relay.var(name, shape=a.shape) for name in "xy")
    mod = compiler.IRModule.from_expr(relay.Function([x, y], relay.Tuple([_GRAPH[name][0](x, y) for name in names])))
    constants = relay.transform.FoldConstant()(
        compiler.IRModule.from_expr(relay.Tuple([_GRAPH[name][0](relay.const(a), relay.const(b)) for name in names]))
    )
    with np.errstate(all="ignore"):
        wanted = [_GRAPH[name][1](a, b) for name in names]
    results = {
        kind: relay.create_executor(kind, mod, target=f"llvm -mcpu={mcpu}").evaluate()(a, b)
        for kind in ("debug", "graph", "vm")
    }
    results["FoldConstant"] = [field.data for field in constants["main"].body.fields]
    for kind, found in results.items():
        for name, each, right in zip(names, found, wanted, strict=True):
            assert_same(each.numpy(), right, f"{name} in {kind} for {mcpu}")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_emulated_kernels_follow_the_rules(dtype: str) -> None:
    inputs, outputs, wanted = operations(dtype)
    outputs = [t for t in outputs if not t.op.name.startswith("to_") or t.op.name == "to_bfloat16"]
    schedule = te.create_schedule([t.op for t in outputs])
    for t in outputs:
        block, thread = schedule[t].split(t.op.axis[0], 8)
        schedule[t].bind(block, te.thread_axis("blockIdx.x"))
        schedule[t].bind(thread, te.thread_axis("threadIdx.x"))
    given = [compiler.nd.array(each) for each in pairs(dtype)]
    given += [compiler.nd.array(np.zeros(t.shape[0].value, t.dtype)) for t in outputs]
    emulate(schedule, [*inputs, *outputs], "cuda")(*given)
    for t, result in zip(outputs, given[2:], strict=True):
        assert_same(found_in(t.op.name, result.numpy()), wanted[t.op.name], f"emulated {t.op.name}")


CC = next((command for command in ("cc", "gcc", "clang") if shutil.which(command)), None)


@pytest.mark.skipif(CC is None, reason="needs a C compiler")
def test_programs_of_c_follow_the_rules(tmp_path: Path) -> None:
    inputs, outputs, wanted = operations("float32")
    schedule = te.create_schedule([t.op for t in outputs])
    source = build(schedule, [*inputs, *outputs], "c", name="f").get_source()
    (tmp_path / "f.c").write_text(source)
    subprocess.run(
        [str(CC), "-O2", "-std=c11", "-shared", "-fPIC", "-o", "f.so", "f.c", "-lm"], cwd=tmp_path, check=True
    )
    import ctypes

    arrays = [*pairs("float32"), *[np.zeros(t.shape[0].value, t.dtype) for t in outputs]]
    ctypes.CDLL(str(tmp_path / "f.so")).f(*[ctypes.c_void_p(each.ctypes.data) for each in arrays])
    for t, result in zip(outputs, arrays[2:], strict=True):
        assert_same(found_in(t.op.name, result), wanted[t.op.name], f"{t.op.name} in C")


_LITERALS = {
    "c": ("NAN", "INFINITY"),
    "cuda": ("__int_as_float(0x7fffffff)", "__int_as_float(0x7f800000)"),
    "opencl": ("NAN", "INFINITY"),
    "metal": ("NAN", "INFINITY"),
    "webgpu": ("not_a_number()", "infinity()"),
}


@pytest.mark.parametrize("target", _LITERALS)
def test_source_languages_write_constants_that_are_no_numbers(target: str) -> None:
    values = {"nan": _LITERALS[target][0], "inf": _LITERALS[target][1], "-inf": f"(-{_LITERALS[target][1]})"}
    a = te.placeholder((8,), name="a")
    for value, literal in values.items():
        constant = tir.const(float(value), "float32")
        b = te.compute((8,), _or_constant(a, constant), name="b")
        schedule = te.create_schedule(b.op)
        if target != "c":
            schedule[b].bind(b.op.axis[0], te.thread_axis("threadIdx.x"))
        module = build(schedule, [a, b], target, name="f")
        text = module.get_source() if target == "c" else module.imported_modules[0].get_source()
        line = next(line for line in text.splitlines() if "b[" in line and "=" in line)
        assert literal in line
        assert not any(other in line.replace(literal, "") for other in _LITERALS[target])


def _or_constant(a: Any, constant: Any) -> Callable[[Any], Any]:
    return lambda i: te.if_then_else(a[i] > 0, a[i], constant)


def test_truth_values_are_computed_with_as_0_and_1() -> None:
    truths = {
        "Add": np.logical_or,
        "Sub": np.not_equal,
        "Mul": np.logical_and,
        "Max": np.logical_or,
        "Min": np.logical_and,
    }
    p, q = np.array([0, 0, 1, 1] * 2, "int32"), np.array([0, 1, 0, 1] * 2, "int32")
    a, b = (te.placeholder((8,), "int32", name) for name in "ab")
    outputs = [te.compute((8,), _of_truths(name, a, b), name=name) for name in truths]
    outputs.append(te.compute((8,), lambda i: ((a[i] > 0) + (b[i] > 0)).astype("int32"), name="Add_1"))
    wanted = [*[f(p > 0, q > 0) for f in truths.values()], np.logical_or(p, q)]
    arrays = [p, q, *[np.zeros(8, "int32") for _ in outputs]]
    interpret(lower(te.create_schedule([t.op for t in outputs]), [a, b, *outputs])["main"], arrays)
    for lanes in (1, 8):
        schedule = te.create_schedule([t.op for t in outputs])
        for t in outputs if lanes > 1 else ():
            schedule[t].vectorize(t.op.axis[0])
        given = [compiler.nd.array(each) for each in (p, q, *[np.zeros(8, "int32") for _ in outputs])]
        build(schedule, [a, b, *outputs], "llvm")(*given)
        for t, interpreted, compiled, right in zip(outputs, arrays[2:], given[2:], wanted, strict=True):
            assert_same(interpreted, right, f"interpreted {t.op.name}")
            assert_same(compiled.numpy(), right, f"{t.op.name}, {lanes} lanes")
    folded = [
        node(name, tir.const(bool(x), "bool"), tir.const(bool(y), "bool"))
        for name in truths
        for x, y in zip(p[:4], q[:4], strict=True)
    ]
    assert [bool(Analyzer().simplify(each)) for each in folded] == [bool(v) for w in wanted[:-1] for v in w[:4]]


def test_the_readme_has_the_rules() -> None:
    assert table() in (ROOT / "compiler" / "README.md").read_text("utf-8")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16"])
def test_narrow_integers_keep_the_low_bits(dtype: str) -> None:
    x = np.array([-1, 300.7, -1.5, 128, 255, 256, -129, 65535.5, 70000, -40000, 3.9, -0.9] * 4, "float32")
    a = te.placeholder(x.shape, name="a")
    whole = te.compute(x.shape, lambda i: a[i].astype(dtype), name="whole")
    clipped = te.compute(x.shape, lambda i: te.max(te.min(a[i], 127.0), 0.0).astype(dtype), name="clipped")
    for mcpu, lanes in _WAYS:
        schedule = te.create_schedule([whole.op, clipped.op])
        for t in (whole, clipped) if lanes > 1 else ():
            schedule[t].vectorize(schedule[t].split(t.op.axis[0], 16)[1])
        given = [compiler.nd.array(each) for each in (x, np.zeros(x.shape, dtype), np.zeros(x.shape, dtype))]
        build(schedule, [a, whole, clipped], f"llvm -mcpu={mcpu}")(*given)
        np.testing.assert_array_equal(given[1].numpy(), x.astype("int32").astype(dtype), f"{mcpu}, {lanes} lanes")
        np.testing.assert_array_equal(given[2].numpy(), np.clip(x, 0, 127).astype(dtype), f"{mcpu}, {lanes} lanes")
