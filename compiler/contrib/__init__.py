"""Parts under TVM's names beside the language: ``tvm.contrib``."""

from compiler.ir.extension import public_module

__getattr__, __dir__ = public_module("tvm.contrib", ())
