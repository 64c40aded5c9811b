"""NVIDIA's tools, if installed: PTX, SASS, resource usage and occupancy of CUDA C."""

from compiler.target.cuda_tools.compile import (
    DISASSEMBLER,
    CodeLine,
    CudaReport,
    KernelReport,
    Translation,
    compile_cuda,
    report,
    translate,
)
from compiler.target.cuda_tools.listings import CONTROL_HEADING
from compiler.target.cuda_tools.occupancy import Occupancy, occupancy
from compiler.target.cuda_tools.processors import PROCESSORS, Processor
from compiler.target.cuda_tools.resources import KernelResources
from compiler.target.cuda_tools.tools import missing_tools

__all__ = [
    "CONTROL_HEADING", "DISASSEMBLER", "PROCESSORS", "CodeLine", "CudaReport", "KernelReport", "KernelResources",
    "Occupancy", "Processor", "Translation", "compile_cuda", "missing_tools", "occupancy", "report", "translate",
]  # fmt: skip
