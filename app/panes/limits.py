"""Limits on the amount of an answer that a page shows."""

from __future__ import annotations

import msgspec

from app.artifacts import Answer, Kernel, Unit

MAX_UNITS, MAX_STEPS, MAX_STAGES, MAX_LOOPS, MAX_CONSOLE, MAX_PROBLEMS = 200, 1_000, 100, 100, 1_000, 50
MAX_KERNELS, MAX_OPERATORS, MAX_MEMORY, MAX_OWN_KERNELS = 400, 300, 10, 40
MAX_MEASUREMENTS, MAX_SPLITS = 400, 200
MAX_SCRIPT = 20_000
"""Maximum length of the standalone script of a kernel."""


def trimmed(answer: Answer) -> Answer:
    """Truncate an answer to the limits, which benign scripts stay far below."""
    return msgspec.structs.replace(
        answer,
        units=[_trimmed_unit(unit) for unit in answer.units[-MAX_UNITS:]],
        console=answer.console[:MAX_CONSOLE],
        problems=answer.problems[:MAX_PROBLEMS],
        measurements=answer.measurements[-MAX_MEASUREMENTS:],
    )


def _trimmed_unit(unit: Unit) -> Unit:
    stages = [msgspec.structs.replace(stage, loops=stage.loops[:MAX_LOOPS]) for stage in unit.schedule[:MAX_STAGES]]
    return msgspec.structs.replace(
        unit,
        steps=unit.steps[:MAX_STEPS],
        schedule=stages,
        splits=unit.splits[:MAX_SPLITS],
        kernels=[_trimmed_kernel(kernel) for kernel in unit.kernels[:MAX_KERNELS]],
        own_kernels=unit.own_kernels[:MAX_OWN_KERNELS],
        memory=unit.memory[:MAX_MEMORY],
    )


def _trimmed_kernel(kernel: Kernel) -> Kernel:
    return msgspec.structs.replace(
        kernel,
        operators=kernel.operators[:MAX_OPERATORS],
        origins=kernel.origins[:MAX_OPERATORS],
        layers=kernel.layers[:MAX_OPERATORS],
        script=kernel.script if len(kernel.script) <= MAX_SCRIPT else "",
    )
