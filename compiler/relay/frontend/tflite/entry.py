"""``from_tflite``: from a model to a module and its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from compiler.ir.error import UnavailableError
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from, mint, mint_use
from compiler.relay.frontend.span_filling import begin_import
from compiler.runtime.ndarray import NDArray

if TYPE_CHECKING:
    from compiler.relay.frontend.tflite.reader import ModelSource

__all__ = ["from_tflite"]

_VOCABULARY = (str(Path(__file__).parent.parent),)


def from_tflite(
    model: ModelSource,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    dtype_dict: Mapping[str, str] | None = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Convert a model of TensorFlow Lite to a module of graphs.

    Parameters
    ----------
    model : tflite.Model, bytes, str or path
        A model, the contents of its file, or where the file lies.
    shape_dict : mapping of str to sequence of int, optional
        Shapes of inputs by their names; by default those of the model, where an extent that it leaves open is 1.
    dtype_dict : mapping of str to str, optional
        Data types of inputs by their names; they must be those of the model.

    Returns
    -------
    mod : IRModule
        Its ``main`` has the inputs in their order, then the weights.
    params : dict of str to NDArray
        The weights by the names that ``main`` has for them.

    Raises
    ------
    ModelError
        If the model cannot be read or contradicts itself.
    UnsupportedOperatorError
        If operators are not supported; names all of them, with their nodes.
    ConversionError
        If a node cannot be converted; names the node.
    ArgumentError
        If a shape or data type does not fit the model.
    UnavailableError
        If the package ``tflite`` is not installed.
    """
    try:
        from compiler.relay.frontend.tflite.importer import convert_model
    except ModuleNotFoundError as exc:
        if exc.name != "tflite":
            raise
        raise UnavailableError(
            "relay.frontend.from_tflite: reading this file needs the package tflite; install it with pip install"
            " -e '.[tflite]'"
        ) from exc
    begin_import()
    span = mint("graph", "TensorFlow Lite", mint_use("from_tflite", _VOCABULARY))
    with derived_from(span):
        return convert_model(model, dict(shape_dict or {}), dict(dtype_dict or {}), span)
