"""Virtual devices, on which data and code are placed: ``tvm.target.VirtualDevice``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.ir.error import ArgumentError, expected
from compiler.ir.passes.context import PassContext
from compiler.ir.serialization.codecs import register_codec
from compiler.runtime.device import Device
from compiler.runtime.device import device as as_device
from compiler.target.target import Target, TargetLike

__all__ = ["CompilationConfig", "VirtualDevice", "make_compilation_config"]

FALLBACK = "relay.fallback_device_type"
"""The option of a PassContext that sets the default device type of kernels."""
_ANY = -1
_OPEN: Mapping[str, object] = {"device_type": _ANY, "virtual_device_id": _ANY, "target": None, "memory_scope": ""}
"""The values of unconstrained fields."""


@dataclass(frozen=True, slots=True, repr=False)
class VirtualDevice:
    """A device, or a DLPack device type, the target of its code and its memory scope; any may be unconstrained."""

    device_type: int = _ANY
    virtual_device_id: int = _ANY
    target: Target | None = None
    memory_scope: str = ""

    def __init__(
        self, device: Device | int | None = None, target: Target | str | None = None, memory_scope: str = ""
    ) -> None:
        if isinstance(device, Device):
            kind, number = device.device_type, device.device_id
        elif device is None or isinstance(device, int):
            kind, number = (_ANY, _ANY) if device in (None, _ANY) else (int(device), 0)
        else:
            expected("VirtualDevice", "device", "a Device or the number of a kind of device", device)
        object.__setattr__(self, "device_type", kind)
        object.__setattr__(self, "virtual_device_id", number)
        object.__setattr__(self, "target", Target(target) if isinstance(target, str) else target)
        object.__setattr__(self, "memory_scope", memory_scope)

    @classmethod
    def of_fields(
        cls,
        device_type: int = _ANY,
        virtual_device_id: int = _ANY,
        target: Target | str | None = None,
        memory_scope: str = "",
    ) -> VirtualDevice:
        """Create a virtual device from its fields, as in the text format: -1, or an empty scope, is unconstrained."""
        made = cls(None, target, memory_scope)._with("device_type", int(device_type))
        return made._with("virtual_device_id", int(virtual_device_id))

    @property
    def device_type_int(self) -> int:
        """The DLPack device type; -1 if unconstrained."""
        return self.device_type

    def joined(self, other: VirtualDevice) -> VirtualDevice | None:
        """Join the constraints of two virtual devices; None if they conflict."""
        result = self
        for name, is_open in _OPEN.items():
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine == is_open:
                result = result._with(name, theirs)
            elif theirs not in (is_open, mine):
                return None
        return result

    def _with(self, name: str, value: object) -> VirtualDevice:
        made = object.__new__(VirtualDevice)
        for each in _OPEN:
            object.__setattr__(made, each, value if each == name else getattr(self, each))
        return made

    def __repr__(self) -> str:
        parts = []
        if self.device_type != _ANY:
            parts.append(f"device_type={self.device_type}")
        if self.virtual_device_id != _ANY:
            parts.append(f"virtual_device_id={self.virtual_device_id}")
        if self.target is not None:
            parts.append(f'target="{self.target}"')
        if self.memory_scope:
            parts.append(f'memory_scope="{self.memory_scope}"')
        return f"VirtualDevice({', '.join(parts) or '?'})"


def as_virtual_device(value: object) -> VirtualDevice:
    """Convert a virtual device, a device, or the name or DLPack number of a device type to a virtual device."""
    if isinstance(value, VirtualDevice):
        return value
    if isinstance(value, (str, int)):
        return VirtualDevice(as_device(value) if isinstance(value, str) else value)
    if isinstance(value, Device):
        return VirtualDevice(value)
    raise ArgumentError(f"expected a Device or a VirtualDevice, got {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class CompilationConfig:
    """The targets that a module is compiled for, those of kernels one per device type.

    Attributes
    ----------
    host_target : Target or None
        The target of host code; None in programs for releases before 0.9, which give devices no targets.
    fallback : int, optional
        The default device type of kernels: that of the only target, or else the CPU.
    """

    primitive_targets: tuple[Target, ...]
    host_target: Target | None
    fallback: int | None = None

    @property
    def host_virtual_device(self) -> VirtualDevice:
        """The virtual device of host code."""
        kind = Device.kDLCPU if self.host_target is None else _device_type(self.host_target)
        return VirtualDevice(Device(kind), self.host_target)

    @property
    def default_primitive_virtual_device(self) -> VirtualDevice:
        """The virtual device of kernels without constraints."""
        only = self.optional_homogenous_target
        kind = self.fallback or (_device_type(only) if only is not None else Device.kDLCPU)
        return self.canonical(VirtualDevice(kind))

    @property
    def optional_homogenous_target(self) -> Target | None:
        """The target of all kernels; None if there are several."""
        return self.primitive_targets[0] if len(self.primitive_targets) == 1 else None

    def canonical(self, device: VirtualDevice) -> VirtualDevice:
        """Complete a virtual device with the target that the configuration has for its type."""
        for target in self.primitive_targets:
            if device.target is None and _device_type(target) == device.device_type:
                return device.joined(VirtualDevice(None, target)) or device
        return device


def _device_type(target: Target) -> int:
    return as_device(str(target.kind)).device_type


def make_compilation_config(
    ctxt: PassContext,
    target: TargetLike | Sequence[TargetLike] | Mapping[object, TargetLike],
    target_host: Target | str | None = None,
) -> CompilationConfig:
    """Create a compilation configuration; the target of host code is ``llvm`` by default.

    The default device type of kernels is the context's option ``relay.fallback_device_type``.
    """
    made = tuple(Target.canon_multi_target(target) or ())
    host = Target(target_host) if isinstance(target_host, str) else target_host
    own = next((t.host for t in made if t.host is not None), None)
    fallback = ctxt.config.get(FALLBACK)
    return CompilationConfig(made, host or own or Target("llvm"), None if fallback is None else int(fallback))


register_codec(
    VirtualDevice,
    "VirtualDevice",
    lambda device: {name: getattr(device, name) for name in _OPEN},
    lambda fields: VirtualDevice.of_fields(**fields),
)
