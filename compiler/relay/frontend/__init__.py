"""Importers: ``relay.frontend``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.extension import lazy_package

_HOMES = {"compiler.relay.frontend.onnx": ("from_onnx",), "compiler.relay.frontend.pytorch": ("from_pytorch",)}

__all__ = [name for names in _HOMES.values() for name in names]

if TYPE_CHECKING:
    from compiler.relay.frontend.onnx import from_onnx as from_onnx
    from compiler.relay.frontend.pytorch import from_pytorch as from_pytorch
else:
    __getattr__, __dir__ = lazy_package("tvm.relay.frontend", _HOMES)
