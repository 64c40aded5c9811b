"""``relay.frontend.from_keras``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from compiler.classic.frontend import SOURCES
from compiler.ir.error import ArgumentError, show
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from, mint, mint_use
from compiler.relay.frontend.span_filling import begin_import
from compiler.runtime.arrays.ndarray import NDArray

if TYPE_CHECKING:
    from compiler.classic.frontend.keras.reader import ModelSource

LAYOUTS = ("NCHW", "NHWC", "NDHWC", "NWC")


def from_keras(
    model: ModelSource, shape: Mapping[str, Sequence[int]] | None = None, layout: str = "NCHW"
) -> tuple[IRModule, dict[str, NDArray]]:
    """Convert a Keras 3 model to a Relay module.

    Raises ModelError if the model or its file cannot be read. Raises UnsupportedOperatorError if layers are not
    supported; names all of them. Raises ConversionError if a layer cannot be converted; names the layer. Raises
    ArgumentError if ``model``, ``shape`` or ``layout`` is invalid. Raises UnavailableError if a file is given and Keras
    is not installed.

    Parameters
    ----------
    model : keras.Model, str or path
        A built functional or sequential model, or a path of its ``.keras`` file, which Keras reads.
    shape : mapping of str to sequence of int, optional
        Shapes of inputs by name, in the layout below; by default those of the model, with 1 for unknown extents.
    layout : str
        The layout of four-dimensional tensors, including inputs and outputs: ``NCHW`` or ``NHWC``.  Tensors of other
        ranks have their channels last, as in Keras (``NWC``, ``NDHWC``).

    Returns
    -------
    mod : IRModule
        The parameters of ``main`` are the inputs, followed by the weights.
    params : dict of str to NDArray
        The weights by their parameter names in ``main``: ``layer/weight``.
    """
    from compiler.classic.frontend.keras.importer import convert_model

    if layout not in LAYOUTS:
        raise ArgumentError(f"from_keras: layout must be one of {', '.join(map(repr, LAYOUTS))}, got {show(layout)}")
    begin_import()
    span = mint("graph", "Keras", mint_use("from_keras", SOURCES))
    with derived_from(span):
        return convert_model(model, dict(shape or {}), layout, span)
