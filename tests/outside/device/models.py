"""Whole models on the device, against onnxruntime and against the build for the CPU."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import compiler as tvm
from compiler import relay
from compiler.runtime.graph.graph_module import GraphModule
from tests import models
from tests.benchmarks.relay_latency import quantized, theirs
from tests.outside.device import gpu
from tests.outside.device.cases import Case, Record

SIZES: dict[str, dict[str, Any]] = {"bert": {"layers": 4, "width": 512, "heads": 8, "length": 128}}
"""BERT-small."""


def residual() -> Iterator[Case]:
    """Yield convolutional networks."""
    yield "resnet18, small", partial(_case, "resnet18", small=True)
    yield "resnet18", partial(_case, "resnet18")
    yield "mobilenetv2", partial(_case, "mobilenetv2")


def bert() -> Iterator[Case]:
    """Yield transformers."""
    yield "bert, small", partial(_case, "bert", small=True)
    yield "bert", partial(_case, "bert")
    yield "gpt, small", partial(_case, "gpt", small=True)
    yield "gru, small", partial(_case, "gru", small=True)


def quantised() -> Iterator[Case]:
    """Yield models of bytes."""
    yield "resnet18, small, int8", partial(_case, "resnet18", small=True, how="static")
    yield "mobilenetv2, int8", partial(_case, "mobilenetv2", how="static")
    yield "bert, small, int8", partial(_case, "bert", small=True, how="dynamic")


def _results(built: Any, inputs: dict[str, Any], runs: int = 1) -> tuple[list[Any], float]:
    executor = GraphModule(built["default"](tvm.cpu(0)))
    executor.set_input(None, None, **inputs)
    executor.run()
    spent = []
    for _ in range(runs):
        began = time.perf_counter()
        executor.run()
        spent.append(time.perf_counter() - began)
    return [executor.get_output(i).numpy() for i in range(executor.get_num_outputs())], float(np.median(spent))


def _case(name: str, small: bool = False, how: str = "") -> Record:
    model = models.build(name, small, **({} if small else SIZES.get(name, {})))
    inputs = models.inputs_of(model)
    if how:
        model = quantized(model, inputs, how)
    shapes = {key: value.shape for key, value in inputs.items()}
    mod, params = relay.frontend.from_onnx(model, shapes, freeze_params=True)
    began = time.perf_counter()
    built = gpu.graph(mod, params)
    taken = time.perf_counter() - began
    with gpu.kernel_seconds() as total:
        outputs, _ = _results(built, inputs)
        on_device = total() / 2  # the results are those of the second of two runs
    outputs, seconds = _results(built, inputs, 3)
    on_cpu, cpu_seconds = _results(relay.build(mod, "llvm", params=params), inputs, 3)
    tolerance = 0.05 if how else 1e-3
    errors = [gpu.same(a, b, tolerance) for a, b in zip(outputs, on_cpu, strict=True)]
    reference = theirs(model, inputs, is_optimized=not how)()
    far = [gpu.same(np.asarray(a), b, tolerance) for a, b in zip(outputs, reference, strict=True)]
    return {
        "kernels": len(built.get_lib().kernels),
        "from the CPU's build": max(errors),
        "from onnxruntime": max(far),
        "build seconds": taken,
        "milliseconds of kernels": on_device * 1e3,
        "milliseconds with copies": seconds * 1e3,
        "milliseconds of the CPU": cpu_seconds * 1e3,
    }
