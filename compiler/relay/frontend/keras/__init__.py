"""Models of Keras: ``relay.frontend.from_keras``.

The walk over a model's layers and the table of converters, a file for each family of layers.  Model objects are read
by their own attributes; Keras itself is imported for files alone.
"""

from compiler.relay.frontend.keras.entry import from_keras
from compiler.relay.frontend.shared.errors import ConversionError, ModelError, UnsupportedOperatorError

__all__ = ["ConversionError", "ModelError", "UnsupportedOperatorError", "from_keras"]
