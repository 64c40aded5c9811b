"""TensorFlow Lite models: ``relay.frontend.from_tflite``.

The importer walks a model and looks up converters in a table; each operator family has a module.  The package
``tflite``, which reads the files, is imported only when a model is converted.
"""

from compiler.classic.frontend.tflite.entry import from_tflite
from compiler.relay.frontend.shared.errors import ConversionError, ModelError, UnsupportedOperatorError

__all__ = ["ConversionError", "ModelError", "UnsupportedOperatorError", "from_tflite"]
