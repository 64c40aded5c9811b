"""What machine code is made for, and how: ``tvm.target``."""

from compiler.target.target import Target

__all__ = ["Target"]
