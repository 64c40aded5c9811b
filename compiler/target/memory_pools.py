"""Memory that the caller of a program sets aside for it: ``tvm.ir.memory_pools``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from compiler.runtime.ndarray import NDArray
from compiler.target.target import Target

__all__ = [
    "ConstantInfo",
    "ConstantMemoryPools",
    "ConstantPoolInfo",
    "PoolInfo",
    "PoolInfoProperties",
    "WorkspaceMemoryPools",
    "WorkspacePoolInfo",
]


@dataclass(frozen=True)
class PoolInfoProperties:
    """How large and how fast a memory is.

    Parameters
    ----------
    size_hint_bytes : int
        Its size in bytes, -1 if that does not matter.
    clock_frequency_hz : int
        Its clock in hertz, -1 if that is not known.
    read_bandwidth_bytes_per_cycle, write_bandwidth_bytes_per_cycle : int
        Bytes that are read and written in a cycle, -1 if that is not known.
    read_latency_cycles, write_latency_cycles : int
        Cycles that an access takes.
    target_burst_bytes : mapping of Target to int, optional
        Bytes that a processor accesses at once.
    """

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
    """A memory, by its name.

    Parameters
    ----------
    pool_name : str
        What the memory is called.
    targets : sequence of Target
        The processors that can access it.
    """

    pool_name: str
    targets: Sequence[Target]

    def __post_init__(self) -> None:
        object.__setattr__(self, "targets", tuple(map(Target, self.targets)))


@dataclass(frozen=True)
class WorkspacePoolInfo(PoolInfo):
    """A memory for intermediate results.

    Parameters
    ----------
    pool_name : str
        What the memory is called.
    targets : sequence of Target
        The processors that can access it.
    pool_info_properties : PoolInfoProperties, optional
        Its size and speed; its fields are attributes of the pool, too.
    """

    pool_info_properties: PoolInfoProperties = field(default_factory=PoolInfoProperties)

    def __getattr__(self, name: str) -> object:
        return _property(self.pool_info_properties, type(self).__name__, name)


@dataclass(frozen=True)
class ConstantInfo:
    """A constant in a memory.

    Parameters
    ----------
    name_hint : str
        What the constant is called.
    byte_offset : int
        Where it begins, in bytes.
    data : NDArray
        Its value.
    """

    name_hint: str
    byte_offset: int
    data: NDArray


@dataclass(frozen=True)
class ConstantPoolInfo(PoolInfo):
    """A memory for constants.

    Parameters
    ----------
    pool_name : str
        What the memory is called.
    targets : sequence of Target
        The processors that can access it.
    constant_info_arr : sequence of ConstantInfo, optional
        What is in it.
    pool_info_properties : PoolInfoProperties, optional
        Its size and speed; its fields are attributes of the pool, too.
    """

    constant_info_arr: Sequence[ConstantInfo] = ()
    pool_info_properties: PoolInfoProperties = field(default_factory=PoolInfoProperties)

    def __getattr__(self, name: str) -> object:
        return _property(self.pool_info_properties, type(self).__name__, name)


def _property(properties: PoolInfoProperties, owner: str, name: str) -> object:
    """Return a field of the properties of a pool."""
    if name.startswith("_") or name not in PoolInfoProperties.__dataclass_fields__:
        raise AttributeError(f"{owner} has no attribute {name!r}")
    return getattr(properties, name)


@dataclass(frozen=True)
class WorkspaceMemoryPools:
    """The memories for the intermediate results of a program.

    Parameters
    ----------
    pools : sequence of WorkspacePoolInfo
        Best first.
    """

    pools: Sequence[WorkspacePoolInfo]


@dataclass(frozen=True)
class ConstantMemoryPools:
    """The memories for the constants of a program.

    Parameters
    ----------
    pools : sequence of ConstantPoolInfo
        Best first.
    """

    pools: Sequence[ConstantPoolInfo]
