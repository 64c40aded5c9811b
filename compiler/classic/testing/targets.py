"""The targets that tests run on: those of ``TVM_TEST_TARGETS``, separated by semicolons, or ``llvm``."""

from __future__ import annotations

import os

from compiler.runtime.device import Device, device
from compiler.runtime.device import enabled as has_runtime
from compiler.target.target import Target

__all__ = [
    "DEFAULT_TEST_TARGETS", "device_enabled", "enabled_targets", "is_runnable", "requested_targets", "target_kind",
]  # fmt: skip

DEFAULT_TEST_TARGETS = ("llvm",)
"""What tests run on where the environment names no targets."""


def target_kind(target: str | Target) -> str:
    """Return the kind of a target, e.g. ``llvm`` of ``llvm -mcpu=skylake``."""
    return target.kind.name if isinstance(target, Target) else (target.split() or [""])[0]


def is_runnable(target: str | Target) -> bool:
    """Return whether functions built for a target can run in this process."""
    kind = target_kind(target)
    return kind in Target.list_kinds() and kind == "llvm" and has_runtime(kind)


def requested_targets() -> list[str]:
    """Return the targets of ``TVM_TEST_TARGETS``, else the default ones, each once."""
    named = [t.strip() for t in os.environ.get("TVM_TEST_TARGETS", "").split(";")]
    return list(dict.fromkeys(t for t in named if t)) or list(DEFAULT_TEST_TARGETS)


def enabled_targets() -> list[tuple[str, Device]]:
    """Return the targets that tests run on, with their devices, those alone that this machine and package can run.

    They are the default targets where none of the requested ones can run.

    Examples
    --------
    >>> for target, dev in tvm.testing.enabled_targets():
    ...     check(target, dev)
    """
    runnable = [t for t in requested_targets() if is_runnable(t)] or list(DEFAULT_TEST_TARGETS)
    return [(t, device(target_kind(t))) for t in runnable]


def device_enabled(target: str | Target) -> bool:
    """Return whether tests run on the kind of device that a target, e.g. ``cuda``, is for."""
    return target_kind(target) in {target_kind(t) for t, _ in enabled_targets()}
