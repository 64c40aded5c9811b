"""Models of TensorFlow Lite: ``relay.frontend.from_tflite``.

The walk over a model and the table of converters, a file for each family of operators.  The package ``tflite``, which
reads the files, is imported when a model is converted, not before.
"""

from compiler.relay.frontend.shared.errors import ConversionError, ModelError, UnsupportedOperatorError
from compiler.relay.frontend.tflite.entry import from_tflite

__all__ = ["ConversionError", "ModelError", "UnsupportedOperatorError", "from_tflite"]
