"""Where the values of expressions are, as programs have said."""

from __future__ import annotations

from compiler.target.virtual_device import VirtualDevice, as_virtual_device

_DEVICES: dict[VirtualDeviceMixin, VirtualDevice] = {}
"""By node: a node itself does not change."""


class VirtualDeviceMixin:
    """Base of expressions, which have a device."""

    __slots__ = ()

    @property
    def virtual_device_(self) -> VirtualDevice:
        """Where its value is; open unless a program has said so, which counts for the parameters of functions."""
        return _DEVICES.get(self, VirtualDevice())

    @virtual_device_.setter
    def virtual_device_(self, device: VirtualDevice) -> None:
        _DEVICES[self] = as_virtual_device(device)
