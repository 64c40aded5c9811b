"""The ``I`` namespace of TVMScript: ``from tvm.script import ir as I``."""

from typing import Any

from compiler.ir.error import unknown_name
from compiler.ir.extension import extension_point
from compiler.tir.script.expression_words import Range
from compiler.tir.script.functions import ir_module, module_attrs, module_global_infos

__all__ = [
    "Range", "ir_module", "module_attrs", "module_global_infos",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    load = extension_point("tvm.script.ir").find(name)
    if load is None:
        raise unknown_name("I", name, __all__)
    return load()
