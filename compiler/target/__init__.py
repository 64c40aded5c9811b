"""Targets and code generation: ``tvm.target``."""

from typing import TYPE_CHECKING

from compiler.ir.extension import public_module
from compiler.target import codegen
from compiler.target.devices import (
    adreno,
    arm_cpu,
    bifrost,
    cuda,
    hexagon,
    intel_graphics,
    mali,
    micro,
    opengl,
    rasp,
    riscv_cpu,
    rocm,
    stm32,
    vta,
)
from compiler.target.generic_func import (
    GenericFunc,
    generic_func,
    get_native_generic_func,
    override_native_generic_func,
)
from compiler.target.kinds import TargetKind
from compiler.target.tag import list_tags, register_tag
from compiler.target.target import Target
from compiler.target.virtual_device import CompilationConfig, VirtualDevice, make_compilation_config

__all__ = [
    "CompilationConfig",
    "GenericFunc",
    "Target",
    "TargetKind",
    "VirtualDevice",
    "adreno",
    "arm_cpu",
    "bifrost",
    "codegen",
    "cuda",
    "generic_func",
    "get_native_generic_func",
    "hexagon",
    "intel_graphics",
    "list_tags",
    "make_compilation_config",
    "mali",
    "micro",
    "opengl",
    "override_native_generic_func",
    "rasp",
    "register_tag",
    "riscv_cpu",
    "rocm",
    "stm32",
    "vta",
]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.target", __all__)
