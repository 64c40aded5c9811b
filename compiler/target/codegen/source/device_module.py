"""The runtime's module of a program of kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from compiler.ir.module import IRModule
from compiler.runtime.device_module import DeviceModule
from compiler.target.codegen.source.generate import SourceCode
from compiler.target.target import Target

__all__ = ["FORMATS", "device_module"]

FORMATS = {"cuda": "cuda", "opencl": "cl", "metal": "metal", "webgpu": "wgsl"}
"""What the source of a kind of device is called."""


def device_module(
    code: SourceCode, target: Target, kernels: IRModule, more: Mapping[str, Callable[[], str]] | None = None
) -> DeviceModule:
    """Return the runtime's module of a program of kernels.

    Parameters
    ----------
    code : SourceCode
    target : Target
        The kernels'.
    kernels : IRModule
        The loop IR that the program was written from.
    more : mapping of str to callable, optional
        Other forms of the program, e.g. ``ptx``.

    Returns
    -------
    DeviceModule
    """
    kind = code.language.name
    sources = {FORMATS[kind]: lambda: code.text, **(more or {})}
    return DeviceModule(kind, code.signatures, sources, target, kernels)
