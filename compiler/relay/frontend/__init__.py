"""Importers: ``relay.frontend``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compiler.ir.extension import lazy_package

_HOMES = {
    "compiler.relay.frontend.change_datatype": ("ChangeDatatype",),
    "compiler.relay.frontend.keras": ("from_keras",),
    "compiler.relay.frontend.onnx": ("from_onnx",),
    "compiler.relay.frontend.pytorch": ("from_pytorch",),
    "compiler.relay.frontend.tensorflow": ("from_tensorflow",),
    "compiler.relay.frontend.tflite": ("from_tflite",),
}

__all__ = [name for names in _HOMES.values() for name in names]

if TYPE_CHECKING:
    from compiler.relay.frontend.change_datatype import ChangeDatatype as ChangeDatatype
    from compiler.relay.frontend.keras import from_keras as from_keras
    from compiler.relay.frontend.onnx import from_onnx as from_onnx
    from compiler.relay.frontend.pytorch import from_pytorch as from_pytorch
    from compiler.relay.frontend.tensorflow import from_tensorflow as from_tensorflow
    from compiler.relay.frontend.tflite import from_tflite as from_tflite
else:
    __getattr__, __dir__ = lazy_package("tvm.relay.frontend", _HOMES)
