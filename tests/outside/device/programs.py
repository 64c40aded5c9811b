"""Random programs for GPUs against NumPy: bound loops, shared memory, reductions across threads, vectors, types."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from compiler.ir.error import LoweringError
from tests.compiler.driver.gpu_programs import GPUProgram, random_program, warp_program
from tests.compiler.driver.gpu_types import typed_program
from tests.outside.device import gpu
from tests.outside.device.cases import SHARDS, Case, Record

PROGRAMS = 250


def program(seed: int) -> GPUProgram:
    """Return the program of a seed: of five, three of loops, one of types, and one of types or warps."""
    if seed % 5 < 3:
        return random_program(seed)
    return warp_program(seed) if seed % 10 == 9 else typed_program(seed)


def cases(shard: int) -> Iterator[Case]:
    """Yield every so many program."""
    for seed in range(shard, PROGRAMS, SHARDS):
        yield f"program {seed}", partial(_case, seed)


def _case(seed: int) -> Record:
    made = program(seed)
    arrays = made.arrays(seed)
    built = gpu.function(made.schedule, made.args)
    try:
        result = gpu.called(built, arrays)[-1]
    except LoweringError as error:
        # Sizes that the call alone knows are not launched yet.
        return {"status": "refused", "why": str(error)}
    return {"error": gpu.same(result, made.reference(*arrays[:-1]), 1e-3 if result.dtype == "float16" else 1e-5)}
