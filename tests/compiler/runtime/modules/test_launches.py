"""A library holds what its functions launch on a device: read back, it is launched as what was built is."""

import json
from importlib import import_module

import numpy as np
import pytest

import compiler as tvm
from compiler import relay, te
from compiler.classic.contrib import graph_executor
from compiler.driver.build import build
from compiler.ir.error import ArgumentError, LoweringError
from compiler.runtime.modules.launches import (
    DeviceMemory,
    Launch,
    Launches,
    NoLaunches,
    decode_launches,
    encode_launches,
)
from compiler.runtime.modules.library import load_module
from compiler.target.cuda_tools import tools
from tests.compiler.driver.gpu_programs import random_program
from tests.compiler.runtime.recorded_driver import EmulatingApi, RecordingApi, install


@pytest.fixture(autouse=True)
def without_tools(monkeypatch):
    """PTX by LLVM: NVIDIA's compilers take a second."""
    monkeypatch.setattr(tools, "_folders", lambda: ())


def test_a_host_that_is_written_in_c_launches_kernels(monkeypatch):
    program = random_program(0)
    kernels = build(program.schedule, program.args, "cuda").imported_modules[0].kernels
    install(monkeypatch, EmulatingApi(kernels))
    built = build(program.schedule, program.args, tvm.target.Target("cuda", host="c"))
    assert "int32_t main(" in built.get_source()
    arrays = program.arrays(0)
    *inputs, output = [tvm.nd.array(array) for array in arrays]
    built(*inputs, output)
    np.testing.assert_allclose(output.numpy(), program.reference(*arrays[:-1]), rtol=1e-5)


@pytest.mark.sample(3)
@pytest.mark.parametrize("seed", range(6))
def test_a_loaded_library_launches_what_was_built(seed, tmp_path, monkeypatch):
    """The two are launched alike, and with kernels that are emulated the loaded one computes what NumPy does."""
    program = random_program(seed)
    built = build(program.schedule, program.args, "cuda")
    built.export_library(str(tmp_path / "program.o"))
    arrays = program.arrays(seed)
    recorded = []
    for make in (lambda: build(program.schedule, program.args, "cuda"), lambda: load_module(tmp_path / "program.o")):
        api = install(monkeypatch, EmulatingApi(built.imported_modules[0].kernels))
        *inputs, output = [tvm.nd.array(array) for array in arrays]
        make()(*inputs, output)
        recorded.append([call for call in api.calls if call[0] in ("cuMemAlloc", "cuLaunchKernel")])
        np.testing.assert_allclose(output.numpy(), program.reference(*arrays[:-1]), rtol=1e-5)
    assert recorded[0] == recorded[1]
    assert any(name == "cuLaunchKernel" for name, *_ in recorded[0])


def test_a_loaded_model_launches_its_kernels(tmp_path, monkeypatch):
    x, w = relay.var("x", shape=(2, 8)), relay.var("w", shape=(4, 8))
    weights, data = (np.random.default_rng(0).random(shape, "float32") for shape in ((4, 8), (2, 8)))
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.softmax(relay.nn.relu(relay.nn.dense(x, w)))))
    built = relay.build(mod, "cuda", params={"w": weights})
    built.export_library(str(tmp_path / "model.so"))
    api = install(monkeypatch, EmulatingApi(built.get_lib().imported_modules[0].kernels))
    for model in (relay.build(mod, "cuda", params={"w": weights}), load_module(tmp_path / "model.so")):
        executor = graph_executor.GraphModule(model["default"](tvm.cpu(0)))
        executor.run(x=data)
        product = np.maximum(data @ weights.T, 0)
        expected = np.exp(product) / np.exp(product).sum(1, keepdims=True)
        np.testing.assert_allclose(executor.get_output(0).numpy(), expected, rtol=1e-5)
    half = len(api.launches) // 2
    assert half > 0
    assert [call[:7] for call in api.launches[:half]] == [call[:7] for call in api.launches[half:]]


def test_create_executor_launches_kernels(monkeypatch):
    x = relay.var("x", shape=(2, 8))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.nn.softmax(x)))
    install(monkeypatch, EmulatingApi(relay.build(mod, "cuda").get_lib().imported_modules[0].kernels))
    data = np.random.default_rng(0).random((2, 8), "float32")
    result = relay.create_executor("graph", mod=mod, device=tvm.cuda(0), target="cuda").evaluate()(data)
    np.testing.assert_allclose(result.numpy(), np.exp(data) / np.exp(data).sum(1, keepdims=True), rtol=1e-5)


def _scaled(shape=(64, 32)):
    a = te.placeholder(shape, name="A")
    b = te.compute(shape, lambda i, j: a[i, j] * 2.0, name="B")
    s = te.create_schedule(b.op)
    s[b].bind(b.op.axis[0], te.thread_axis("blockIdx.x"))
    s[b].bind(b.op.axis[1], te.thread_axis("threadIdx.x"))
    return build(s, [a, b], "cuda", name="scaled")


def test_launches_that_only_a_call_knows_are_refused_when_it_comes(tmp_path, monkeypatch):
    built = _scaled((te.var("n"), 32))
    built.export_library(str(tmp_path / "scaled.o"))
    install(monkeypatch, RecordingApi())
    with pytest.raises(LoweringError, match="known only at run time"):
        load_module(tmp_path / "scaled.o")(*(np.zeros((4, 32), "float32") for _ in range(2)))


@pytest.mark.parametrize(("arch", "code"), [((9, 0), "cubin"), ((9, 3), "cubin"), ((8, 9), "ptx"), ((10, 0), "ptx")])
def test_machine_code_is_loaded_where_it_runs_and_ptx_elsewhere(arch, code, tmp_path, monkeypatch):
    monkeypatch.setattr(import_module("compiler.target.codegen.source.device_module"), "cubin_of", lambda *_: _CUBIN)
    _scaled().export_library(str(tmp_path / "scaled.o"))
    api = install(monkeypatch, RecordingApi())
    for name, value in zip(("MAJOR", "MINOR"), arch, strict=True):
        api.attributes[f"COMPUTE_CAPABILITY_{name}"] = value
    load_module(tmp_path / "scaled.o")(*(np.zeros((64, 32), "float32") for _ in range(2)))
    [loaded] = [call[1] for call in api.calls if call[0] == "cuModuleLoadData"]
    assert loaded == _CUBIN if code == "cubin" else b".entry scaled_kernel" in loaded and loaded[-1:] == b"\0"


_CUBIN = b"\x7fELF machine code"


PLAN = {
    "main": Launches(
        [DeviceMemory("A", "float32", 8, 0), DeviceMemory("T", "float16", 100)],
        [Launch("first", (0, 1), (("int32", 7), ("float32", 0.5)), (2, 1, 1), (4, 1, 1), 64, 32)],
    ),
    "other": NoLaunches("n is known only at run time"),
}
KERNELS = {"first": ["handle", "handle", "int32", "float32"]}


def test_the_text_is_json_and_reads_back():
    text = encode_launches(PLAN)
    assert decode_launches(text, KERNELS, "x.so") == PLAN
    main = json.loads(text)["functions"]["main"]
    assert main["launches"][0]["blocks"] == [2, 1, 1]
    assert [memory["parameter"] for memory in main["memory"]] == [0, None]


def _damage(path, value):
    """Return the plan with another value at a place."""
    document = json.loads(encode_launches(PLAN))
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return json.dumps(document)


MAIN, LAUNCH = ("functions", "main"), ("functions", "main", "launches", 0)


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("version",), 2, "format must be strata-launches 1"),
        (("functions", "main", "why"), "both", "must have memory and launches, or say why not"),
        ((*MAIN, "memory", 0, "parameter"), 1, "parameters' memory must come first"),
        ((*MAIN, "memory", 1, "parameter"), 0, "parameters' memory must come first"),
        ((*MAIN, "memory", 0, "elements"), -1, "-1 elements"),
        ((*MAIN, "memory", 0, "elements"), 1 << 60, "not memory of a device"),
        ((*MAIN, "memory", 0, "dtype"), "nothing", "elements of 'nothing'"),
        ((*MAIN, "launches"), [], "expected 1 to 10,000 launches, got 0"),
        ((*LAUNCH, "kernel"), "second", "there is no kernel 'second'"),
        ((*LAUNCH, "memory"), [0, 2], r"is given memory \[0, 2\] of 2"),
        ((*LAUNCH, "memory"), [0, -1], r"is given memory \[0, -1\] of 2"),
        ((*LAUNCH, "memory"), [0], r"takes \['handle', 'handle', 'int32', 'float32'\]"),
        ((*LAUNCH, "numbers"), [["int64", 7], ["float32", 0.5]], "takes"),
        ((*LAUNCH, "numbers"), [["int32", "7"], ["float32", 0.5]], "Expected `int | float`"),
        ((*LAUNCH, "numbers"), [["int32", 7.5], ["float32", 0.5]], "7.5 is not of type int32"),
        ((*LAUNCH, "numbers"), [["int32", 1 << 31], ["float32", 0.5]], "2147483648 is not of type int32"),
        ((*LAUNCH, "blocks"), [0, 1, 1], r"launched with \[0, 1, 1\]"),
        ((*LAUNCH, "blocks"), [1, 1 << 16, 1], "at most"),
        ((*LAUNCH, "threads"), [64, 64, 1], "4096 threads, at most 1024"),
        ((*LAUNCH, "threads"), [4, 1], "length 3"),
        ((*LAUNCH, "dynamic_bytes"), 65, "65 of 64 shared bytes"),
    ],
)
def test_a_plan_that_no_device_runs_is_refused(path, value, told):
    with pytest.raises(ArgumentError, match=r"'x\.so' is damaged: launches: .*" + told):
        decode_launches(_damage(path, value), KERNELS, "x.so")


def test_every_truncated_text_is_refused():
    text = encode_launches(PLAN)
    for end in range(len(text)):
        with pytest.raises(ArgumentError, match="is damaged"):
            decode_launches(text[:end], KERNELS, "x.so")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda functions: {"main": functions["scaled"]}, "the host has no function 'main'"),
        (
            lambda functions: {"scaled": Launches(functions["scaled"].memory[1:], functions["scaled"].launches)},
            "parameters' memory must come first",
        ),
        (
            lambda functions: {
                "scaled": Launches(
                    [DeviceMemory(m.name, m.dtype, 2 * m.elements, m.parameter) for m in functions["scaled"].memory],
                    functions["scaled"].launches,
                )
            },
            "scaled takes 2048 of float32, 2048 of float32, got 4096 of float32",
        ),
    ],
)
def test_a_plan_of_another_host_is_refused(change, told, tmp_path):
    built = _scaled()
    kernels = built.imported_modules[0]
    functions = change(kernels.launches())
    kernels.launches = lambda: functions
    built.export_library(str(tmp_path / "scaled.o"))
    with pytest.raises(ArgumentError, match=told):
        load_module(tmp_path / "scaled.o")
