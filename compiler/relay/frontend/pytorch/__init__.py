"""PyTorch models: ``relay.frontend.from_pytorch``.

The importers walk TorchScript and exported programs, and look up the converters of ATen operators in a table; each
operator family has a module.  PyTorch is imported only when a model is converted.
"""

from compiler.relay.frontend.pytorch.entry import from_pytorch
from compiler.relay.frontend.shared.errors import ConversionError, ModelError, UnsupportedOperatorError

__all__ = ["ConversionError", "ModelError", "UnsupportedOperatorError", "from_pytorch"]
