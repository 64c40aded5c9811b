"""Strata's compiler: classic TVM in pure Python, under TVM's names.

``compiler.alias.install()`` lets ``import tvm`` mean this package; ``python -m compiler script.py`` does so too.
Public names are loaded when they are first used, so that importing one room does not load the whole house.
"""

from __future__ import annotations

import importlib
from typing import Any

from compiler.ir.error import UnknownNameError, unknown_name
from compiler.ir.transform import option_sources

__version__ = "0.1.0"

_ROOMS = ("arith", "contrib", "driver", "ir", "relay", "runtime", "target", "te", "testing", "tir", "topi")
_NAMES = {
    "IRModule": ("compiler.ir.module", "IRModule"),
    "TVMError": ("compiler.ir.error", "TVMError"),
    "build": ("compiler.driver.build", "build"),
    "convert": ("compiler.ir.primexpr", "convert"),
    "cpu": ("compiler.runtime.device", "cpu"),
    "cuda": ("compiler.runtime.device", "cuda"),
    "device": ("compiler.runtime.device", "device"),
    "error": ("compiler.ir.error", None),
    "gpu": ("compiler.runtime.device", "cuda"),
    "instrument": ("compiler.ir.instrument", None),
    "lower": ("compiler.driver.lower", "lower"),
    "nd": ("compiler.runtime.ndarray", None),
    "opencl": ("compiler.runtime.device", "opencl"),
    "transform": ("compiler.ir.transform", None),
}
"""Where each public name stands; without a second part it is the module itself."""

LATER = ("auto_scheduler", "autotvm", "meta_schedule", "micro", "relax", "rpc", "script")
"""Parts of TVM that do not exist here yet."""


option_sources.append(lambda: importlib.import_module("compiler.driver.pipeline"))
option_sources.append(lambda: importlib.import_module("compiler.relay.transform"))


def public_names() -> list[str]:
    """Return all names that ``tvm.`` can be followed by."""
    return sorted({*_ROOMS, *_NAMES, "__version__"})


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        module, attribute = _NAMES[name]
        found = importlib.import_module(module)
        return found if attribute is None else getattr(found, attribute)
    if name in LATER:
        raise UnknownNameError(f"tvm.{name} is not part of Strata yet", name=name)
    raise unknown_name("tvm", name, public_names())


def __dir__() -> list[str]:
    return public_names()
