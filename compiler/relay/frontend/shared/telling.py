"""What importers tell instruments of the files that they read."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.ir.instrument import active_instruments
from compiler.ir.module import IRModule
from compiler.runtime.arrays.ndarray import NDArray


def tell_read(form: str, model: object) -> None:
    """Tell that a model of a format was read, as its importer represents it."""
    for instrument in active_instruments():
        instrument.model_read(form, model)


def tell_created(module: IRModule) -> None:
    """Tell that a user created a module."""
    for instrument in active_instruments():
        instrument.module_created(module)


def tell_imported(module: IRModule, weights: Mapping[str, NDArray]) -> None:
    """Tell that the model that was read last was imported, with its weights by name."""
    for instrument in active_instruments():
        instrument.model_imported(module, weights)
