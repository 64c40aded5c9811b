"""The sanitizer: checks the kernels of a schedule for races, barriers and memory errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.driver.device_pipeline import synchronize
from compiler.driver.emulate import lowered_for_device
from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.module import IRModule
from compiler.target.target import Target
from compiler.te.lowering.to_tir import Argument
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.expressions.evaluation import numpy_dtype
from compiler.tir.sanitizer import MAX_ACCESSES, SanitizerResult
from compiler.tir.sanitizer import sanitize as sanitize_function
from compiler.tir.statements.function import PrimFunc
from compiler.tir.transform.legalize.lower_dot_products import LowerDotProducts


def sanitize(
    inputs: Schedule | PrimFunc | IRModule,
    args: Sequence[Argument] | None = None,
    target: str | Target | None = None,
    arrays: Sequence[object] | None = None,
    name: str = "main",
    max_accesses: int = MAX_ACCESSES,
) -> SanitizerResult:
    """Run the kernels of a schedule thread by thread, with the barriers that lowering inserts, and report their faults.

    It takes about a microsecond for each access of each thread: choose small sizes.  Of a module, it is the function
    called ``name``, or its only one; arguments are changed in place, and random ones by default.

    Examples
    --------
    >>> print(sanitize(s, [A, B], "cuda"))
    """
    module, device = lowered_for_device(inputs, args, target, name)
    threads = LowerDotProducts()(synchronize(module, device))
    functions = {var.name_hint: func for var, func in threads.items() if isinstance(func, PrimFunc)}
    if name not in functions and len(functions) != 1:
        raise ArgumentError(f"sanitize: the module has no function {name!r}, it has {', '.join(functions) or 'none'}")
    func = functions.get(name) or next(iter(functions.values()))
    given = random_arguments(func) if arrays is None else arrays
    return sanitize_function(func, given, max(device.thread_warp_size, 1), max_accesses)


def random_arguments(func: PrimFunc, seed: int = 0) -> list[Any]:
    """Return random arrays for the parameters of a function of constant shapes, without scalars among them."""
    rng = np.random.default_rng(seed)
    arrays = []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        shape = [] if buffer is None else [extent.value for extent in buffer.shape if isinstance(extent, IntImm)]
        if buffer is None or len(shape) < len(buffer.shape):
            raise ArgumentError(f"sanitize: nothing says the size or value of {param.name}; give the arrays")
        kind = numpy_dtype(buffer.dtype)
        values = rng.standard_normal(shape, "float32") if dt.is_float(buffer.dtype) else rng.integers(0, 2, shape)
        arrays.append(values.astype(kind, copy=False))
    return arrays
