"""``from_tensorflow``: from a frozen graph or a SavedModel to a module and its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compiler.ir.error import ArgumentError, show
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from, mint, mint_use
from compiler.relay.frontend.span_filling import begin_import
from compiler.runtime.ndarray import NDArray

if TYPE_CHECKING:
    from compiler.relay.frontend.tensorflow.reader import ModelSource

__all__ = ["from_tensorflow"]

_CHANNELS_FIRST = {
    "nn.conv2d": ["NCHW", "default"],
    "nn.max_pool2d": ["NCHW"],
    "nn.avg_pool2d": ["NCHW"],
}
_VOCABULARY = (str(Path(__file__).parent.parent),)


def from_tensorflow(
    graph: ModelSource,
    layout: str | None = "NHWC",
    shape: Mapping[str, Sequence[int]] | None = None,
    outputs: Sequence[str] | None = None,
    convert_config: Mapping[str, Any] | None = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Convert a frozen graph or a SavedModel of TensorFlow to a module of graphs.

    Parameters
    ----------
    graph : GraphDef, bytes, str or path
        A graph without variables, the contents of its file, or where the file lies; or the directory of a SavedModel,
        or a ZIP archive of it.
    layout : str, optional
        ``NHWC`` for convolutions and pools as they are in the graph, ``NCHW`` for such with channels first, between
        transpositions.
    shape : mapping of str to sequence of int, optional
        Shapes of inputs by their names; by default those of the graph, where an extent that it leaves open is 1.
    outputs : sequence of str, optional
        Names of nodes, with ``:1`` for the second result of one; by default those of a SavedModel's
        signature in the order of their keys, or all results of a graph's last node.
    convert_config : mapping of str to object, optional
        Taken for compatibility.

    Returns
    -------
    mod : IRModule
        Its ``main`` has the inputs in their order, then the weights.
    params : dict of str to NDArray
        The weights by the names that ``main`` has for them.

    Raises
    ------
    ModelError
        If the graph cannot be read or contradicts itself.
    UnsupportedOperatorError
        If operators are not supported; names all of them, with their nodes.
    ConversionError
        If a node cannot be converted; names the node.
    ArgumentError
        If ``layout``, ``shape`` or ``outputs`` does not fit the graph.
    """
    from compiler.relay.frontend.tensorflow.importer import convert_graph
    from compiler.relay.transform.convert_layout import ConvertLayout

    if layout not in (None, "NHWC", "NCHW"):
        raise ArgumentError(f"from_tensorflow: layout must be 'NHWC' or 'NCHW', got {show(layout)}")
    begin_import()
    span = mint("graph", "TensorFlow", mint_use("from_tensorflow", _VOCABULARY))
    with derived_from(span):
        mod, params = convert_graph(graph, dict(shape or {}), outputs, span)
    return (ConvertLayout(_CHANNELS_FIRST)(mod) if layout == "NCHW" else mod), params
