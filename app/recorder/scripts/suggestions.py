"""Suggestions for unknown names: the import that a script lacks, or what it may have misspelt."""

from __future__ import annotations

import builtins
import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from compiler.te import Operation, Schedule, Stage, Tensor

IMPORTS = {
    "I": "from tvm.script import ir as I",
    "T": "from tvm.script import tir as T",
    "auto_scheduler": "from tvm import auto_scheduler",
    "autotvm": "from tvm import autotvm",
    "graph_executor": "from tvm.contrib import graph_executor",
    "np": "import numpy as np",
    "numpy": "import numpy",
    "onnx": "import onnx",
    "relay": "from tvm import relay",
    "te": "from tvm import te",
    "time": "import time",
    "timeit": "import timeit",
    "tir": "from tvm import tir",
    "topi": "from tvm import topi",
    "tvm": "import tvm",
}
"""How the modules that scripts use are imported, by the names that tutorials give them."""
EXTRAS = {"keras": "keras", "tensorflow": "tensorflow", "tflite": "tflite", "torch": "pytorch"}
"""Modules that the owner of a server can install for scripts, and the optional extra of each."""


def suggestion(exc: BaseException, names: Mapping[str, Any]) -> str:
    """Return ``; did you mean 'vectorize'?`` for an unknown name that is close to a known one, else ``""``.

    For the name of a module, it is ``; 'from tvm import te' is missing above``, and for a primitive of stages that a
    tensor or the schedule was asked for, ``; a stage has it: s[C].vectorize``.

    Parameters
    ----------
    names : mapping
        The script's global names.
    """
    missing = getattr(exc, "name", None)
    if not isinstance(missing, str) or "did you mean" in str(exc):
        return ""
    candidates: Iterable[str]
    if owner := _owner(exc, missing):
        return owner
    if isinstance(exc, AttributeError) and exc.obj is not None:
        candidates = (name for name in dir(exc.obj) if not name.startswith("_"))
    elif isinstance(exc, NameError):
        if missing in IMPORTS:
            return f"; {IMPORTS[missing]!r} is missing above"
        candidates = [*names, *(name for name in dir(builtins) if name != "input")]  # nobody types anything in here
    else:
        return ""
    close = difflib.get_close_matches(missing, candidates, n=1, cutoff=0.7)
    return f"; did you mean {close[0]!r}?" if close else ""


def _owner(exc: BaseException, missing: str) -> str:
    """Return who has what a tensor, a stage or a schedule of tensor expressions was asked for in vain."""
    if not isinstance(exc, AttributeError) or missing.startswith("_"):
        return ""
    asked = str(exc).partition(" has no attribute ")[0]  # errors of the compiler do not keep the object
    if hasattr(Stage, missing) and (asked == "schedule" or isinstance(exc.obj, (Tensor, Operation))):
        return f"; a stage has it: s[C].{missing}"
    if hasattr(Schedule, missing) and (asked == "stage" or isinstance(exc.obj, (Tensor, Operation))):
        return f"; the schedule has it: s.{missing}"
    return ""
