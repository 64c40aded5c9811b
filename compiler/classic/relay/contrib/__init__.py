"""Pattern tables of external compilers: ``relay.op.contrib``."""

from typing import TYPE_CHECKING

from compiler.classic.relay.contrib.register import get_pattern_table, register_pattern_table
from compiler.ir.extension import public_module

__all__ = ["get_pattern_table", "register_pattern_table"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.relay.op.contrib", __all__)
