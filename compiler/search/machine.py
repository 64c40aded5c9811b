"""What the rules and the cost model know of the processor: registers, caches, cores."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir import dtype as dt
from compiler.target.cpu.caches import TYPICAL, machine_caches
from compiler.target.target import Target


@dataclass(frozen=True)
class Machine:
    """The processor that is searched for.

    Attributes
    ----------
    vector_bits : int
        Bits of a vector register.
    registers : int
        Vector registers.
    caches : tuple of int
        Bytes of each level of data caches, from the smallest.
    line : int
        Bytes of a cache line.
    cores : int
        Threads that parallel loops get; loops are not parallel for one.
    """

    vector_bits: int = 256
    registers: int = 16
    caches: tuple[int, ...] = tuple(level.size for level in TYPICAL)
    line: int = 64
    cores: int = 1

    @classmethod
    def of(cls, target: Target, cores: int) -> Machine:
        """Return the processor of a target; its caches are this machine's where the target is, else typical ones."""
        levels = (machine_caches() if "native" in str(target) else ()) or TYPICAL
        bits = target.vector_bits or 64
        return cls(bits, target.vector_registers, tuple(level.size for level in levels), levels[0].line, cores)

    def lanes(self, dtype: str) -> int:
        """Return the elements of a vector register."""
        return max(self.vector_bits // max(dt.bits(dtype), 8), 1)
