"""Drivers, which combine the levels: ``lower``, ``build`` and, for models, :mod:`compiler.driver.relay`."""

from typing import TYPE_CHECKING

from compiler.driver.build import build
from compiler.driver.lower import lower
from compiler.ir.extension import public_module

__all__ = ["build", "lower"]

if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.driver", __all__)
