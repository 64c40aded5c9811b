"""Kernels defined by a workspace, in scripts named after them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import ModuleType
from typing import Any

from app.recorder.scripts.failures import brief, class_name, clean
from app.recorder.scripts.frames import deepest_line
from compiler.driver.relay.lower import KernelDefinition
from compiler.ir.error import ArgumentError
from compiler.ir.instrument import Instrument, instrumented, uninstrumented
from compiler.ir.module import IRModule
from compiler.ir.origin import lowering_to
from compiler.relay.function import Function
from compiler.te.definition.tensor import Tensor
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc

ENDING = ".kernel.py"
"""The suffix of the names of such files."""
MAX_SCRIPTS = 40
"""The maximum number of scripts."""


class KernelScripts(Instrument):
    """Replaces kernels by the definitions of scripts; if a script fails, its kernel is kept.

    Parameters
    ----------
    sources : mapping of str to str
        The scripts by kernel name.

    Attributes
    ----------
    problems : dict of str to str
        The reasons why kernels were not replaced, by kernel name.
    """

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = dict(sources)
        self.problems: dict[str, str] = {}

    def kernel_defined(self, name: str, function: Function, definition: KernelDefinition) -> KernelDefinition | None:
        """Run the script of a kernel, if there is one, and use the function that it builds under the kernel's name."""
        source = self.sources.get(name)
        if source is None:
            return None
        self.problems.pop(name, None)
        try:
            with uninstrumented(), lowering_to("te", function.span):
                own = _fitting(_made_by(source, name), definition)
                own.lowered(name)
        except Exception as error:  # if the script fails in any way, its kernel is kept
            self.problems[name] = _words(error, name + ENDING)
            return None
        return own


class _KernelReached(BaseException):
    """Raised when the script builds its kernel; not an Exception, so that scripts do not catch it by accident."""


class _Lowering(Instrument):
    """Ends a script when it lowers a function of a given name, which is then compiled with the model."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.lowered: tuple[object, Sequence[Any]] | None = None

    def lower_begin(self, name: str, source: object, args: Sequence[Any] | None) -> None:
        """Capture the function that is lowered under the name."""
        if name == self._name:
            self.lowered = source, list(args or ())
            raise _KernelReached


def _made_by(source: str, name: str) -> tuple[object, Sequence[Any]]:
    """Run a script until it lowers its kernel; return the schedule and its arguments, or the program."""
    module = ModuleType("__main__")
    lowering = _Lowering(name)
    with suppress(_KernelReached), instrumented(lowering):
        exec(compile(source, name + ENDING, "exec"), module.__dict__)
    if lowered := lowering.lowered:
        return lowered
    raise ArgumentError(f"it builds no function with the name {name!r}")


def _fitting(made: tuple[object, Sequence[Any]], definition: KernelDefinition) -> KernelDefinition:
    """Convert the result of a script to a definition that can replace the original."""
    source, args = made
    if isinstance(source, IRModule) and len(source.functions) == 1:
        (source,) = source.functions.values()
    if isinstance(source, PrimFunc):
        args = [source.buffer_map.get(param, param) for param in source.params]
    elif not isinstance(source, Schedule):
        raise ArgumentError("a kernel of a model must be a schedule of tensor expressions, or one function of TensorIR")
    given = [_type(arg) if isinstance(arg, Tensor | Buffer) else str(arg) for arg in args]
    expected = [_type(tensor) for tensor in (*definition.inputs, *definition.outputs)]
    if given != expected:
        raise ArgumentError(f"it takes ({', '.join(given)}), but the model passes ({', '.join(expected)})")
    if isinstance(source, PrimFunc):
        return replace(definition, program=source)
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    count = len(definition.inputs)
    outputs = tensors[count:]
    if any(tensor.op not in source.outputs for tensor in outputs):
        raise ArgumentError(f"its last {len(outputs)} arguments must be what its schedule computes")
    return KernelDefinition(tensors[:count], outputs, source)


def _type(tensor: Tensor | Buffer) -> str:
    return f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]"


def _words(error: Exception, file: str) -> str:
    line = error.lineno if isinstance(error, SyntaxError) else deepest_line(error.__traceback__, file)
    place = f"line {line}: " if line else ""
    return clean(f"{place}{class_name(error)}: {brief(error)}")


def attached_kernel_scripts() -> dict[str, str]:
    """Return the kernel scripts in the working directory, by kernel name."""
    names = sorted(name for name in os.listdir() if name.endswith(ENDING))[:MAX_SCRIPTS]
    scripts = {}
    for name in names:
        with open(name, encoding="utf-8", errors="replace") as file:
            scripts[name.removesuffix(ENDING)] = file.read()
    return scripts
