"""What machine code is made for, and how: ``tvm.target``."""

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.target import codegen
from compiler.target.target import Target

__all__ = ["Target", "codegen"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.target", __all__)
