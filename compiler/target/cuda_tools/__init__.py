"""NVIDIA's own tools, where they are installed: CUDA C to PTX, its resources, SASS, and occupancy."""

from compiler.target.cuda_tools.compile import CodeLine, CudaReport, KernelReport, compile_cuda, compile_here
from compiler.target.cuda_tools.occupancy import Occupancy, occupancy
from compiler.target.cuda_tools.processors import PROCESSORS, Processor
from compiler.target.cuda_tools.resources import KernelResources
from compiler.target.cuda_tools.tools import missing_tools

__all__ = [
    "PROCESSORS",
    "CodeLine",
    "CudaReport",
    "KernelReport",
    "KernelResources",
    "Occupancy",
    "Processor",
    "compile_cuda",
    "compile_here",
    "missing_tools",
    "occupancy",
]
