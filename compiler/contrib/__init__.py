"""Parts under TVM's names that stand elsewhere in this house: ``tvm.contrib``."""

from __future__ import annotations

import importlib
from typing import Any

from compiler.ir.error import unknown_name

_ELSEWHERE = {
    "debugger": "compiler.contrib.debugger",
    "graph_executor": "compiler.runtime.graph_executor",
    "relay_viz": "compiler.contrib.relay_viz",
}


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        return importlib.import_module(_ELSEWHERE[name])
    raise unknown_name("tvm.contrib", name, _ELSEWHERE)


def __dir__() -> list[str]:
    return sorted(_ELSEWHERE)
