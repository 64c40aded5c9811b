"""A small CNN that relay.build makes for WebGPU: the page's modules run it in the graph executor's order."""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from playwright.sync_api import Page

import compiler as tvm
from app.recorder.random_inputs import random_arrays
from compiler import relay
from compiler.contrib import graph_executor

SEED = 11
WEIGHTS = {"w1": (8, 3, 3, 3), "b1": (8,), "w2": (16, 8, 3, 3), "w3": (10, 16)}
RUN = """async ([modules, program]) => {
  const { openDevice } = await import(`${modules}/device.js`);
  const { StepRun } = await import(`${modules}/run.js`);
  const { device } = await openDevice();
  const run = new StepRun(device, program, program.steps[0]);
  await run.prepare();
  await run.first();
  return [...new Uint8Array(await run.contents(program.results[0].argument))];
}"""


def small_cnn() -> tvm.IRModule:
    x = relay.var("x", shape=(1, 3, 16, 16))
    w = {name: relay.var(name, shape=shape) for name, shape in WEIGHTS.items()}
    y = relay.nn.conv2d(x, w["w1"], kernel_size=(3, 3), channels=8, padding=(1, 1))
    y = relay.nn.max_pool2d(relay.nn.relu(relay.nn.bias_add(y, w["b1"])), pool_size=(2, 2), strides=(2, 2))
    y = relay.nn.relu(relay.nn.conv2d(y, w["w2"], kernel_size=(3, 3), channels=16, padding=(1, 1)))
    y = relay.nn.dense(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y)), w["w3"])
    return tvm.IRModule.from_expr(relay.Function([x, *w.values()], relay.nn.softmax(y * relay.const(0.001))))


class Recorded:
    """What a graph for a device launches, over the storage that its executor plans."""

    def __init__(self, lib: Any) -> None:
        graph = json.loads(lib.get_graph_json())
        self.nodes, self.first_entry = graph["nodes"], graph["node_row_ptr"]
        self.storage = graph["attrs"]["storage_id"][1]
        self.shapes = [tuple(shape) for shape in graph["attrs"]["shape"][1]]
        self.dtypes = graph["attrs"]["dltype"][1]
        self.output = self.storage[self.entry(*graph["heads"][0][:2])]
        self.lib = lib.get_lib()
        self.kernels = self.lib.imported_modules[0]
        self.sizes = [0] * (max(self.storage) + 1)
        for storage, shape in zip(self.storage, self.shapes, strict=True):
            self.sizes[storage] = max(self.sizes[storage], math.prod(shape))
        self.arrays = [np.zeros(size, "float32") for size in self.sizes]
        self.addresses = {array.ctypes.data: position for position, array in enumerate(self.arrays)}
        self.launches: list[dict[str, Any]] = []

    def entry(self, node: int, output: int) -> int:
        return int(self.first_entry[node]) + output

    def record(self) -> None:
        """Call every operator in the order of the executor."""
        self.kernels.launcher = self.launch
        for number, node in enumerate(self.nodes):
            if node["op"] != "tvm_op" or node["attrs"]["func_name"] == "__nop":
                continue
            entries = [self.entry(*source[:2]) for source in node["inputs"]]
            entries += [self.entry(number, output) for output in range(int(node["attrs"]["num_outputs"]))]
            arguments = [self.view(entry) for entry in entries]
            self.lib[node["attrs"]["func_name"]](*arguments)

    def view(self, entry: int) -> Any:
        """Return an array that lies where the executor has the values of an entry."""
        assert self.dtypes[entry] == "float32"
        values = self.arrays[self.storage[entry]][: math.prod(self.shapes[entry])].reshape(self.shapes[entry])
        return tvm.nd.from_dlpack(values)

    def launch(self, name: str, arguments: tuple[object, ...], extents: dict[str, int]) -> None:
        memory = [self.addresses[argument.value] for argument in arguments if isinstance(argument, ctypes.c_void_p)]
        assert len(memory) == len(arguments)
        blocks, threads = ([extents.get(f"{axis}.{along}", 1) for along in "xyz"] for axis in ("blockIdx", "threadIdx"))
        self.launches.append({"kernel": name, "memory": memory, "numbers": [], "blocks": blocks, "threads": threads})

    def program(self) -> dict[str, Any]:
        """Return the graph as a program for the page: its inputs are arguments, and so is its output."""
        inputs = [number for number, node in enumerate(self.nodes) if node["op"] == "null"]
        arguments = {self.storage[self.entry(node, 0)]: position for position, node in enumerate(inputs)}
        arguments[self.output] = len(inputs)
        memory = [
            {"name": f"storage {number}", "dtype": "float32", "elements": size, "argument": arguments.get(number)}
            for number, size in enumerate(self.sizes)
        ]
        step = {"source": self.kernels.get_source(), "memory": memory, "launches": self.launches}
        return {"seed": SEED, "steps": [step], "results": [{"argument": len(inputs)}]}


def test_a_small_cnn_runs_in_the_browser(explorer: str, open_page: Callable[..., Page]) -> None:
    recorded = Recorded(relay.build(small_cnn(), target="webgpu"))
    recorded.record()
    names = [node["name"] for node in recorded.nodes if node["op"] == "null"]
    shapes = [recorded.shapes[recorded.entry(at, 0)] for at, n in enumerate(recorded.nodes) if n["op"] == "null"]
    values = dict(zip(names, random_arrays(shapes, ["float32"] * len(names), SEED), strict=True))
    reference = graph_executor.GraphModule(relay.build(small_cnn(), target="llvm")["default"](tvm.cpu(0)))
    reference.run(**values)
    expected = reference.get_output(0).numpy()
    assert len(recorded.launches) >= 6
    page = open_page(explorer)
    modules = page.evaluate("document.querySelector('#entry').src.replace('main.js', 'webgpu')")
    result = np.frombuffer(bytes(page.evaluate(RUN, [modules, recorded.program()])), "float32")
    np.testing.assert_allclose(result[: expected.size].reshape(expected.shape), expected, rtol=1e-4)
    assert np.ptp(expected) > 1e-3
