"""On which devices the parameters and the result of a function of a graph are.

They are attributes of the function, ``param_virtual_devices`` and ``result_virtual_device``, so that comparing and
printing functions takes them into account; programs before 0.9 write them as ``param_device_types`` and
``result_device_type``, numbers of kinds of devices, which are read from the newer ones as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.ir.attrs import AttrKind, Attrs
from compiler.ir.attrs.dict_attrs import DERIVED_ATTRS
from compiler.ir.attrs.kinds import Items
from compiler.ir.error import ArgumentError
from compiler.relay.function import PARAMS_DEVICES, RESULT_DEVICE, Function
from compiler.target.virtual_device import VirtualDevice, as_virtual_device

PARAMS, RESULT = PARAMS_DEVICES, RESULT_DEVICE
OLDER_PARAMS, OLDER_RESULT = "param_device_types", "result_device_type"

DERIVED_ATTRS[OLDER_PARAMS] = lambda attrs: Items(device.device_type for device in attrs[PARAMS])
DERIVED_ATTRS[OLDER_RESULT] = lambda attrs: attrs[RESULT].device_type


class _VirtualDeviceKind(AttrKind[VirtualDevice]):
    def convert(self, value: object, owner: type[Attrs]) -> VirtualDevice:
        try:
            return as_virtual_device(value)
        except ArgumentError:
            raise ValueError(self.type_name) from None


VIRTUAL_DEVICE = _VirtualDeviceKind("a VirtualDevice, a Device, or the name or number of a kind of device")
"""A device as an attribute."""


def with_devices(
    func: Function, params: Sequence[VirtualDevice], result: VirtualDevice, older: bool = False
) -> Function:
    """Return a function whose parameters and result are on devices; ``older`` writes them as programs before 0.9 do."""
    if len(params) != len(func.params):
        raise ArgumentError(f"function_on_device: expected {len(func.params)} param_devices, got {len(params)}")
    if older:
        kinds = Items(device.device_type for device in params)
        return func.with_attr({OLDER_PARAMS: kinds, OLDER_RESULT: result.device_type})
    return func.with_attr({PARAMS: Items(params), RESULT: result})


def with_result_device(func: Function, result: VirtualDevice) -> Function:
    """Return a function whose result is on a device; where its parameters are stays as it is."""
    known = devices_of(func)
    return with_devices(func, known[0] if known else [VirtualDevice()] * len(func.params), result)


def written_devices(func: Function) -> tuple[Sequence[VirtualDevice], Mapping[str, Any]]:
    """Return what is written beside a function's parameters, and as its attributes.

    There are no devices where nothing is said of them; that of the result is the attribute ``virtual_device``.
    """
    if PARAMS not in func.attrs:
        return (), func.attrs
    others = {name: value for name, value in func.attrs.items() if name not in (PARAMS, RESULT)}
    return func.attrs[PARAMS], {**others, "virtual_device": func.attrs[RESULT]}


def devices_of(func: Function) -> tuple[Sequence[VirtualDevice], VirtualDevice] | None:
    """Return the devices of a function's parameters and of its result; None if nothing is said of them."""
    attrs = func.attrs
    params, result = attrs.get(PARAMS, attrs.get(OLDER_PARAMS)), attrs.get(RESULT, attrs.get(OLDER_RESULT))
    if params is None and any(p.virtual_device_ != VirtualDevice() for p in func.params):
        params = [p.virtual_device_ for p in func.params]
    if params is None and result is None:
        return None
    given = [as_virtual_device(device) for device in params or ()]
    given += [VirtualDevice()] * (len(func.params) - len(given))
    return given, VirtualDevice() if result is None else as_virtual_device(result)
