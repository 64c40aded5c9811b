"""Models of PyTorch: ``relay.frontend.from_pytorch``.

The walk over TorchScript and over exported programs, and the table of converters, a file for each family of ATen
operators.  PyTorch itself is imported when a model is converted, not before.
"""

from compiler.relay.frontend.pytorch.entry import from_pytorch
from compiler.relay.frontend.shared.errors import ConversionError, ModelError, UnsupportedOperatorError

__all__ = ["ConversionError", "ModelError", "UnsupportedOperatorError", "from_pytorch"]
