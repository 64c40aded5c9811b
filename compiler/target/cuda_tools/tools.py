"""Lookup and resource-limited execution of NVIDIA's tools, whose inputs derive from untrusted schedules."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from compiler.ir.error import BuildError, UnavailableError
from compiler.target.cuda_tools.processors import PROCESSORS

__all__ = ["find_tool", "include_folder", "knows", "missing_tools", "run_limited"]

_PACKAGES = {
    "bin/ptxas": "nvidia-cuda-nvcc",
    "bin/nvdisasm": "nvidia-cuda-nvdisasm",
    "lib/libnvrtc.so.*": "nvidia-cuda-nvrtc",
}
_INSTALL = "pip install -e '.[cuda]' installs them"
_SECONDS = 20
_BYTES = 4 << 30
_LIMITED = str(Path(__file__).with_name("limited.py"))


@cache
def _folders() -> tuple[Path, ...]:
    """Return the directories of NVIDIA's packages, such as ``nvidia/cu13``, the newest first."""
    spec = importlib.util.find_spec("nvidia")
    places = [] if spec is None or spec.submodule_search_locations is None else spec.submodule_search_locations
    return tuple(sorted((folder for place in places for folder in Path(place).glob("cu*")), reverse=True))


def find_tool(pattern: str) -> Path:
    """Find a tool."""
    for folder in _folders():
        for path in sorted(folder.glob(pattern)):
            return path
    raise UnavailableError(
        f"{Path(pattern).name.split('.')[0]} is in {_PACKAGES[pattern]}, which is missing; {_INSTALL}"
    )


def missing_tools() -> str:
    """Return installation instructions for missing tools."""
    missing = []
    for pattern, package in _PACKAGES.items():
        if not any(any(folder.glob(pattern)) for folder in _folders()):
            missing.append(package)
    return f"NVIDIA's compilers ({', '.join(missing)}) are not installed; {_INSTALL}" if missing else ""


def include_folder() -> Path | None:
    """Return the directory of CUDA's headers, such as ``cuda_fp16.h``; None if not installed."""
    return next((folder / "include" for folder in _folders() if (folder / "include" / "cuda_fp16.h").exists()), None)


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
    if processor is None or not _folders():
        return False
    release = int("".join(filter(str.isdigit, _folders()[0].name)) or 0)
    return processor.last_release is None or release <= processor.last_release
