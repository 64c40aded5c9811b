"""``tvm.driver.tvmc``: load, tune, compile and run a model.

``tvmc.load`` reads a model, ``tvmc.compile`` makes a package of it, ``tvmc.run`` runs the package.  The command line is
``python -m compiler -m tvm.driver.tvmc``.
"""

from __future__ import annotations

from compiler.classic.tvmc.autotuner import tune_model
from compiler.classic.tvmc.compiler import compile_model
from compiler.classic.tvmc.errors import TVMCException
from compiler.classic.tvmc.frontends import load_model
from compiler.classic.tvmc.model import TVMCModel, TVMCPackage, TVMCResult
from compiler.classic.tvmc.runner import run_module

load = load_model
compile = compile_model
run = run_module
tune = tune_model

__all__ = [
    "TVMCException", "TVMCModel", "TVMCPackage", "TVMCResult", "compile", "compile_model", "load", "load_model", "run",
    "run_module", "tune", "tune_model",
]  # fmt: skip
