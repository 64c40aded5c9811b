"""Latency of models, one thread, beside onnxruntime in the same run.

    python -m tests.benchmarks.relay_latency [MODEL …] [--rounds N] [--quantized static|operators|dynamic]
        [--half float16|bfloat16] [--in-half] [--mcpu CPU] [--small] [--batch N]

With ``--half`` a model after ``ToMixedPrecision`` is beside the same in float32; with ``--in-half`` it sums products in
float16.  The two take turns, and the median of each one's time is printed: processor time where other programs disturb
it.  Results are compared as well: rtol 1e-3, atol 1e-4; of halves, and of models that onnxruntime has quantised to 8
bits, by a twentieth of their range, as roundings differ and add up, and with onnxruntime's layers as they stand in the
file: fused ones saturate sums of two products at 16 bits on CPUs without VNNI.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnxruntime import quantization

import compiler as tvm
from compiler import relay
from compiler.classic.contrib import graph_executor
from compiler.driver.relay import vm
from compiler.driver.relay.build import build
from compiler.ir.transform import PassContext
from compiler.runtime.parallel.threads import set_num_threads
from compiler.runtime.timing.clock import Duration, disturbed_words, stopwatch
from tests import models


def ours(
    model: Any, inputs: dict[str, Any], by_machine: bool, target: str, half: str = "", in_half: bool = False
) -> tuple[Callable[[], Any], Callable[[], list[Any]], int]:
    """Return what runs a model here, what its results are, and the floating-point operations of a run if known."""
    shapes = {key: value.shape for key, value in inputs.items()}
    mod, params = relay.frontend.from_onnx(model, shapes, freeze_params=True)
    if half:
        mod = relay.transform.ToMixedPrecision(half)(relay.transform.InferType()(mod))
    with PassContext(opt_level=3, config={"relay.accumulate_in_half": in_half}):
        if by_machine:
            return (*_by_machine(vm.compile(mod, target, params=params), inputs), 0)
        lib = build(mod, target, params=params)
    module = graph_executor.GraphModule(lib["default"](tvm.cpu(0)))
    module.set_input(None, None, **inputs)
    names = [name for name, _ in module.module.thunks()]
    flops = sum(lib.kernels[n].flops or 0 for n in names if n in lib.kernels)
    outputs = range(module.get_num_outputs())
    return module.run, lambda: [np.asarray(module.get_output(i)).astype("float32") for i in outputs], flops


def _by_machine(program: vm.Executable, inputs: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], list[Any]]]:
    """Return what runs a program of the virtual machine, and what its results are."""
    machine = vm.VirtualMachine(program, tvm.cpu(0))
    machine.set_input("main", **inputs)
    return machine.run, lambda: [machine.run().numpy()]


def theirs(model: Any, inputs: dict[str, Any], is_optimized: bool = True, threads: int = 1) -> Callable[[], list[Any]]:
    """Return what runs a model in onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    if not is_optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, inputs)  # type: ignore[no-any-return]


class _Calibration(quantization.CalibrationDataReader):
    """Gives the one set of inputs that ranges are measured with."""

    def __init__(self, inputs: dict[str, Any]) -> None:
        self._inputs = iter([inputs])

    def get_next(self) -> Any:
        """Return the inputs once, then None."""
        return next(self._inputs, None)


def quantized(model: Any, inputs: dict[str, Any], how: str) -> Any:
    """Return a model whose layers compute with bytes: between (De)QuantizeLinear, as QLinearConv, or dynamically."""
    with TemporaryDirectory() as folder:
        before, after = Path(folder, "before.onnx"), Path(folder, "after.onnx")
        onnx.save(model, before)
        if how == "dynamic":
            quantization.quantize_dynamic(before, after, weight_type=quantization.QuantType.QInt8)
        else:
            # Unsigned data is what onnxruntime is fastest at.
            more = {"quant_format": quantization.QuantFormat.QDQ, "activation_type": quantization.QuantType.QUInt8}
            if how == "operators":
                more |= {"quant_format": quantization.QuantFormat.QOperator, "op_types_to_quantize": ["Conv"]}
            quantization.quantize_static(before, after, _Calibration(inputs), per_channel=True, **more)
        return onnx.load(after)


def turns(first: Callable[[], Any], second: Callable[[], Any], rounds: int) -> tuple[list[Duration], list[Duration]]:
    """Return the times of each."""
    times: tuple[list[Duration], list[Duration]] = ([], [])
    for _ in range(rounds):
        for run, taken in zip((first, second), times, strict=True):
            run()  # the caches are this one's again
            elapsed = stopwatch()
            run()
            taken.append(elapsed())
    return times


def _agree(a: Any, b: Any, is_quantized: bool) -> bool:
    if is_quantized:
        return bool(np.abs(a - b).max() <= 0.05 * np.ptp(b))
    return np.allclose(a, b, 1e-3, 1e-4)


def row(
    name: str,
    rounds: int,
    how: str = "",
    cpu: str = "native",
    half: str = "",
    in_half: bool = False,
    small: bool = False,
    batch: int | None = None,
) -> str:
    """Return the line of one model."""
    model = models.build(name, small, **({} if batch is None else {"batch": batch}))
    inputs = models.inputs_of(model)
    if how:
        model = quantized(model, inputs, how)
    run, results, flops = ours(model, inputs, name in models.BY_MACHINE, f"llvm -mcpu={cpu}", half, in_half)
    reference = ours(model, inputs, False, f"llvm -mcpu={cpu}")[0] if half else theirs(model, inputs)
    run()
    expected = theirs(model, inputs, is_optimized=not how)()
    same = all(_agree(a, b, bool(how or half)) for a, b in zip(results(), expected, strict=True))
    times = turns(run, reference, rounds)
    mine, other = (statistics.median(taken) * 1e3 for taken in times)
    verdict, words = "same" if same else "OTHER", disturbed_words([*times[0], *times[1]])
    return f"{name:12}{mine:12.3f}{other:14.3f}{mine / other:8.2f}{flops / mine / 1e6:10.1f}  {verdict} {words}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "models",
        nargs="*",
        default=[
            "resnet18",
            "resnet50",
            "mobilenetv2",
            "r3d18",
            "unet1d",
            "bert",
            "gpt",
            "lstm",
            "gru",
            "loop",
            "boxes",
            "experts",
        ],
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quantized", default="", choices=("static", "operators", "dynamic"))
    parser.add_argument("--half", default="", choices=("float16", "bfloat16"))
    parser.add_argument("--in-half", action="store_true", help="sum products of float16 in float16")
    parser.add_argument("--mcpu", default="native", help="what is compiled for; onnxruntime uses what there is")
    parser.add_argument("--small", action="store_true", help="models of the sizes that tests have")
    parser.add_argument("--batch", type=int, help="images or texts at a time")
    given = parser.parse_args()
    set_num_threads(1)
    options = (given.quantized, given.mcpu, given.half, given.in_half, given.small, given.batch)
    peer = "float32" if given.half else "onnxruntime"
    print(f"{'ms':12}{'here':>12}{peer:>14}{'ratio':>8}{'GFLOP/s':>10}  results")
    for name in given.models:
        print(row(name, given.rounds, *options), flush=True)


if __name__ == "__main__":
    main()
