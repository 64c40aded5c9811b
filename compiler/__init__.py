"""Strata's compiler: classic TVM in pure Python, under TVM's names.

``compiler.alias.install()`` lets ``import tvm`` mean this package; ``python -m compiler script.py`` does so too.
Public names are loaded when they are first used, so that importing one room does not load the whole house; the table
of them is :mod:`compiler.names`.
"""

from __future__ import annotations

from typing import Any

from compiler.ir.error import UnknownNameError
from compiler.ir.extension import public_module
from compiler.names import LATER, extend

__version__ = "0.1.0"

extend()
_load, __dir__ = public_module("tvm", ("__version__",))


def __getattr__(name: str) -> Any:
    if name in LATER:
        raise UnknownNameError(f"tvm.{name} is not part of Strata yet", name=name)
    return _load(name)
