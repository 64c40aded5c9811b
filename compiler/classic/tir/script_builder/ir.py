"""Builder functions of modules: ``from tvm.script.ir_builder import ir as I``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.classic.tir.script_builder import frame as frame
from compiler.classic.tir.script_builder.base import IRBuilder
from compiler.classic.tir.script_builder.frame import IRModuleFrame
from compiler.ir.error import ArgumentError, unknown_name
from compiler.ir.extension import extension_point
from compiler.ir.function import GlobalVar
from compiler.tir.script.definitions import unwrapped
from compiler.tir.statements.function import PrimFunc

__all__ = [
    "IRModuleFrame", "decl_function", "def_function", "ir_module", "lookup_vdevice", "module_attrs", "module_get_attr",
    "module_get_attrs", "module_global_infos", "module_set_attr",
]  # fmt: skip

ir = sys.modules[__name__]
"""``tvm.script.ir_builder.ir.ir``, where TVM defines the words."""


def ir_module() -> IRModuleFrame:
    """Begin a module: ``with I.ir_module():``."""
    return IRModuleFrame()


def _module(word: str) -> IRModuleFrame:
    frame = IRBuilder.current().enclosing(IRModuleFrame)
    if frame is None:
        raise ArgumentError(f"I.{word}: must be inside of I.ir_module")
    return frame


def decl_function(func_name: str, func_signature: PrimFunc) -> GlobalVar:
    """Declare a function of the module, which others may call before it is defined.

    A signature stands for it until then. Raises ArgumentError if the module has a function of that name.
    """
    frame = _module("decl_function")
    if func_name in frame.module:
        raise ArgumentError(f"I.decl_function: the module already has a function {func_name!r}")
    frame.define(func_name, func_signature)
    return frame.module.get_global_var(func_name)


def def_function(func_name: str, func: PrimFunc) -> None:
    """Define a function that was declared.

    Raises ArgumentError if it was not declared.
    """
    frame = _module("def_function")
    if func_name not in frame.module:
        raise ArgumentError(f"I.def_function: {func_name!r} is not declared; use I.decl_function first")
    frame.define(func_name, func)


def module_attrs(attrs: Mapping[str, object], allow_overwrite: bool = False) -> None:
    """State facts about the module, with ``allow_overwrite`` in place of what was stated before.

    Raises ArgumentError if facts were stated before.
    """
    frame = _module("module_attrs")
    if frame.attrs and not allow_overwrite:
        raise ArgumentError("I.module_attrs: the module already has attributes")
    frame.attrs = unwrapped(attrs)


def module_get_attr(attr_key: str) -> object:
    """Return a fact that was stated about the module, None if it was not."""
    return _module("module_get_attr").attrs.get(attr_key)


def module_get_attrs() -> dict[str, object]:
    """Return what was stated about the module."""
    return dict(_module("module_get_attrs").attrs)


def module_set_attr(attr_key: str, attr_value: object, allow_overwrite: bool = False) -> None:
    """State a fact about the module, with ``allow_overwrite`` in place of one that was stated before.

    Raises ArgumentError if it was stated before.
    """
    frame = _module("module_set_attr")
    if attr_key in frame.attrs and not allow_overwrite:
        raise ArgumentError(f"I.module_set_attr: the module already has an attribute {attr_key!r}")
    frame.attrs[attr_key] = unwrapped(attr_value)


def module_global_infos(global_infos: Mapping[str, Sequence[object]]) -> None:
    """State what the functions of the module refer to together.

    Raises ArgumentError if they were stated before.
    """
    frame = _module("module_global_infos")
    if frame.global_infos:
        raise ArgumentError("I.module_global_infos: the module already has global infos")
    frame.global_infos = {kind: list(infos) for kind, infos in global_infos.items()}


def lookup_vdevice(target_kind: str | None = None, device_index: int = -1) -> Any:
    """Return one of the devices of a kind of target that were stated for the module, the first one by default.

    Raises ArgumentError if no such device was stated.
    """
    devices = _module("lookup_vdevice").global_infos.get("vdevice", [])
    fitting = [device for device in devices if target_kind in (None, device.target.kind)]
    index = max(device_index, 0)
    if index >= len(fitting):
        raise ArgumentError(f"I.lookup_vdevice: the module has no device {index} of kind {target_kind!r}")
    return fitting[index]


def __getattr__(name: str) -> Any:
    load = extension_point("tvm.script.ir").find(name)
    if load is None:
        raise unknown_name("I", name, __all__)
    return load()
