"""C source code: what it says, and that the C compiler's machine code computes what LLVM's does."""

import shutil

import numpy as np
import pytest

import compiler as tvm
from compiler import te, tir
from compiler.driver.build import build
from compiler.ir.error import BuildError, TargetError
from compiler.ir.origin import OriginTable, recording
from compiler.target.codegen.source import source_code
from compiler.tir.script import tir as T
from tests.compiler.target.kernels import elementwise, function
from tests.outside import run_te_scripts, run_tir_scripts
from tests.outside.te_scripts import te_script
from tests.outside.tir_scripts import tir_script

needs_compiler = pytest.mark.skipif(
    all(shutil.which(name) is None for name in ("cc", "gcc", "clang")), reason="needs a C compiler"
)
_NUMBERS = np.array([-128, -127, -9, -4, -1, 0, 1, 2, 3, 5, 7, 8, 100, 126, 127, 64])


def both(expression, inputs, result, lanes=1):
    """Return what LLVM's and the C compiler's machine code compute."""
    module = elementwise(expression, [str(a.dtype) for a in inputs], result, len(inputs[0]), lanes)
    outputs = []
    for target in ("llvm", "c"):
        out = tvm.nd.array(np.zeros(len(inputs[0]), result))
        build(module, target=target)(*map(tvm.nd.array, inputs), out)
        outputs.append(out.numpy())
    return outputs


@pytest.mark.sample(5)
@needs_compiler
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize(
    "operation",
    [
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        tir.truncdiv,
        tir.truncmod,
        tir.floordiv,
        tir.floormod,
        tir.min,
        tir.max,
        lambda a, b: (a & b) | (a ^ b),
        lambda a, b: ~a,
        lambda a, b: tir.floordiv(a, tir.const(8, a.dtype)) + tir.floormod(a, tir.const(8, a.dtype)),
        lambda a, b: tir.Select(a < b, a, b),
        lambda a, b: tir.popcount(a),
        lambda a, b: (a.astype("float32") / tir.const(3.0, "float32")).astype(a.dtype),
    ],
)
def test_integers_are_those_of_llvm(operation, dtype):
    values = _NUMBERS if dtype.startswith("int") else np.abs(_NUMBERS)
    a, b = (m.ravel().astype(dtype) for m in np.meshgrid(values, values))
    llvm, c = both(operation, [a, b], dtype)
    np.testing.assert_array_equal(c, llvm)


@pytest.mark.sample(3)
@needs_compiler
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "operation",
    [tir.exp, tir.log, tir.tanh, tir.sigmoid, tir.sqrt, tir.rsqrt, tir.floor, tir.round, tir.erf, tir.exp10, tir.abs],
)
def test_functions_are_those_of_llvm(operation, dtype):
    values = np.linspace(0.25, 9, 32).astype(dtype)
    llvm, c = both(operation, [values], dtype, lanes=4)
    np.testing.assert_allclose(c, llvm, rtol=2e-3 if dtype == "float16" else 1e-6)


@needs_compiler
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("script", "runner"), [(te_script, run_te_scripts), (tir_script, run_tir_scripts)])
def test_random_programs_compute_what_they_do_through_llvm(script, runner, seed):
    program = script(seed)
    expected = runner.run(program, tvm, te, tir)
    assert "error" not in expected
    assert runner.run(program, tvm, te, tir, "c") == expected


@needs_compiler
def test_a_vector_that_overlaps_its_own_store_is_computed_first():
    A = tir.decl_buffer((8,), "int32", "A")
    ramp = tir.Ramp(tir.const(1), tir.const(1), 4)
    shifted = tir.BufferStore(A, A.vload([tir.const(0)], "int32x4"), [ramp])
    a = tvm.nd.array(np.arange(8, dtype="int32"))
    build(function([A], shifted), target="c")(a)
    assert a.numpy().tolist() == [0, 0, 1, 2, 3, 5, 6, 7]


def test_every_line_leads_to_the_lines_that_it_comes_from():
    with recording(OriginTable()):
        A = te.placeholder((8,), name="A")
        B = te.compute((8,), lambda i: A[i] * 2.0 + 1.0, name="B")
        code = source_code(tvm.lower(te.create_schedule(B.op), [A, B]), "c")
    _, loop, store, end, *_ = [line for line in code.listing.lines if line.regions]
    assert store.text.strip() == "B[i] = A[i] * 2.0f + 1.0f;"
    assert store.span == B.op.body[0].span != frozenset()
    assert loop.span == end.span == B.op.span
    product = min((r for r in store.regions if isinstance(r.node, tir.Mul)), key=lambda r: r.start)
    assert store.text[product.start : product.end] == "A[i] * 2.0f"


@needs_compiler
def test_memory_of_the_heap_is_given_back_where_an_assertion_fails():
    @T.prim_func
    def f(A: T.Buffer((4,), "int32"), n: T.int32):
        buffer = T.allocate([100000], "int32", "global")
        memory = T.Buffer((100000,), "int32", data=buffer)
        assert n < 5, "n is too large"
        memory[99999] = n
        A[0] = memory[99999] + 1

    built = build(f, target="c")
    assert built.get_source().count("free(") == 2
    a = tvm.nd.array(np.zeros(4, "int32"))
    built(a, 4)
    assert a.numpy()[0] == 5
    with pytest.raises(tvm.TVMError, match="n is too large"):
        built(a, 5)


@needs_compiler
def test_values_are_returned_and_registered_functions_are_called():
    seen = []
    tvm.register_func("tests.source.look", lambda *args: seen.append(args) or 7, override=True)
    x = tir.Var("x", "float32")
    call = tir.call_packed("tests.source.look", x, 3, 'say "hi"\\?\n')
    func = tir.PrimFunc([x], tir.Evaluate(tir.ret(call))).with_attr("global_symbol", "f")
    assert build(func, target="c")(1.5) == 7
    assert seen == [(1.5, 3, 'say "hi"\\?\n')]


@needs_compiler
def test_a_library_of_c_is_loaded_again(tmp_path):
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    built = build(te.create_schedule(B.op), [A, B], "c", name="default")
    assert built.type_key == "c"
    for name in ("f.so", "f.o"):
        path = str(tmp_path / name)
        built.export_library(path)
        b = tvm.nd.array(np.zeros(8, "float32"))
        tvm.runtime.load_module(path)["default"](tvm.nd.array(np.arange(8, dtype="float32")), b)
        assert b.numpy().tolist() == list(range(1, 9))
    built.save(str(tmp_path / "f.c"))
    assert (tmp_path / "f.c").read_text() == built.get_source() == built.get_source("c")


def test_names_are_words_of_no_language_and_texts_stay_texts():
    x = tir.Var("*/ int main", "int32")
    message = tir.StringImm('"; system("true"); //')
    body = tir.AssertStmt(x > 0, message, tir.Evaluate(tir.ret(x)))
    func = tir.PrimFunc([x], body).with_attr("global_symbol", "while")
    text = build(tvm.IRModule({"while": func}), target="c").get_source()
    assert "system" not in text
    assert "int32_t while_(int32_t _int_main, int64_t* result) {" in text


def test_what_c_has_no_code_for_is_named():
    x = tir.Var("x", "float32")
    call = tir.call_llvm_intrin("float32", "llvm.canonicalize", tir.const(1, "uint32"), x)
    func = tir.PrimFunc([x], tir.Evaluate(tir.ret(call))).with_attr("global_symbol", "f")
    with pytest.raises(BuildError, match=r"target 'c' has no code for a call of tir\.call_llvm"):
        build(func, target="c")
    kinds = "llvm, c, cuda, opencl, metal, webgpu, nvptx, rocm"
    with pytest.raises(TargetError, match=f"generated for {kinds}, not for vulkan"):
        build(func, target="vulkan")


def test_an_external_function_is_declared():
    x = tir.Var("x", "int32")
    call = tir.call_extern("int32", "labs_of_nobody", x)
    func = tir.PrimFunc([x], tir.Evaluate(tir.ret(call))).with_attr("global_symbol", "f")
    assert "extern int32_t labs_of_nobody(int32_t);" in build(func, target="c").get_source()
