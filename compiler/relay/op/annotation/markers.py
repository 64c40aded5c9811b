"""Identity operators that annotate their argument for passes.

Devices and external compilers do not change what is computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from compiler.ir.attrs import Attrs, attr_field
from compiler.ir.attrs.kinds import BOOL, DTYPE, STRING
from compiler.ir.expr import RelayExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Expr
from compiler.relay.function import Function
from compiler.relay.function_devices import VIRTUAL_DEVICE, with_devices
from compiler.relay.op_registry import OpFunction, composite, register
from compiler.relay.operator import Types
from compiler.runtime.device import Device
from compiler.target.virtual_device import VirtualDevice, as_virtual_device
from compiler.te.definition.tensor import Tensor
from compiler.topi.elementwise import identity

if TYPE_CHECKING:
    from typing import Self


class CompilerAttrs(Attrs):
    """Attributes of ``annotation.compiler_begin`` and ``annotation.compiler_end``."""

    compiler: str = attr_field(STRING, "Name of the external compiler.")


class OnDeviceAttrs(Attrs):
    """Attributes of ``on_device``."""

    virtual_device: VirtualDevice = attr_field(VIRTUAL_DEVICE, "The device.", VirtualDevice())
    constrain_result: bool = attr_field(BOOL, "Whether the result must be on the device.", False)
    constrain_body: bool = attr_field(BOOL, "Whether the data must be computed on the device.", True)

    @property
    def device_type(self) -> int:
        """The number of the device's kind, as programs before 0.9 ask for it."""
        return self.virtual_device.device_type

    @property
    def is_fixed(self) -> bool:
        """What programs before 0.9 call ``constrain_result``."""
        return self.constrain_result

    @classmethod
    def make(cls, owner: str, values: Mapping[str, object]) -> Self:
        """Return attributes of today's or older names: before 0.9, ``device_type``, and ``is_fixed`` for both ends."""
        given = dict(values)
        if "device_type" in given:
            given["virtual_device"] = given.pop("device_type")
        if "is_fixed" in given:
            given["constrain_result"] = given.pop("is_fixed")
        return super().make(owner, given)


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
    body: RelayExpr,
    device: VirtualDevice | Device | str | int,
    constrain_result: bool = False,
    constrain_body: bool = True,
    is_fixed: bool = False,
) -> Call:
    """Mark what is computed on a device, given by its kind as a name or as DLPack's number, too.

    ``constrain_result`` says that the result must be on the device, ``constrain_body`` that ``body`` must be computed
    on it; ``is_fixed`` is what programs before 0.9 call ``constrain_result``.
    """
    return _ON_DEVICE(
        body, virtual_device=device, constrain_result=constrain_result or is_fixed, constrain_body=constrain_body
    )


@composite
def function_on_device(
    function: Function,
    param_devices: Sequence[VirtualDevice | Device | str | int],
    result_device: VirtualDevice | Device | str | int,
) -> Function:
    """Return a function whose parameters, each on its own device, and result are on devices."""
    params = tuple(as_virtual_device(device) for device in param_devices)
    return with_devices(function, params, as_virtual_device(result_device))
