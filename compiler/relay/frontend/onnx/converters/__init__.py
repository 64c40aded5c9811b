"""What each ONNX operator becomes, a file for each family of operators; importing them fills the table.

An operator that is one to one with a Relay operator needs no converter: the Relay operator's row names it.
"""

import importlib
import pkgutil

__all__ = [module.name for module in pkgutil.iter_modules(__path__)]

for _name in __all__:
    importlib.import_module(f"{__name__}.{_name}")
