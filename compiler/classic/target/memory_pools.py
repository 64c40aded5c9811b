"""Memory pools that the caller of a program provides: ``tvm.ir.memory_pools``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.runtime.arrays.ndarray import NDArray
from compiler.target.target import Target


@dataclass(frozen=True)
class PoolInfoProperties:
    """The size and speed of a memory pool; -1 stands for an unrestricted size and for what is unknown."""

    size_hint_bytes: int = -1
    clock_frequency_hz: int = -1
    read_bandwidth_bytes_per_cycle: int = -1
    write_bandwidth_bytes_per_cycle: int = -1
    read_latency_cycles: int = 0
    write_latency_cycles: int = 0
    target_burst_bytes: Mapping[Target, int] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "target_burst_bytes", dict(self.target_burst_bytes or {}))


@dataclass(frozen=True)
class PoolInfo:
    """A memory pool."""

    pool_name: str
    targets: Sequence[Target]

    def __post_init__(self) -> None:
        object.__setattr__(self, "targets", tuple(map(Target, self.targets)))


@dataclass(frozen=True)
class WorkspacePoolInfo(PoolInfo):
    """A memory pool for intermediate results; its size and speed are also attributes of the pool."""

    pool_info_properties: PoolInfoProperties = field(default_factory=PoolInfoProperties)

    def __getattr__(self, name: str) -> object:
        return _property(self.pool_info_properties, type(self).__name__, name)


@dataclass(frozen=True)
class ConstantInfo:
    """A constant at an offset, in bytes, of a memory pool."""

    name_hint: str
    byte_offset: int
    data: NDArray


@dataclass(frozen=True)
class ConstantPoolInfo(PoolInfo):
    """A memory pool for constants; its size and speed are also attributes of the pool."""

    constant_info_arr: Sequence[ConstantInfo] = ()
    pool_info_properties: PoolInfoProperties = field(default_factory=PoolInfoProperties)

    def __getattr__(self, name: str) -> object:
        return _property(self.pool_info_properties, type(self).__name__, name)


def _property(properties: PoolInfoProperties, owner: str, name: str) -> object:
    if name.startswith("_") or name not in PoolInfoProperties.__dataclass_fields__:
        raise AttributeError(f"{owner} has no attribute {name!r}")
    return getattr(properties, name)


@dataclass(frozen=True)
class WorkspaceMemoryPools:
    """The memory pools for the intermediate results of a program, in order of preference."""

    pools: Sequence[WorkspacePoolInfo]


@dataclass(frozen=True)
class ConstantMemoryPools:
    """The memory pools for the constants of a program, in order of preference."""

    pools: Sequence[ConstantPoolInfo]
