"""Models in ONNX: ``relay.frontend.from_onnx``.

The walk over a graph and the table of converters, a file for each family of operators.
"""

from compiler.relay.frontend.onnx.entry import from_onnx
from compiler.relay.frontend.onnx.errors import UnsupportedOperatorError
from compiler.relay.frontend.shared.errors import ConversionError, ModelError

__all__ = ["ConversionError", "ModelError", "UnsupportedOperatorError", "from_onnx"]
