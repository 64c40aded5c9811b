"""The functions of TVM's C++ core that programs call directly."""

from typing import TYPE_CHECKING

from compiler.classic.tir.memcpy import identify_memcpy
from compiler.ir.extension import public_module

__all__ = ["_identify_memcpy"]

_identify_memcpy = identify_memcpy

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.tir.analysis._ffi_api", __all__)
