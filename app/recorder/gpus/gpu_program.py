"""Building blocks of programs for the visitor's GPU."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping

import numpy as np

from app.recorder.measuring.measure import RELATIVE, Array
from app.webgpu import MAX_COMPARED, MAX_SAMPLE, GPULaunch, GPUMemory, GPUResult, GPUStep
from compiler.driver.launch_plan import LaunchPlan


def gpu_step(
    step: int, label: str, line: int | None, plan: LaunchPlan, values: Mapping[int, str] | None = None
) -> GPUStep:
    """Describe the launches of a step.

    Parameters
    ----------
    line : int, optional
        The line of the script.
    values : mapping of int to str, optional
        The packed initial contents of memory, by position.
    """
    given = values or {}
    memory = [
        GPUMemory(name=m.name, dtype=m.dtype, elements=m.elements, argument=m.parameter, values=given.get(at, ""))
        for at, m in enumerate(plan.memory)
    ]
    launches = [
        GPULaunch(
            kernel=launch.kernel,
            memory=list(launch.memory),
            numbers=[(dtype, float(value)) for dtype, value in launch.numbers],
            blocks=launch.blocks,
            threads=launch.threads,
            shared_bytes=launch.shared_bytes,
        )
        for launch in plan.launches
    ]
    return GPUStep(step=step, label=label, line=line, source=plan.source, memory=memory, launches=launches)


def gpu_result(argument: int, output: Array, compared: int, seed: int) -> GPUResult:
    """Describe the expected contents of an argument: all elements, or a sample if there are many.

    Parameters
    ----------
    compared : int
        The number of elements of all outputs.
    seed : int
        The seed of the sample.
    """
    values = np.ascontiguousarray(output).reshape(-1)
    floating = np.issubdtype(values.dtype, np.floating)
    finite = np.abs(values[np.isfinite(values)].astype(np.float64)) if floating else np.zeros(0)
    indices = np.zeros(0, np.uint32)
    if compared > MAX_COMPARED:
        count = min(values.size, MAX_SAMPLE * values.size // compared)
        chosen = np.random.default_rng(seed).choice(values.size, size=count, replace=False, shuffle=False)
        indices = np.sort(chosen).astype(np.uint32)
        values = values[indices]
    return GPUResult(
        argument=argument,
        dtype=str(values.dtype),
        indices=packed(indices),
        values=packed(values),
        tolerance=RELATIVE[values.dtype.itemsize] if floating else 0.0,
        scale=float(np.max(finite, initial=0.0)),
    )


def packed(values: Array) -> str:
    """Encode numbers as little-endian base64."""
    return b64encode(values.tobytes()).decode()
