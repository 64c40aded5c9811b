"""The device languages that the explorer shows."""

from __future__ import annotations

DEVICE_LANGUAGES: dict[str, str] = {
    "cuda": "CUDA C",
    "opencl": "OpenCL C",
    "metal": "Metal",
    "webgpu": "WGSL",
    "nvptx": "PTX by LLVM",
    "rocm": "GCN by LLVM",
}
"""Their labels by target kind; the first is the default for schedules without a device target."""
