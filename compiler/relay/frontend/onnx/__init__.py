"""Models in ONNX: ``relay.frontend.from_onnx``.

An importer walks the graph and looks up converters in a table; each operator family has a module.
"""

from compiler.relay.frontend.onnx.entry import from_onnx
from compiler.relay.frontend.onnx.errors import UnsupportedOperatorError
from compiler.relay.frontend.shared.errors import ConversionError, ModelError

__all__ = ["ConversionError", "ModelError", "UnsupportedOperatorError", "from_onnx"]
