"""Targets and code generation: ``tvm.target``."""

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.target import codegen
from compiler.target.kinds import TargetKind
from compiler.target.target import Target
from compiler.target.virtual_device import CompilationConfig, VirtualDevice, make_compilation_config

__all__ = [
    "CompilationConfig", "Target", "TargetKind", "VirtualDevice", "codegen", "make_compilation_config",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.target", __all__)
