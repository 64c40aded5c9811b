"""The operators of neural networks as tensor expressions, a file a family: ``tvm.topi.nn``."""

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.topi.nn", ())
