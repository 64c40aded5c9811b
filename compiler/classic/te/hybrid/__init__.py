"""Hybrid scripts: operations written as Python loops over elements, ``tvm.te.hybrid``.

A function under :func:`script` is Python: called with NumPy arrays it runs as it is written.  Called with tensors it is
read instead, and describes an operation whose loops a schedule can change::

    @te.hybrid.script
    def outer_product(a, b):
        c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
        for i in range(a.shape[0]):
            for j in parallel(b.shape[0]):
                c[i, j] = a[i] * b[j]
        return c
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING

from compiler.classic.te.hybrid.expressions import HybridError
from compiler.classic.te.hybrid.module import HybridModule, build
from compiler.classic.te.hybrid.parser import parse_function, source_to_op
from compiler.classic.te.hybrid.runtime import describes_operation, run_as_python
from compiler.ir.error import ArgumentError, show
from compiler.ir.extension import public_module
from compiler.tir.script.source import Source

__all__ = ["HybridError", "HybridModule", "build", "script", "source_to_op"]


def script(pyfunc: Callable[..., object]) -> Callable[..., object]:
    """Make a hybrid script of a function: ``@te.hybrid.script``.

    The function is one over elements of arrays, with the words ``output_tensor``, ``allocate``, ``parallel``,
    ``vectorize``, ``unroll``, ``const_range``, ``bind``, and mathematical functions by their names.  With tensors,
    variables and lists of these the script returns the tensors that it computes; with NumPy arrays and numbers it runs
    the function. Raises ArgumentError if it is not a function.
    """
    if not inspect.isfunction(pyfunc):
        raise ArgumentError(f"hybrid.script: expected a function, got {show(pyfunc)}")

    @functools.wraps(pyfunc)
    def hybrid(*args: object, **kwargs: object) -> object:
        bound = inspect.signature(pyfunc).bind(*args, **kwargs)
        bound.apply_defaults()
        if not describes_operation(bound.args):
            return run_as_python(pyfunc, *bound.args)
        around = inspect.getclosurevars(pyfunc)
        return parse_function(Source.of_object(pyfunc), bound.args, {**around.globals, **around.nonlocals})

    return hybrid


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.te.hybrid", __all__)
