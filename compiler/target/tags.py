"""The table of target tags, such as ``nvidia/jetson-nano``."""

from __future__ import annotations

from collections.abc import Mapping

_GEFORCE = {
    "sm_89": ("rtx-4090", "rtx-4080", "rtx-4070-ti", "rtx-4070", "rtx-4060-ti", "rtx-4060"),
    "sm_86": (
        "rtx-3090-ti", "rtx-3090", "rtx-3080-ti", "rtx-3080", "rtx-3070-ti", "rtx-3070", "rtx-3060", "rtx-3050",
    ),
    "sm_75": (
        "rtx-2080-ti", "rtx-2080", "rtx-2070", "rtx-2060", "gtx-1660-ti", "gtx-1660", "gtx-1650-ti", "gtx-1650",
    ),
    "sm_61": ("gtx-1080-ti", "gtx-1080", "gtx-1070-ti", "gtx-1070", "gtx-1060", "gtx-1050-ti", "gtx-1050"),
    "sm_52": ("gtx-titan-x", "gtx-980-ti", "gtx-980", "gtx-970", "gtx-960", "gtx-950"),
    "sm_35": ("gtx-titan-black", "gtx-titan", "gtx-780-ti", "gtx-780"),
}  # fmt: skip
_DATA_CENTER = {
    "sm_90": ("h100",),
    "sm_89": ("l4", "l40"),
    "sm_80": ("a100", "a30"),
    "sm_86": ("a10", "a10g", "a40", "a16", "a2", "rtx-a6000", "rtx-a5000", "rtx-a4000"),
    "sm_75": ("tesla-t4", "t4"),
    "sm_70": ("tesla-v100", "v100"),
    "sm_61": ("tesla-p40", "tesla-p4"),
    "sm_60": ("tesla-p100",),
    "sm_52": ("tesla-m60", "tesla-m40"),
    "sm_37": ("tesla-k80",),
    "sm_35": ("tesla-k40", "tesla-k20"),
}
_JETSON = {
    "sm_87": ("jetson-orin-nano", "jetson-agx-orin-32gb", "jetson-agx-orin-64gb"),
    "sm_72": ("jetson-agx-xavier", "jetson-xavier-nx"),
    "sm_62": ("jetson-tx2",),
    "sm_53": ("jetson-nano", "jetson-tx1"),
}
_REGISTERS = {"sm_53": 32768, "sm_62": 32768, "sm_87": 65536}
"""Registers per block, if not 65536."""
_JETSON_CPUS = {
    "jetson-orin-nano": ("cortex-a78", 6),
    "jetson-agx-orin-32gb": ("cortex-a78", 8),
    "jetson-agx-orin-64gb": ("cortex-a78", 12),
    "jetson-agx-xavier": ("carmel", 8),
    "jetson-xavier-nx": ("carmel", 6),
}
"""The CPUs of these boards, with their numbers of cores."""
_C5_SIZES = {"large": 1, "xlarge": 2, "2xlarge": 4, "4xlarge": 8, "9xlarge": 18}
"""Instances with Skylake CPUs, with their numbers of cores; larger ones have Cascade Lake CPUs."""
_C5_LARGER = {"12xlarge": 24, "18xlarge": 36, "24xlarge": 48}


def _nvidia(arch: str) -> dict[str, object]:
    return {
        "kind": "cuda",
        "keys": ["cuda", "gpu"],
        "arch": arch,
        "max_shared_memory_per_block": 49152,
        "max_threads_per_block": 1024,
        "thread_warp_size": 32,
        "registers_per_block": _REGISTERS.get(arch, 65536),
    }


def _jetson(name: str, arch: str) -> dict[str, object]:
    if name not in _JETSON_CPUS:
        return _nvidia(arch)
    cpu, cores = _JETSON_CPUS[name]
    return {**_nvidia(arch), "host": {"kind": "llvm", "mtriple": "aarch64-linux-gnu", "mcpu": cpu, "num-cores": cores}}


def _raspberry(triple: str, cpu: str) -> dict[str, object]:
    return {
        "kind": "llvm",
        "device": "arm_cpu",
        "mtriple": triple,
        "mcpu": cpu,
        "mattr": ["+neon"],
        "num-cores": 4,
        "host": {"kind": "llvm", "mtriple": triple, "mcpu": cpu, "num-cores": 4},
    }


def _cpu(name: str, cores: int) -> dict[str, object]:
    return {"kind": "llvm", "keys": ["x86", "cpu"], "mcpu": name, "num-cores": cores}


_TAGS: dict[str, dict[str, object]] = {
    **{f"nvidia/geforce-{name}": _nvidia(arch) for arch, names in _GEFORCE.items() for name in names},
    **{f"nvidia/nvidia-{name}": _nvidia(arch) for arch, names in _DATA_CENTER.items() for name in names},
    **{f"nvidia/{name}": _nvidia(arch) for arch, names in _DATA_CENTER.items() for name in names},
    **{f"nvidia/{name}": _jetson(name, arch) for arch, names in _JETSON.items() for name in names},
    **{f"aws/cpu/c5.{size}": _cpu("skylake-avx512", cores) for size, cores in _C5_SIZES.items()},
    **{f"aws/cpu/c5.{size}": _cpu("cascadelake", cores) for size, cores in _C5_LARGER.items()},
    "raspberry-pi/4b-aarch64": _raspberry("aarch64-linux-gnu", "cortex-a72"),
    "raspberry-pi/4b-64bit": _raspberry("aarch64-linux-gnu", "cortex-a72"),
    "raspberry-pi/3b": _raspberry("armv7l-linux-gnueabihf", "cortex-a53"),
    "intel/icelake": _cpu("icelake-server", 8),
    "apple/m1-gpu": {
        "kind": "metal",
        "max_threads_per_block": 1024,
        "max_shared_memory_per_block": 32768,
        "thread_warp_size": 32,
        "host": {"kind": "llvm", "mtriple": "arm64-apple-macos", "mcpu": "apple-latest"},
    },
}


def tagged(name: str) -> dict[str, object] | None:
    """Return the options of the target with a tag; None if there is no such tag."""
    options = _TAGS.get(name)
    return None if options is None else {**options, "tag": name}


def tag_names() -> list[str]:
    """Return all tags."""
    return list(_TAGS)


def add_tag(name: str, options: Mapping[str, object]) -> None:
    """Register a tag for a target, given as to its constructor, replacing an existing one."""
    _TAGS[name] = dict(options)
