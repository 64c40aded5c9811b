"""What LLVM's back ends for GPUs are told: PTX for ``nvptx``, GCN assembly for ``rocm``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from compiler.tir.expressions.device_ops import WARP_ACTIVEMASK, WARP_SHUFFLE, WARP_SHUFFLE_DOWN

_WHOLE_WARP = -1
"""The mask of all threads of a warp."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LLVMDevice:
    """A GPU back end of LLVM.

    Attributes
    ----------
    triple, cpu : str
        The target triple, and the default CPU.
    features : str
        Features that all CPUs of the back end have.
    axes : mapping of str to str
        The intrinsic of each thread axis.
    barrier : str
        The intrinsic that synchronises the threads of a block.
    warp_barrier : tuple of str and list of int
        The intrinsic that is a barrier for the threads of a warp, and its operands.
    fence : str
        The scope of the memory fences before and after it; empty if it is one itself.
    functions : str
        Pattern of the generic intrinsics that the back end supports.
    """

    triple: str
    cpu: str
    features: str = ""
    convention: str
    axes: Mapping[str, str]
    barrier: str
    warp_barrier: tuple[str, list[int]]
    fence: str = ""
    warp: Mapping[str, str] = field(default_factory=dict)
    stack: int = 0
    functions: str = (
        r"llvm\.(fma|fmuladd|fabs|sqrt|floor|ceil|trunc|rint|nearbyint|minnum|maxnum|copysign|ctpop|ctlz|[su]min|[su]max"
        r"|abs|assume|fshl|bswap|vector\.reduce\.\w+|lifetime\.\w+)\."
    )


def _axes(block: str, thread: str) -> dict[str, str]:
    return {f"{of}.{a}": f"{name}.{a}" for of, name in (("blockIdx", block), ("threadIdx", thread)) for a in "xyz"}


DEVICES: dict[str, LLVMDevice] = {
    "nvptx": LLVMDevice(
        triple="nvptx64-nvidia-cuda",
        cpu="sm_70",
        features="+ptx87",  # the PTX version, by default the oldest that supports the CPU
        convention="ptx_kernel",
        axes=_axes("llvm.nvvm.read.ptx.sreg.ctaid", "llvm.nvvm.read.ptx.sreg.tid"),
        barrier="llvm.nvvm.barrier0",
        warp_barrier=("llvm.nvvm.bar.warp.sync", [_WHOLE_WARP]),
        warp={
            WARP_ACTIVEMASK.name: "llvm.nvvm.activemask",
            WARP_SHUFFLE.name: "llvm.nvvm.shfl.sync.idx",
            WARP_SHUFFLE_DOWN.name: "llvm.nvvm.shfl.sync.down",
        },
    ),
    "rocm": LLVMDevice(
        triple="amdgcn-amd-amdhsa",
        cpu="gfx900",
        convention="amdgpu_kernel",
        axes=_axes("llvm.amdgcn.workgroup.id", "llvm.amdgcn.workitem.id"),
        barrier="llvm.amdgcn.s.barrier",
        warp_barrier=("llvm.amdgcn.wave.barrier", []),
        fence="wavefront",  # whose threads run in lockstep: only the compiler has to keep the order
        stack=5,
    ),
}
"""The GPU back ends, by target kind."""
