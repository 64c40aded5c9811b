"""Lookup and resource-limited execution of NVIDIA's tools, whose inputs derive from untrusted schedules."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from compiler.ir.error import BuildError, UnavailableError
from compiler.target.cuda_tools.processors import PROCESSORS

NVRTC = "lib*/libnvrtc.so.*"
"""The compiler of CUDA C; it alone makes the machine code of a kernel."""
_PACKAGES = {"bin/ptxas": "nvidia-cuda-nvcc", "bin/nvdisasm": "nvidia-cuda-nvdisasm", NVRTC: "nvidia-cuda-nvrtc"}
_TOOLKITS = ("CUDA_HOME", "CUDA_PATH")
"""Environment variables that name the directory of a CUDA Toolkit."""
_TOOLKIT = "/usr/local/cuda"
_INSTALL = "pip install 'strata-explorer[cuda]' installs them"
_SECONDS = 20
_BYTES = 4 << 30
_LIMITED = str(Path(__file__).with_name("limited.py"))


@cache
def _folders() -> tuple[Path, ...]:
    """Return the directories of NVIDIA's packages, such as ``nvidia/cu13``, the newest first, then of its Toolkit."""
    spec = importlib.util.find_spec("nvidia")
    places = [] if spec is None or spec.submodule_search_locations is None else spec.submodule_search_locations
    return (*sorted((folder for place in places for folder in Path(place).glob("cu*")), reverse=True), *toolkits())


def toolkits() -> list[Path]:
    """Return the directories of the CUDA Toolkits of this machine."""
    named = [*filter(None, map(os.environ.get, _TOOLKITS)), _TOOLKIT]
    return [Path(folder) for folder in dict.fromkeys(named) if Path(folder, "bin").is_dir()]


def find_tool(pattern: str) -> Path:
    """Find a tool."""
    for folder in _folders():
        for path in sorted(folder.glob(pattern)):
            return path
    raise UnavailableError(
        f"{Path(pattern).name.split('.')[0]} is in {_PACKAGES[pattern]}, which is missing; {_INSTALL}"
    )


def missing_tools(*patterns: str) -> str:
    """Return installation instructions for those of some tools, by default all, that are missing."""
    missing = [
        _PACKAGES[pattern]
        for pattern in patterns or _PACKAGES
        if not any(any(folder.glob(pattern)) for folder in _folders())
    ]
    return f"NVIDIA's compilers ({', '.join(missing)}) are not installed; {_INSTALL}" if missing else ""


def include_folders() -> list[Path]:
    """Return the directories of CUDA's headers, such as ``cuda_fp16.h``: a package may leave some to another one."""
    return [headers for folder in _folders() if (headers := folder / "include").is_dir()]


def run_limited(command: Sequence[str], folder: str) -> subprocess.CompletedProcess[str]:
    """Run a tool, or a ``.py`` script of this package, with limits on time, memory and files, and no environment."""
    limited = [sys.executable, "-I", "-S", _LIMITED, str(_SECONDS), str(_BYTES), *command]
    try:
        return subprocess.run(
            limited, cwd=folder, env={"HOME": folder, "TMPDIR": folder}, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", timeout=_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise BuildError(f"{Path(command[0]).name} took more than {_SECONDS} seconds") from None


def knows(arch: str) -> bool:
    """Return whether the installed CUDA release supports an architecture."""
    processor = PROCESSORS.get(arch)
    if processor is None or missing_tools(NVRTC):
        return False
    return processor.last_release is None or release() <= processor.last_release


def release() -> int:
    """Return the release of CUDA that NVRTC is of, e.g. 13."""
    numbered = re.search(r"\.so\.(\d+)", find_tool(NVRTC).name)
    return int(numbered[1]) if numbered else 0
