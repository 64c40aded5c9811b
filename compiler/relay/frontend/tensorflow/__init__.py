"""Models of TensorFlow: ``relay.frontend.from_tensorflow``.

The walk over a graph and the table of converters, a file for each family of operators; SavedModels are frozen first.
TensorFlow itself is not needed: files are read by the definitions of their messages.
"""

from compiler.relay.frontend.shared.errors import ConversionError, ModelError, UnsupportedOperatorError
from compiler.relay.frontend.tensorflow.entry import from_tensorflow

__all__ = ["ConversionError", "ModelError", "UnsupportedOperatorError", "from_tensorflow"]
