"""Converters of ONNX operators, by operator family; importing the modules registers them.

An ONNX operator that corresponds to a Relay operator needs no converter: the Relay operator's registration names it.
"""

import importlib
import pkgutil

__all__ = [module.name for module in pkgutil.iter_modules(__path__)]

for _name in __all__:
    importlib.import_module(f"{__name__}.{_name}")
