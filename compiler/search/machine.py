"""What the rules and the cost model know of the processor: registers, caches, cores."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.ir import dtype as dt
from compiler.target.cpu.caches import TYPICAL, machine_caches
from compiler.target.cpu.cpu_features import integer_products
from compiler.target.target import Target


@dataclass(frozen=True)
class Machine:
    """The processor that is searched for."""

    vector_bits: int = 256
    """Bits of a vector register."""
    registers: int = 16
    """Vector registers."""
    caches: tuple[int, ...] = tuple(level.size for level in TYPICAL)
    """Bytes of each level of data caches, from the smallest."""
    line: int = 64
    """Bytes of a cache line."""
    cores: int = 1
    """Threads that parallel loops get; loops are not parallel for one."""
    target: tuple[str, str, str] | None = None
    """LLVM's triple, CPU and features; None for no processor in particular."""

    @classmethod
    def of(cls, target: Target, cores: int) -> Machine:
        """Return the processor of a target; its caches are this machine's where the target is, else typical ones."""
        levels = (machine_caches() if "native" in str(target) else ()) or TYPICAL
        bits = target.vector_bits or 64
        caches = tuple(level.size for level in levels)
        processor = (target.triple, target.cpu, target.llvm_features) if target.kind == "llvm" else None
        return cls(bits, target.vector_registers, caches, levels[0].line, cores, processor)

    def lanes(self, dtype: str) -> int:
        """Return the elements of a vector register."""
        return max(self.vector_bits // max(dt.bits(dtype), 8), 1)

    def products(self, first: str, second: str) -> int:
        """Return how many products of integers of these data types an instruction adds to a lane of int32."""
        return integer_products(*self.target, first, second) if self.target else 1
