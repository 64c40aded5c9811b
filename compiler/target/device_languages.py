"""The languages of kernels that the explorer shows side by side."""

from __future__ import annotations

__all__ = ["DEVICE_LANGUAGES"]

DEVICE_LANGUAGES: dict[str, str] = {
    "cuda": "CUDA C",
    "opencl": "OpenCL C",
    "metal": "Metal",
    "webgpu": "WGSL",
    "nvptx": "PTX by LLVM",
    "rocm": "GCN by LLVM",
}
"""What a selector calls them, by the kind of target; the first is that of schedules which are built for no device."""
