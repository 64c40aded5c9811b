"""The small modules that come with Relay: ``core.rly`` and ``gradient.rly`` of :meth:`IRModule.import_from_std`."""

from __future__ import annotations

from compiler.ir.module import IRModule
from compiler.relay.adt import TypeData
from compiler.relay.ty import GlobalTypeVar


def define_storage(mod: IRModule) -> None:
    """Add the type ``Storage``, of memory that no tensor is in yet, to a module."""
    if any(var.name_hint == "Storage" for var in mod.type_definitions):
        return
    storage = GlobalTypeVar("Storage")
    mod.type_definitions[storage] = TypeData(storage, (), ())


def define_gradients(mod: IRModule) -> None:
    """Add what gradients need to a module: nothing, as values that need not be computed yet are functions."""
