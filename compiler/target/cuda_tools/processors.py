"""What a multiprocessor of an NVIDIA GPU holds, by its architecture.

Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PROCESSORS", "Processor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Processor:
    """A multiprocessor.

    Attributes
    ----------
    warps, blocks : int
        How many it holds at once.
    shared_bytes : int
        Shared memory of all blocks together.
    block_shared_bytes : int
        The most that one block may have, where the kernel asks for more than the usual 48 KiB.
    reserved_bytes : int
        Shared memory that the system takes of each block.
    shared_unit : int
        Shared memory is given in multiples of so many bytes.
    registers : int
        Of 32 bits.
    """

    warps: int
    blocks: int
    shared_bytes: int
    block_shared_bytes: int
    reserved_bytes: int = 1024
    shared_unit: int = 128
    registers: int = 65536


_KIB = 1024

PROCESSORS: dict[str, Processor] = {
    "sm_70": Processor(
        warps=64, blocks=32, shared_bytes=96 * _KIB, block_shared_bytes=96 * _KIB, reserved_bytes=0, shared_unit=256
    ),
    "sm_75": Processor(
        warps=32, blocks=16, shared_bytes=64 * _KIB, block_shared_bytes=64 * _KIB, reserved_bytes=0, shared_unit=256
    ),
    "sm_80": Processor(warps=64, blocks=32, shared_bytes=164 * _KIB, block_shared_bytes=163 * _KIB),
    "sm_86": Processor(warps=48, blocks=16, shared_bytes=100 * _KIB, block_shared_bytes=99 * _KIB),
    "sm_87": Processor(warps=48, blocks=16, shared_bytes=164 * _KIB, block_shared_bytes=163 * _KIB),
    "sm_89": Processor(warps=48, blocks=24, shared_bytes=100 * _KIB, block_shared_bytes=99 * _KIB),
    "sm_90": Processor(warps=64, blocks=32, shared_bytes=228 * _KIB, block_shared_bytes=227 * _KIB),
    "sm_100": Processor(warps=64, blocks=32, shared_bytes=228 * _KIB, block_shared_bytes=227 * _KIB),
    "sm_120": Processor(warps=48, blocks=24, shared_bytes=100 * _KIB, block_shared_bytes=99 * _KIB),
}
"""Multiprocessors by the architecture that code is compiled for."""
