"""The ``T`` namespace of TVM 0.27's TVMScript, ``from tvm.script import tirx as T``: what has a classic counterpart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.tir.script import tir
from compiler.tir.script.definitions import FunctionAttributes

RENAMED = {"sblock": "block", "sblock_attr": "block_attr", "sblock_alloc_buffer": "alloc_buffer"}
"""Words of 0.27, and the classic ones."""
_OTHERS = frozenset({"alloc_buffer", "decl_buffer", "attr", "Bind", "bind"})
"""Words that mean something else in classic TVMScript."""
__all__ = sorted({*tir.__all__, *RENAMED, "func_attr"} - _OTHERS - set(RENAMED.values()))


def func_attr(attrs: Mapping[str, object]) -> FunctionAttributes:
    """State facts about the function: ``T.func_attr({"tirx.noalias": True})`` is ``tir.noalias``."""
    return tir.func_attr({f"tir.{key[5:]}" if key.startswith("tirx.") else key: v for key, v in attrs.items()})


def __getattr__(name: str) -> Any:
    if name in RENAMED:
        return getattr(tir, RENAMED[name])
    if name in _OTHERS or name in RENAMED.values() or not (name.startswith("_") or hasattr(tir, name)):
        close = next((f"; T.{new} is the classic T.{old}" for new, old in RENAMED.items() if old == name), "")
        raise ArgumentError(f"T.{name} of TVM 0.27 has no counterpart in classic TVMScript{close}")
    return getattr(tir, name)


def __dir__() -> list[str]:
    return sorted({*dir(tir), *__all__} - _OTHERS - set(RENAMED.values()))
