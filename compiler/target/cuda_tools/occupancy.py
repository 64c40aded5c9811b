"""Occupancy: the number of resident warps per multiprocessor, and what limits it."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.error import ArgumentError
from compiler.ir.memory import aligned
from compiler.target.cuda_tools.processors import PROCESSORS

_WARP = 32
_REGISTER_UNIT = 256
"""The allocation granularity of registers per warp."""
_PARTS = 4
"""The number of partitions of a multiprocessor, which divide its registers and warps."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """The occupancy of a kernel.

    Attributes
    ----------
    blocks, warps : int
        Resident blocks and warps; 0 if not even one block fits.
    share : float
        Resident warps as a fraction of the maximum.
    limiters : tuple of str
        The limiting resources: ``warps``, ``blocks``, ``registers`` or ``shared memory``.
    limits : dict of str to int
        The number of blocks that each of the four allows.
    """

    blocks: int
    warps: int
    share: float
    limiters: tuple[str, ...]
    limits: dict[str, int]


def occupancy(arch: str, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """Compute the occupancy of a kernel.

    References
    ----------
    CUDA C++ Best Practices Guide, "Occupancy"; the computation of ``cuda_occupancy.h``.
    """
    processor = PROCESSORS.get(arch)
    if processor is None:
        raise ArgumentError(f"occupancy: arch must be one of {', '.join(PROCESSORS)}, got {arch!r}")
    if threads < 1:
        raise ArgumentError(f"occupancy: threads must be at least 1, got {threads}")
    warps = -(-threads // _WARP)
    shared = aligned(shared_bytes + processor.reserved_bytes, processor.shared_unit)
    fits = shared_bytes <= processor.block_shared_bytes
    limits = {
        "warps": processor.warps // warps,
        "blocks": processor.blocks,
        "registers": _blocks_by_registers(processor.registers, registers, warps),
        "shared memory": (processor.shared_bytes // shared if shared else processor.blocks) if fits else 0,
    }
    blocks = min(limits.values())
    limiters = tuple(name for name, limit in limits.items() if limit == blocks)
    return Occupancy(blocks, blocks * warps, blocks * warps / processor.warps, limiters, limits)


def _blocks_by_registers(available: int, registers: int, warps: int) -> int:
    of_warp = aligned(max(registers, 1) * _WARP, _REGISTER_UNIT)
    if of_warp * aligned(warps, _PARTS) > available:
        return 0
    return available // _PARTS // of_warp * _PARTS // warps
