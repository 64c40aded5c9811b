"""TensorFlow models: ``relay.frontend.from_tensorflow``.

The importer walks a graph and looks up converters in a table; each operator family has a module.  SavedModels are
frozen first.  TensorFlow is not needed, as files are parsed by their protobuf definitions.
"""

from compiler.classic.frontend.tensorflow.entry import from_tensorflow
from compiler.relay.frontend.shared.errors import ConversionError, ModelError, UnsupportedOperatorError

__all__ = ["ConversionError", "ModelError", "UnsupportedOperatorError", "from_tensorflow"]
