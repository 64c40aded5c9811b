"""What every ``tvm.x.y`` is: the one table of public names.

A name that is not listed is where its path says: ``tvm.tir.analysis`` is ``compiler.tir.analysis``, and
``tvm.te.compute`` is what ``compiler.te`` calls so in its ``__all__``.
"""

from __future__ import annotations

import importlib
from functools import partial

from compiler.ir.extension import extension_point

__all__ = ["COMPLETED_BY", "LATER", "PUBLIC", "module_of"]

PUBLIC = {
    "tvm.IRModule": "compiler.ir.module:IRModule",
    "tvm.TVMError": "compiler.ir.error:TVMError",
    "tvm.arith": "compiler.arith",
    "tvm.build": "compiler.driver.build:build",
    "tvm.contrib": "compiler.contrib",
    "tvm.contrib.debugger": "compiler.contrib.debugger",
    "tvm.contrib.debugger.debug_executor": "compiler.runtime.debug_executor",
    "tvm.contrib.graph_executor": "compiler.runtime.graph_module",
    "tvm.contrib.relay_viz": "compiler.contrib.relay_viz",
    "tvm.convert": "compiler.ir.primexpr:convert",
    "tvm.cpu": "compiler.runtime.device:cpu",
    "tvm.cuda": "compiler.runtime.device:cuda",
    "tvm.device": "compiler.runtime.device:device",
    "tvm.driver": "compiler.driver",
    "tvm.error": "compiler.ir.error",
    "tvm.gpu": "compiler.runtime.device:cuda",
    "tvm.instrument": "compiler.ir.instrument",
    "tvm.ir": "compiler.ir",
    "tvm.lower": "compiler.driver.lower:lower",
    "tvm.nd": "compiler.runtime.ndarray",
    "tvm.opencl": "compiler.runtime.device:opencl",
    "tvm.relay": "compiler.relay",
    "tvm.relay.Prelude": "compiler.relay.prelude:Prelude",
    "tvm.relay.ScopeBuilder": "compiler.relay.scope_builder:ScopeBuilder",
    "tvm.relay.build": "compiler.driver.relay.build:build",
    "tvm.relay.build_module": "compiler.driver.relay.build_module",
    "tvm.relay.create_executor": "compiler.driver.relay.executor:create_executor",
    "tvm.relay.dataflow_pattern": "compiler.relay.dataflow_pattern",
    "tvm.relay.frontend": "compiler.relay.frontend",
    "tvm.relay.fromtext": "compiler.relay.parser:fromtext",
    "tvm.relay.load_param_dict": "compiler.runtime.params:load_param_dict",
    "tvm.relay.optimize": "compiler.driver.relay.build_module:optimize",
    "tvm.relay.parse": "compiler.relay.parser:parse",
    "tvm.relay.parse_expr": "compiler.relay.parser:parse_expr",
    "tvm.relay.prelude": "compiler.relay.prelude",
    "tvm.relay.save_param_dict": "compiler.runtime.params:save_param_dict",
    "tvm.relay.testing": "compiler.testing.relay",
    "tvm.relay.transform": "compiler.relay.transform",
    "tvm.relay.vm": "compiler.driver.relay.vm",
    "tvm.runtime": "compiler.runtime",
    "tvm.script": "compiler.tir.script",
    "tvm.script.tir.target": "compiler.target.target:Target",
    "tvm.target": "compiler.target",
    "tvm.te": "compiler.te",
    "tvm.testing": "compiler.testing",
    "tvm.testing.utils": "compiler.testing",
    "tvm.tir": "compiler.tir",
    "tvm.tir.expr": "compiler.ir.primexpr",
    "tvm.tir.ir_builder": "compiler.tir.ir_builder",
    "tvm.tir.transform": "compiler.tir.transform",
    "tvm.topi": "compiler.topi",
    "tvm.transform": "compiler.ir.transform",
}
"""Public names with their places: a module, or ``module:attribute``."""

COMPLETED_BY = {
    "tvm.topi": ("compiler.relay.op",),
    "tvm.topi.nn": ("compiler.relay.op",),
    "operators": ("compiler.relay.op",),
    "passes": ("compiler.tir.transform", "compiler.relay.transform", "compiler.driver.pipeline"),
}
"""Rooms that add to a public module or a registry when they are imported: there they are looked for last."""

LATER = ("auto_scheduler", "autotvm", "meta_schedule", "micro", "relax", "rpc")
"""Parts of TVM that do not exist here yet."""


def module_of(name: str) -> str:
    """Return the module that a public name stands for, e.g. ``compiler.runtime.ndarray`` for ``tvm.nd``."""
    head, tail = name, ""
    while head:
        place = PUBLIC.get(head)
        if place is not None and ":" not in place:
            return place + tail
        head, _, last = head.rpartition(".")
        tail = f".{last}{tail}"
    return "compiler" + name.removeprefix("tvm")


def load(place: str) -> object:
    """Return the module, or the attribute of a module, that a place names."""
    module, _, attribute = place.partition(":")
    loaded = importlib.import_module(module)
    return getattr(loaded, attribute) if attribute else loaded


def extend() -> None:
    """Tell the extension points of all floors what the tables say."""
    for public, place in PUBLIC.items():
        parent, _, name = public.rpartition(".")
        extension_point(parent).add(name, partial(load, place))
    for point, rooms in COMPLETED_BY.items():
        for room in rooms:
            extension_point(point).add_room(partial(load, room))
