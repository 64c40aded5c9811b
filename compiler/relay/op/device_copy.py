"""Copies between devices: ``device_copy``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from compiler.ir.attrs import Attrs, attr_field
from compiler.relay.expr import Call, Expr
from compiler.relay.function_devices import VIRTUAL_DEVICE
from compiler.relay.op.type_relations import identity
from compiler.relay.op_registry import public_function, register
from compiler.runtime.device import Device
from compiler.target.virtual_device import VirtualDevice
from compiler.topi import elementwise as topi

if TYPE_CHECKING:
    from typing import Self


class DeviceCopyAttrs(Attrs):
    src_virtual_device: VirtualDevice = attr_field(VIRTUAL_DEVICE, "The device that the data is on.", 1)
    dst_virtual_device: VirtualDevice = attr_field(VIRTUAL_DEVICE, "The device that the result is on.", 1)

    @classmethod
    def make(cls, owner: str, values: Mapping[str, object]) -> Self:
        """Return attributes of today's or older names: before 0.9, ``src_dev_type`` and ``dst_dev_type``."""
        return super().make(owner, {_OLDER.get(name, name): value for name, value in values.items()})


_OLDER = {"src_dev_type": "src_virtual_device", "dst_dev_type": "dst_virtual_device"}

_DEVICE_COPY = register(
    "device_copy",
    doc="Copy data from one device to another.",
    inputs={"data": "A tensor."},
    attrs=DeviceCopyAttrs,
    spelt_out=("src_virtual_device", "dst_virtual_device"),
    relation=identity,
    compute=lambda attrs, inputs, out_type: [topi.identity(inputs[0])],
    reference=lambda attrs, x: x.copy(),
    gradient=lambda call, grad: [grad],
)


@public_function(
    _DEVICE_COPY,
    src_device="VirtualDevice, Device or str: Where the data is.",
    dst_device="VirtualDevice, Device or str: Where the result is.",
)
def device_copy(data: Expr, src_device: VirtualDevice | Device | str, dst_device: VirtualDevice | Device | str) -> Call:
    """Copy data from one device to another."""
    return _DEVICE_COPY(data, src_virtual_device=src_device, dst_virtual_device=dst_device)
