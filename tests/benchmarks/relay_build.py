"""Time from a model in ONNX to a library that runs, with and without its kernels in the cache.

    python -m tests.benchmarks.relay_build [MODEL ...]

The models are those of ``tests/models``.  Of every step wall time and the CPU time of all threads are printed: LLVM
works beside the lowering of the next kernel, so that on two free cores the first is smaller.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

from compiler import relay
from compiler.driver.relay.build import build
from compiler.driver.relay.kernels import clear_cache
from compiler.ir.transform import PassContext
from tests import models

TARGET = "llvm -mcpu=native"


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what ``work`` returns, its wall time and its CPU time in seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - wall, time.process_time() - cpu


def row(name: str) -> str:
    """Return the line of one model."""
    model = models.build(name)
    shapes = {key: value.shape for key, value in models.inputs_of(model).items()}
    content = model.SerializeToString()
    (mod, params), read, _ = timed(lambda: relay.frontend.from_onnx(_parsed(content), shapes, freeze_params=True))
    with PassContext(opt_level=3):
        clear_cache()
        lib, cold, cold_cpu = timed(lambda: build(mod, TARGET, params=params))
        _, warm, warm_cpu = timed(lambda: build(mod, TARGET, params=params))
    calls, kernels = len(lib.program.calls), len(lib.kernels)
    shared, unshared = lib.memory.shared / 2**20, lib.memory.unshared / 2**20
    return (
        f"{name:12}{calls:6}{kernels:8}{read:8.2f}{cold:8.2f}{cold_cpu:9.2f}{warm:8.2f}{warm_cpu:9.2f}"
        f"{shared:9.1f}{unshared:10.1f}"
    )


def _parsed(content: bytes) -> Any:
    import onnx

    return onnx.load_from_string(content)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["resnet18", "mobilenetv2", "bert", "gpt", "lstm"])
    relay.frontend.from_onnx  # noqa: B018  imports are not part of what is measured
    print(f"{'':26}{'import':>8}{'cold build':>17}{'kernels cached':>17}{'buffers, MiB':>19}")
    print(f"{'seconds':12}{'calls':>6}{'kernels':>8}{'':8}{'wall':>8}{'CPU':>9}{'wall':>8}{'CPU':>9}", end="")
    print(f"{'shared':>9}{'unshared':>10}")
    for name in parser.parse_args().models:
        print(row(name), flush=True)


if __name__ == "__main__":
    main()
