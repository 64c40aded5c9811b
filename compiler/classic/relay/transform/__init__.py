"""Passes over graphs that no build runs: programs call them by their names."""

from functools import partial

from compiler.ir.extension import extension_point
from compiler.ir.passes.package import load_passes

__all__ = load_passes(globals())

for _name in __all__:
    extension_point("tvm.relay.transform").add(_name, partial(globals().__getitem__, _name))
