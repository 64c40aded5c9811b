"""Passes over loop IR that no build runs: programs call them by their names."""

from compiler.ir.extension import offer
from compiler.ir.passes.package import load_passes

__all__ = load_passes(globals())

offer("tvm.tir.transform", __all__, globals())
