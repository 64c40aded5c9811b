"""Memory pools and facts about modules keep what they are given, and fill in what is usual."""

from __future__ import annotations

import pytest

from compiler.classic.target.global_info import DummyGlobalInfo, GlobalInfo, VDevice
from compiler.classic.target.memory_pools import PoolInfoProperties, WorkspaceMemoryPools, WorkspacePoolInfo
from compiler.target.target import Target


def test_properties_of_a_pool_are_its_attributes() -> None:
    fast = WorkspacePoolInfo("sram", ["llvm"], PoolInfoProperties(size_hint_bytes=4096, read_latency_cycles=2))
    assert (fast.size_hint_bytes, fast.read_latency_cycles, fast.write_latency_cycles) == (4096, 2, 0)
    assert str(fast.targets[0].kind) == "llvm"
    assert WorkspacePoolInfo("dram", []).size_hint_bytes == -1
    assert PoolInfoProperties().target_burst_bytes == {}
    with pytest.raises(AttributeError, match="WorkspacePoolInfo has no attribute"):
        _ = fast.size
    assert [pool.pool_name for pool in WorkspaceMemoryPools([fast]).pools] == ["sram"]


def test_virtual_devices_are_facts_about_a_module() -> None:
    device = VDevice("llvm", 1)
    assert isinstance(device.target, Target)
    assert (device.vdevice_id, device.memory_scope) == (1, "global")
    assert isinstance(device, GlobalInfo)
    assert isinstance(DummyGlobalInfo(), GlobalInfo)
    assert VDevice().target is None
