"""The other ways onto the device: LLVM's PTX, a host in C, a library, and programs as TVM's users write them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np

import compiler as tvm
from compiler import relay, te
from compiler.driver.build import build
from compiler.runtime.graph.graph_module import GraphModule
from compiler.runtime.modules.library import load_module
from compiler.runtime.modules.module import Module
from compiler.target.cuda_tools import tools
from tests.compiler.driver.gpu_programs import GPUProgram
from tests.outside.device import gpu
from tests.outside.device.cases import Case, Record
from tests.outside.device.programs import program

PROGRAMS = 40


def cases() -> Iterator[Case]:
    """Yield random programs that come to the device each way, and programs of users."""
    for name, way in (("PTX of LLVM", _by_llvm), ("a host in C", _by_c), ("a library", _by_library)):
        for seed in range(PROGRAMS):
            yield f"{name}, program {seed}", partial(_case, way, seed)
    yield "arrays and clock of tvm.cuda(0)", _arrays
    yield "create_executor", _executor


def _by_llvm(made: GPUProgram) -> Module:
    return build(made.schedule, made.args, "cuda")


def _by_c(made: GPUProgram) -> Module:
    return build(made.schedule, made.args, tvm.target.Target("cuda", host="c"))


def _by_library(made: GPUProgram) -> Module:
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "program.so"))
        build(made.schedule, made.args, "cuda").export_library(path)
        return load_module(path)


def _case(way: Callable[[GPUProgram], Module], seed: int) -> Record:
    made = program(seed)
    arrays = made.arrays(seed)
    if gpu.EMULATED:
        result = gpu.called(gpu.function(made.schedule, made.args), arrays)[-1]
    else:
        folders = tools._folders() if way is not _by_llvm else ()
        with mock.patch.object(tools, "_folders", return_value=folders):
            result = gpu.called(way(made), arrays)[-1]
    return {"error": gpu.same(result, made.reference(*arrays[:-1]), 1e-3 if result.dtype == "float16" else 1e-5)}


def _arrays() -> Record:
    n, a = te.var("n"), np.random.default_rng(0).standard_normal(1000).astype("float32")
    x = te.placeholder((n,), name="x")
    y = te.compute((n,), lambda i: x[i] * 2.0, name="y")
    s = te.create_schedule(y.op)
    block, thread = s[y].split(y.op.axis[0], factor=64)
    s[y].bind(block, te.thread_axis("blockIdx.x"))
    s[y].bind(thread, te.thread_axis("threadIdx.x"))
    dev = tvm.cpu() if gpu.EMULATED else tvm.cuda(0)
    built = gpu.function(s, [x, y])
    given, result = tvm.nd.array(a, dev), tvm.nd.empty((1000,), "float32", dev)
    built(given, result)
    dev.sync()
    seconds = built.time_evaluator(built.entry_name, dev, number=10, repeat=3)(given, result).mean
    return {"error": gpu.same(result.numpy(), 2 * a), "microseconds": seconds * 1e6}


def _executor() -> Record:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((20, 30)).astype("float32"), rng.standard_normal((40, 30)).astype("float32")
    x, w = relay.var("x", shape=a.shape), relay.var("w", shape=b.shape)
    mod = tvm.IRModule.from_expr(relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w))))
    dev, target = (tvm.cpu(), "llvm") if gpu.EMULATED else (tvm.cuda(0), "cuda")
    result = relay.create_executor("graph", mod=mod, device=dev, target=target).evaluate()(a, b)
    module = GraphModule(relay.build(mod, target)["default"](dev))
    module.run(x=a, w=b)
    expected = np.maximum(a @ b.T, 0)
    return {"error": max(gpu.same(each.numpy(), expected) for each in (result, module.get_output(0)))}
