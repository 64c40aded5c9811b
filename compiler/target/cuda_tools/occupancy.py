"""How many warps a multiprocessor holds at once, and what limits them."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir.error import ArgumentError
from compiler.target.cuda_tools.processors import PROCESSORS

__all__ = ["Occupancy", "occupancy"]

_WARP = 32
_REGISTER_UNIT = 256
"""Registers are given to a warp in multiples of so many."""
_PARTS = 4
"""Parts of a multiprocessor: each has a fourth of its registers, and a warp stays in one part."""


@dataclass(frozen=True, slots=True)
class Occupancy:
    """What a multiprocessor holds of a kernel.

    Attributes
    ----------
    blocks, warps : int
        At once; 0 if not even one block fits.
    share : float
        Warps, of those that there is room for.
    limiters : tuple of str
        What allows no more blocks: ``warps``, ``blocks``, ``registers`` or ``shared memory``, several where they agree.
    limits : dict of str to int
        The blocks that each of the four allows.
    """

    blocks: int
    warps: int
    share: float
    limiters: tuple[str, ...]
    limits: dict[str, int]


def occupancy(arch: str, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """Return the occupancy of a kernel.

    Parameters
    ----------
    arch : str
        E.g. ``sm_90``.
    threads : int
        Threads of a block.
    registers : int
        Registers of a thread.
    shared_bytes : int
        Shared memory of a block.

    Returns
    -------
    Occupancy

    Raises
    ------
    ArgumentError
        If the architecture is not in the table, or a block has no thread.

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
    shared = _multiple(shared_bytes + processor.reserved_bytes, processor.shared_unit)
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
    of_warp = _multiple(max(registers, 1) * _WARP, _REGISTER_UNIT)
    if of_warp * _multiple(warps, _PARTS) > available:
        return 0
    return available // _PARTS // of_warp * _PARTS // warps


def _multiple(value: int, unit: int) -> int:
    return -(-value // unit) * unit
