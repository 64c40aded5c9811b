"""Strata's compiler: classic TVM in pure Python.

Public names are loaded when they are first used, so that importing one package does not load all of them; the table
of them is :mod:`compiler.public_names`.  What is here only because TVM has the name is :mod:`compiler.classic`:
``compiler.classic.alias.install()`` lets ``import tvm`` mean this package, as ``python -m compiler script.py`` does.
"""

from __future__ import annotations

from compiler.ir.extension import complete, places, public_module
from compiler.public_names import COMPLETED_BY, DEFINITIONS, MODULES

__version__ = "0.18.0+strata"
"""The release of TVM whose programs run here, for programs that ask; this project's own is ``app.__version__``."""

complete(places(MODULES, DEFINITIONS), COMPLETED_BY)
__getattr__, __dir__ = public_module("tvm", ("__version__",))
