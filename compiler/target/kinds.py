"""Target kinds: the first word of a target string, with its keys and options."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from compiler.ir.error import TargetError, show
from compiler.target.cpu.cpus import TRIPLES, table


@dataclass(frozen=True, slots=True)
class KindFacts:
    """The registration of a target kind: its keys, and the options besides those of all kinds.

    The type ``list`` is for comma-separated words.
    """

    doc: str
    keys: tuple[str, ...]
    options: Mapping[str, type] = field(default_factory=dict)
    defaults: Mapping[str, int] = field(default_factory=dict)


_COMMON: dict[str, type] = {
    "keys": list, "device": str, "model": str, "libs": list, "tag": str, "from_device": int, "runtime": str,
    "max_num_threads": int, "thread_warp_size": int, "link-params": bool, "system-lib": bool,
}  # fmt: skip
_LLVM: dict[str, type] = {
    "mcpu": str, "mattr": list, "mtriple": str, "mabi": str, "mfloat-abi": str, "opt-level": int, "num-cores": int,
    "fast-math": bool, "fast-math-nnan": bool, "fast-math-ninf": bool, "fast-math-nsz": bool, "fast-math-arcp": bool,
    "fast-math-contract": bool, "fast-math-reassoc": bool, "cl-opt": list, "jit": str, "vector-width": int,
}  # fmt: skip
_C: dict[str, type] = {
    "mcpu": str, "march": str, "constants-byte-alignment": int, "workspace-byte-alignment": int, "executor": str,
    "unpacked-api": bool, "interface-api": str,
}  # fmt: skip
_BLOCKS: dict[str, type] = {"max_threads_per_block": int, "max_shared_memory_per_block": int}
_CUDA: dict[str, type] = {
    "arch": str, "mcpu": str, "registers_per_block": int, "l2_cache_size_bytes": int, **_BLOCKS
}  # fmt: skip
_OPENCL: dict[str, type] = {
    "texture_spatial_limit": int, "max_function_args": int, "supports_float16": bool, **_BLOCKS
}  # fmt: skip
_VULKAN: dict[str, type] = {
    **{f"supports_{feature}": bool for feature in (
        "float16", "float32", "float64", "int8", "int16", "int32", "int64", "8bit_buffer", "16bit_buffer",
        "storage_buffer_storage_class", "push_descriptor", "dedicated_allocation", "integer_dot_product",
        "cooperative_matrix",
    )},
    "supported_subgroup_operations": int, "max_block_size_x": int, "max_block_size_y": int, "max_block_size_z": int,
    "max_push_constants_size": int, "max_uniform_buffer_range": int, "max_storage_buffer_range": int,
    "max_per_stage_descriptor_storage_buffer": int, "max_function_args": int, "device_type": str, "device_name": str,
    "driver_name": str, "driver_version": int, "vulkan_api_version": int, "max_spirv_version": int, **_BLOCKS,
}  # fmt: skip
_HEXAGON: dict[str, type] = {
    "mcpu": str, "mtriple": str, "mattr": list, "llvm-options": list, "num-cores": int, "vtcm-capacity": int
}  # fmt: skip


def _gpu(doc: str, name: str, options: Mapping[str, type], threads: int, warp: int, **more: int) -> KindFacts:
    return KindFacts(doc, (name, "gpu"), options, {"max_num_threads": threads, "thread_warp_size": warp, **more})


KINDS: dict[str, KindFacts] = {
    "llvm": KindFacts("machine code through LLVM", ("cpu",), _LLVM),
    "cuda": _gpu("NVIDIA GPUs", "cuda", _CUDA, 1024, 32),
    "nvptx": _gpu("NVIDIA GPUs, through PTX", "cuda", {**_CUDA, "mtriple": str}, 1024, 32),
    "opencl": _gpu(
        "GPUs through OpenCL",
        "opencl",
        _OPENCL,
        256,
        1,
        texture_spatial_limit=16384,
        max_shared_memory_per_block=16384,
        max_function_args=128,
    ),
    "vulkan": _gpu("GPUs through Vulkan", "vulkan", _VULKAN, 256, 1),
    "metal": _gpu(
        "Apple GPUs",
        "metal",
        {"max_function_args": int, **_BLOCKS},
        256,
        16,
        max_shared_memory_per_block=32768,
        max_function_args=31,
    ),
    "rocm": _gpu(
        "AMD GPUs",
        "rocm",
        {"mcpu": str, "mtriple": str, "mattr": list, **_BLOCKS},
        256,
        64,
        max_shared_memory_per_block=65536,
    ),
    "webgpu": KindFacts(
        "GPUs from a browser", ("webgpu", "gpu"), {"supports_float16": bool, **_BLOCKS}, {"max_num_threads": 256}
    ),
    "c": KindFacts("C source code", ("cpu",), _C),
    "stackvm": KindFacts("the interpreter of a stack machine", ("cpu",), {}),
    "hexagon": KindFacts("Hexagon processors", ("hexagon", "cpu"), _HEXAGON),
    "ext_dev": KindFacts("accelerators outside of TVM", (), {}),
    "sdaccel": KindFacts("Xilinx FPGAs", ("sdaccel", "hls"), {}),
    "aocl": KindFacts("Intel FPGAs", ("aocl", "hls"), {}),
    "aocl_sw_emu": KindFacts("Intel FPGAs, emulated", ("aocl", "hls"), {}),
    "hybrid": KindFacts("hybrid script", ("hybrid",), {}),
    "composite": KindFacts("several devices together", (), {"devices": list}),
    "test": KindFacts("what tests ask targets of; there is no code for it", (), {}),
}
"""The target kinds by name."""


class TargetKind(str):
    """A target kind: its name, as a string with TVM's attributes."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name of the kind."""
        return str(self)

    @property
    def options(self) -> dict[str, str]:
        """The options of targets of this kind, with TVM's names of their types."""
        names = {**_COMMON, **KINDS[self].options}
        return {option: option_type(self, option).__name__ for option in names}

    @staticmethod
    def options_from_name(kind_name: str) -> dict[str, str]:
        """Return the options of a target kind, with the types of their values."""
        return kind_named(kind_name).options


def kind_named(name: str) -> TargetKind:
    """Look up a target kind by name."""
    if name not in KINDS:
        near = _of_processor(name) or difflib.get_close_matches(name, KINDS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(KINDS)}"
        raise TargetError(f"Target: unknown kind {show(name)}; {hint}")
    return TargetKind(name)


def _of_processor(name: str) -> list[str]:
    """Return the targets of the processors, or of the architecture, of that name."""
    found = []
    for architecture, triple in TRIPLES.items():
        if name == architecture:
            found.append(f"llvm -mtriple={triple}")
        elif name in {row.partition(":")[0] for row in table()[architecture]}:
            found.append(f"llvm -mtriple={triple} -mcpu={name}")
    return found


def option_type(kind: TargetKind, key: str) -> type:
    """Return the type of a target option."""
    value_type = KINDS[kind].options.get(key) or _COMMON.get(key)
    if value_type is None:
        near = difflib.get_close_matches(key, kind.options, n=1)
        hint = f"did you mean -{near[0]}?" if near else f"there are {', '.join('-' + o for o in kind.options)}"
        raise TargetError(f"Target: unknown option -{key}; {hint}")
    return value_type
