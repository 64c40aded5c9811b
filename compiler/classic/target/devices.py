"""Functions that create targets of device families: ``tvm.target.cuda``, ``tvm.target.arm_cpu``, …"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from compiler.ir.error import expected
from compiler.target.options import option_text
from compiler.target.target import Target

__all__ = [
    "adreno", "arm_cpu", "bifrost", "cuda", "hexagon", "intel_graphics", "mali", "micro", "opengl", "rasp",
    "riscv_cpu", "rocm", "stm32", "vta",
]  # fmt: skip

Options = str | Sequence[str] | None
"""Further options of a target: a string or a list of strings."""

_ARM_BOARDS: dict[str, tuple[str, str]] = {
    "pixel2": ("snapdragon835", "-mtriple=arm64-linux-android -mattr=+neon"),
    "mate10": ("kirin970", "-mtriple=arm64-linux-android -mattr=+neon"),
    "mate10pro": ("kirin970", "-mtriple=arm64-linux-android -mattr=+neon"),
    "p20": ("kirin970", "-mtriple=arm64-linux-android -mattr=+neon"),
    "p20pro": ("kirin970", "-mtriple=arm64-linux-android -mattr=+neon"),
    "rasp3b": ("bcm2837", "-mtriple=armv7l-linux-gnueabihf -mattr=+neon"),
    "rasp4b": ("bcm2711", "-mtriple=armv8l-linux-gnueabihf -mattr=+neon -mcpu=cortex-a72"),
    "rasp4b64": ("bcm2711", "-mtriple=aarch64-linux-gnu -mattr=+neon -mcpu=cortex-a72"),
    "rk3399": ("rk3399", "-mtriple=aarch64-linux-gnu -mattr=+neon"),
    "pynq": ("pynq", "-mtriple=armv7a-linux-eabi -mattr=+neon"),
    "ultra96": ("ultra96", "-mtriple=aarch64-linux-gnu -mattr=+neon"),
    "beagleai": ("beagleai", "-mtriple=armv7a-linux-gnueabihf -mattr=+neon,+vfp4,+thumb2 -mcpu=cortex-a15"),
    "stm32mp1": ("stm32mp1", "-mtriple=armv7a-linux-gnueabihf -mattr=+neon,+vfp4,+thumb2 -mcpu=cortex-a7"),
    "thunderx": ("thunderx", "-mtriple=aarch64-linux-gnu -mattr=+neon,+crc,+lse -mcpu=thunderxt88"),
}
"""ARM boards, with their models and compiler options."""

_RISCV_BOARDS: dict[str, str] = {
    "sifive-e31": "-mtriple=riscv32-unknown-elf -mcpu=sifive-e31 -mabi=ilp32",
    "sifive-e76": "-mtriple=riscv32-unknown-elf -mcpu=sifive-e76 -mabi=ilp32",
    "sifive-u54": "-mtriple=riscv64-unknown-linux-gnu -mcpu=sifive-u54 -mabi=lp64d",
    "sifive-u74": "-mtriple=riscv64-unknown-linux-gnu -mcpu=sifive-u74 -mabi=lp64d",
    "licheerv": "-mtriple=riscv64-unknown-linux-gnu -mcpu=generic-rv64 -mattr=+m,+a,+f,+d,+c -mabi=lp64d",
}
"""RISC-V boards, with their compiler options."""

_MICRO_BOARDS = {"stm32f746xx": "-mcpu=cortex-m7", "nrf52840": "-mcpu=cortex-m4", "mps2_an521": "-mcpu=cortex-m33"}
"""Microcontroller boards, with their compiler options."""


HEXAGON_VERSIONS = ("v65", "v66", "v67", "v67t", "v68", "v69", "v71", "v73", "v75")
"""The Hexagon processors that :func:`hexagon` knows."""


def _made(kind: str, *parts: str, options: Options = None) -> Target:
    more = [options] if isinstance(options, str) else list(options or ())
    given: dict[str, str] = {}
    for word in shlex.split(" ".join([*parts, *more])):
        key, _, value = word.lstrip("-").partition("=")
        given[key] = value or "1"
    return Target(" ".join([kind, *(option_text(key, value) for key, value in given.items())]))


def cuda(model: str = "unknown", arch: str | None = None, options: Options = None) -> Target:
    """Return the target of an NVIDIA GPU, by a model, e.g. ``1080ti``, or an architecture, e.g. ``sm_61``."""
    return _made("cuda", f"-model={model}", *([f"-arch={arch}"] if arch else []), options=options)


def rocm(model: str = "unknown", options: Options = None) -> Target:
    """Return the target of an AMD GPU."""
    return _made("rocm", f"-model={model}", options=options)


def mali(model: str = "unknown", options: Options = None) -> Target:
    """Return the target of an ARM Mali GPU of the Midgard generation."""
    return _made("opencl", "-device=mali", f"-model={model}", options=options)


def bifrost(model: str = "unknown", options: Options = None) -> Target:
    """Return the target of an ARM Mali GPU of the Bifrost generation."""
    return _made("opencl", "-device=bifrost", f"-model={model}", options=options)


def adreno(model: str = "unknown", options: Options = None, cfg: str | None = None, backend: str = "opencl") -> Target:
    """Return the target of a Qualcomm Adreno GPU; the back end is ``opencl`` or ``vulkan``."""
    return _made(backend, "-device=adreno", f"-model={model}", options=options)


def intel_graphics(model: str = "unknown", options: Options = None) -> Target:
    """Return the target of an Intel GPU."""
    return _made("opencl", "-device=intel_graphics", f"-model={model} -thread_warp_size=16", options=options)


def opengl(model: str = "unknown", options: Options = None) -> Target:
    """Return an OpenCL target, as OpenGL is no longer supported by TVM."""
    return _made("opencl", f"-model={model}", options=options)


def arm_cpu(model: str = "unknown", options: Options = None) -> Target:
    """Return the target of a board with an ARM CPU, e.g. ``rasp4b64`` or ``rk3399``; options override the board's."""
    name, compiler_options = _ARM_BOARDS.get(model, (model, ""))
    return _made("llvm", "-keys=arm_cpu,cpu -device=arm_cpu", f"-model={name}", compiler_options, options=options)


def rasp(options: Options = None) -> Target:
    """Return the target of a Raspberry Pi 3: ``arm_cpu("rasp3b")``."""
    return arm_cpu("rasp3b", options)


def riscv_cpu(model: str = "sifive-u54", options: Options = None) -> Target:
    """Return the target of a board with a RISC-V CPU, e.g. ``sifive-u74``; options override the board's."""
    keys = "-keys=arm_cpu,cpu -device=arm_cpu"
    return _made("llvm", keys, f"-model={model}", _RISCV_BOARDS.get(model, ""), options=options)


def micro(model: str = "unknown", options: Options = None) -> Target:
    """Return the target of a microcontroller, e.g. ``nrf52840``, which runs C."""
    return _made("c", "-keys=arm_cpu,cpu", f"-model={model}", _MICRO_BOARDS.get(model, ""), options=options)


def stm32(series: str = "unknown", options: Options = None) -> Target:
    """Return the target of an STM32 microcontroller, e.g. of the series ``stm32F7xx``, which runs C."""
    return _made("c", "-keys=arm_cpu,cpu -device=arm_cpu", f"-model={series}", options=options)


def hexagon(
    cpu_ver: str = "v68",
    *,
    hvx: int = 128,
    use_qfloat: bool = True,
    use_ieee_fp: bool = False,
    llvm_options: str = "",
    num_cores: int = 4,
    vtcm_capacity: int = 4 << 20,
) -> Target:
    """Return the target of a Hexagon processor.

    Parameters
    ----------
    cpu_ver : str
        The version, one of :data:`HEXAGON_VERSIONS`.
    hvx : int
        Bytes of its vectors, 64 or 128; 0 where it has none.
    use_qfloat, use_ieee_fp : bool
        Whether vectors may hold floats of Qualcomm's own format, and of the usual one.
    vtcm_capacity : int
        The size of its tightly coupled memory in bytes.
    """
    if cpu_ver not in HEXAGON_VERSIONS:
        expected("target.hexagon", "cpu_ver", f"one of {', '.join(HEXAGON_VERSIONS)}", cpu_ver)
    if hvx not in (0, 64, 128):
        expected("target.hexagon", "hvx", "0, 64 or 128", hvx)
    signs = {"hvx-qfloat": use_qfloat, "hvx-ieee-fp": use_ieee_fp}
    features = [f"+hvx{cpu_ver}", f"+hvx-length{hvx}b", *(("-", "+")[on] + name for name, on in signs.items())]
    options = [*llvm_options.replace("=", "@").split(), *(["-force-hvx-float"] if hvx else [])]
    return _made(
        "hexagon",
        f"-keys=hexagon,cpu -mtriple=hexagon -mcpu=hexagon{cpu_ver} -num-cores={num_cores}",
        f"-vtcm-capacity={vtcm_capacity}",
        *([f"-mattr={','.join(features)}"] if hvx else []),
        *([f"-llvm-options={','.join(options)}"] if options else []),
    )


def vta(model: str = "unknown", options: Options = None) -> Target:
    """Return the target of a VTA accelerator."""
    return _made("ext_dev", "-keys=vta,cpu -device=vta", f"-model={model}", options=options)
