"""Data on its way between devices: ``device_copy``."""

from __future__ import annotations

from compiler.ir.attr_kinds import INT
from compiler.ir.attrs import Attrs, attr_field
from compiler.relay.expr import Call, Expr
from compiler.relay.op.type_relations import identity
from compiler.relay.op_registry import public_function, register
from compiler.relay.operator import OpPattern
from compiler.runtime.device import Device
from compiler.runtime.device import device as as_device
from compiler.topi import elementwise as topi


class DeviceCopyAttrs(Attrs):
    """Attributes of ``device_copy``."""

    src_dev_type: int = attr_field(INT, "Number of the kind of device that the data is on, as DLPack counts them.", 1)
    dst_dev_type: int = attr_field(INT, "Number of the kind of device that the result is on.", 1)


_DEVICE_COPY = register(
    "device_copy",
    doc="Copy data from one device to another.",
    inputs={"data": "A tensor."},
    attrs=DeviceCopyAttrs,
    relation=identity,
    pattern=OpPattern.OPAQUE,
    compute=lambda attrs, inputs, out_type: [topi.identity(inputs[0])],
    reference=lambda attrs, x: x.copy(),
    gradient=lambda call, grad: [grad],
)


@public_function(
    _DEVICE_COPY,
    src_device="Device or str: Where the data is.",
    dst_device="Device or str: Where the result is.",
)
def device_copy(data: Expr, src_device: Device | str, dst_device: Device | str) -> Call:
    """Copy data from one device to another."""
    source, target = (as_device(d) if isinstance(d, str) else d for d in (src_device, dst_device))
    return _DEVICE_COPY(data, src_dev_type=source.device_type, dst_dev_type=target.device_type)
