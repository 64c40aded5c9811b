"""Keras models: ``relay.frontend.from_keras``.

The importer walks the layers of a model and looks up converters in a table; each family of layers has a module.  Model
objects are read by their attributes, so that Keras is imported only to read files.
"""

from compiler.classic.frontend.keras.entry import from_keras
from compiler.relay.frontend.shared.errors import ConversionError, ModelError, UnsupportedOperatorError

__all__ = ["ConversionError", "ModelError", "UnsupportedOperatorError", "from_keras"]
