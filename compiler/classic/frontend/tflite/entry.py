"""``relay.frontend.from_tflite``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from compiler.classic.frontend import SOURCES
from compiler.ir.error import UnavailableError
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from, mint, mint_use
from compiler.relay.frontend.span_filling import begin_import
from compiler.runtime.arrays.ndarray import NDArray

if TYPE_CHECKING:
    from compiler.classic.frontend.tflite.reader import ModelSource


def from_tflite(
    model: ModelSource,
    shape_dict: Mapping[str, Sequence[int]] | None = None,
    dtype_dict: Mapping[str, str] | None = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Convert a TensorFlow Lite model to a Relay module.

    Raises ModelError if the model cannot be read or contradicts itself. Raises UnsupportedOperatorError if operators
    are not supported; names all of them, with their nodes. Raises ConversionError if a node cannot be converted; names
    the node. Raises ArgumentError if a shape or data type does not match the model. Raises UnavailableError if the
    package ``tflite`` is not installed.

    Parameters
    ----------
    model : tflite.Model, bytes, str or path
        A model, the contents of its file, or its path.
    shape_dict : mapping of str to sequence of int, optional
        Shapes of inputs by name; by default those of the model, with 1 for unknown extents.
    dtype_dict : mapping of str to str, optional
        Data types of inputs by name, which must agree with the model.

    Returns
    -------
    mod : IRModule
        The parameters of ``main`` are the inputs, then the variables that a run assigns, then the weights.  What such a
        variable holds after a run comes behind the model's outputs, in the same order: it is what the next run takes.
        The function ``initial_states`` of the module returns what the first run takes, as a tuple.
    params : dict of str to NDArray
        The weights by their parameter names in ``main``.
    """
    try:
        from compiler.classic.frontend.tflite.importer import convert_model
    except ModuleNotFoundError as exc:
        if exc.name != "tflite":
            raise
        raise UnavailableError(
            "relay.frontend.from_tflite: the package tflite, which reads such files, is not installed here "
            "(pip install 'strata-explorer[tflite]'); a model that was exported to ONNX can be read without it"
        ) from exc
    begin_import()
    span = mint("graph", "TensorFlow Lite", mint_use("from_tflite", SOURCES))
    with derived_from(span):
        return convert_model(model, dict(shape_dict or {}), dict(dtype_dict or {}), span)
