"""Operators that return what they are given, and say something to passes.

Devices and external compilers do not change what is computed.
"""

from __future__ import annotations

from compiler.ir.attr_kinds import BOOL, DTYPE, INT, STRING
from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.op_registry import OpFunction, composite, register
from compiler.relay.operator import OpPattern, Types
from compiler.runtime.device import Device
from compiler.runtime.device import device as as_device
from compiler.te.tensor import Tensor
from compiler.topi.elementwise import identity

_NOWHERE = -1
"""The number of a device type that says nothing."""


class CompilerAttrs(Attrs):
    """Attributes of ``annotation.compiler_begin`` and ``annotation.compiler_end``."""

    compiler: str = attr_field(STRING, "Name of the external compiler.")


class OnDeviceAttrs(Attrs):
    """Attributes of ``on_device``."""

    device_type: int = attr_field(INT, "Number of the kind of device, as DLPack counts them.", _NOWHERE)
    device_id: int = attr_field(INT, "Number of the device among those of its kind.", 0)
    constrain_result: bool = attr_field(BOOL, "Whether the result must be on the device.", False)
    constrain_body: bool = attr_field(BOOL, "Whether the data must be computed on the device.", True)


class CastHintAttrs(Attrs):
    """Attributes of ``annotation.cast_hint``."""

    dtype: str = attr_field(DTYPE, "Data type that the data may be kept in.")


def _same(types: Types, attrs: Attrs) -> Type:
    """What is given."""
    return types[0]


def _copies(attrs: Attrs, inputs: list[Tensor], out_type: Type) -> list[Tensor]:
    return [identity(x) for x in inputs]


def _gradient(call: Call, grad: Expr) -> list[Expr]:
    return [grad]


def _marker(name: str, doc: str, attrs: type[Attrs] | None = None) -> OpFunction:
    """Register an operator that returns its argument."""
    return register(
        name,
        doc=doc,
        inputs={"data": "What is marked."},
        attrs=attrs,
        relation=_same,
        pattern=OpPattern.OPAQUE,
        compute=_copies,
        reference=lambda attrs, x: x,
        gradient=_gradient,
        returns="What is given.",
    )


_marker("annotation.stop_fusion", "Keep what is before and what is after in kernels of their own.")
_marker("annotation.checkpoint", "Mark what a gradient computes again instead of keeping it.")
_marker("annotation.bitpack_start", "Mark where packing of bits begins.")
_marker("annotation.bitpack_end", "Mark where packing of bits ends.")
_marker("annotation.cast_hint", "Mark data that may be kept in another data type.", CastHintAttrs)
_marker("annotation.compiler_begin", "Mark an input of a part that an external compiler gets.", CompilerAttrs)
_marker("annotation.compiler_end", "Mark an output of a part that an external compiler gets.", CompilerAttrs)
_ON_DEVICE = _marker("on_device", "Mark what is computed on a device.", OnDeviceAttrs)


@composite
def on_device(
    body: Expr, device: Device | str | int, constrain_result: bool = False, constrain_body: bool = True
) -> Call:
    """Mark what is computed on a device.

    Parameters
    ----------
    body : Expr
        What is computed there.
    device : Device, str or int
        The device, its kind as a name or as DLPack's number.
    constrain_result : bool
        Whether the result must be on the device too.
    constrain_body : bool
        Whether ``body`` must be computed on it.

    Returns
    -------
    Call
    """
    at = Device(device, 0) if isinstance(device, int) else as_device(device) if isinstance(device, str) else device
    return _ON_DEVICE(
        body,
        device_type=at.device_type,
        device_id=at.device_id,
        constrain_result=constrain_result,
        constrain_body=constrain_body,
    )
