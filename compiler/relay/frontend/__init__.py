"""Importers of other formats: ``relay.frontend``."""

from compiler.relay.frontend.onnx import from_onnx

__all__ = ["from_onnx"]
