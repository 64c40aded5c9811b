"""Strata's compiler: classic TVM in pure Python, under TVM's names.

``compiler.alias.install()`` lets ``import tvm`` mean this package; ``python -m compiler script.py`` does so too.
Public names are loaded when they are first used, so that importing one package does not load all of them; the table
of them is :mod:`compiler.names`.
"""

from __future__ import annotations

from compiler.ir.extension import public_module
from compiler.name_resolution import extend

__version__ = "0.1.0"

extend()
__getattr__, __dir__ = public_module("tvm", ("__version__",))
