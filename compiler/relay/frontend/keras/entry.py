"""``from_keras``: from a model to a module and its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from compiler.ir.error import ArgumentError, show
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from, mint, mint_use
from compiler.relay.frontend.span_filling import begin_import
from compiler.runtime.ndarray import NDArray

if TYPE_CHECKING:
    from compiler.relay.frontend.keras.reader import ModelSource

__all__ = ["from_keras"]

_VOCABULARY = (str(Path(__file__).parent.parent),)
LAYOUTS = ("NCHW", "NHWC", "NDHWC", "NWC")


def from_keras(
    model: ModelSource, shape: Mapping[str, Sequence[int]] | None = None, layout: str = "NCHW"
) -> tuple[IRModule, dict[str, NDArray]]:
    """Convert a model of Keras 3 to a module of graphs.

    Parameters
    ----------
    model : keras.Model, str or path
        A functional or sequential model that is built, or the ``.keras`` file of one, which Keras itself reads.
    shape : mapping of str to sequence of int, optional
        Shapes of inputs by their names, in the layout below; by default those of the model, where an extent that it
        leaves open is 1.
    layout : str
        Where tensors of four dimensions have their channels in the module: ``NCHW`` or ``NHWC``, inputs and outputs
        included.  Those of any other number of dimensions have them last, as in Keras (``NWC``, ``NDHWC``).

    Returns
    -------
    mod : IRModule
        Its ``main`` has the inputs in their order, then the weights.
    params : dict of str to NDArray
        The weights by the names that ``main`` has for them: ``layer/weight``.

    Raises
    ------
    ModelError
        If the model or its file cannot be read.
    UnsupportedOperatorError
        Naming all layers that nothing converts.
    ConversionError
        If a layer cannot be converted; it names the layer.
    ArgumentError
        If ``model``, ``shape`` or ``layout`` is not what it must be.
    UnavailableError
        If a file is given and Keras is not installed.
    """
    from compiler.relay.frontend.keras.importer import convert_model

    if layout not in LAYOUTS:
        raise ArgumentError(f"from_keras: layout must be one of {', '.join(map(repr, LAYOUTS))}, got {show(layout)}")
    begin_import()
    span = mint("graph", "Keras", mint_use("from_keras", _VOCABULARY))
    with derived_from(span):
        return convert_model(model, dict(shape or {}), layout, span)
