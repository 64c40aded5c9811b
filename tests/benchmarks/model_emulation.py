"""Whole models built for a GPU, run on the CPU thread by thread, against the build for the CPU.

    python -m tests.benchmarks.model_emulation [MODEL ...] [--target cuda] [--image 224] [--small]

The models are those of ``tests/models``, with random inputs.  Printed are the kernels, the largest difference of an
output relative to its largest value, and seconds: of the build for emulation, and of the processor for one inference
and for one by the build for the CPU.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

import compiler as tvm
from compiler import relay
from compiler.classic.relay.emulate import emulate_graph
from compiler.runtime.graph.graph_module import GraphModule
from tests import models

TOLERANCE = 1e-3
"""Of the largest value of an output; sums are added up in another order."""


def results(built: Any, inputs: dict[str, Any]) -> tuple[list[Any], float]:
    """Return the outputs of a model, and the processor's seconds of an inference."""
    executor = GraphModule(built["default"](tvm.cpu(0)))
    executor.set_input(**inputs)
    executor.run()
    started = time.process_time()
    executor.run()
    seconds = time.process_time() - started
    return [executor.get_output(i).numpy() for i in range(executor.get_num_outputs())], seconds


def compared(name: str, target: str, small: bool, sizes: dict[str, int]) -> tuple[float, str]:
    """Return the largest difference of a model's outputs, relative to the largest value, and its line."""
    model = models.build(name, small, **sizes)
    inputs = models.inputs_of(model)
    shapes = {key: value.shape for key, value in inputs.items()}
    mod, params = relay.frontend.from_onnx(model, shapes, freeze_params=True)
    expected, cpu = results(relay.build(mod, "llvm", params=params), inputs)
    started = time.perf_counter()
    emulated = emulate_graph(mod, target, params)
    built = time.perf_counter() - started
    outputs, run = results(emulated, inputs)
    worst = max(
        float(np.abs(output - reference).max(initial=0) / max(np.abs(reference).max(initial=0), 1e-30))
        for output, reference in zip(outputs, expected, strict=True)
    )
    return worst, f"{name:12}{len(emulated.kernels):8}{worst:12.1e}{built:9.1f}{run:9.2f}{cpu:9.2f}"


def main() -> None:
    """Print the table; fail where a model computes something else."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["resnet18", "mobilenetv2", "bert"])
    parser.add_argument("--target", default="cuda")
    parser.add_argument("--image", type=int, default=0, help="rows and columns of images; the models' own if left out")
    parser.add_argument("--small", action="store_true", help="few channels and layers")
    asked = parser.parse_args()
    print(f"{'model':12}{'kernels':>8}{'difference':>12}{'build s':>9}{'run s':>9}{'CPU s':>9}")
    wrong = False
    for name in asked.models:
        has_images = name in ("resnet18", "mobilenetv2")
        sizes = {"image": asked.image} if asked.image and has_images else {}
        difference, line = compared(name, asked.target, asked.small, sizes)
        wrong = wrong or not difference <= TOLERANCE
        print(line, flush=True)
    sys.exit("a model computes something else" if wrong else 0)


if __name__ == "__main__":
    main()
