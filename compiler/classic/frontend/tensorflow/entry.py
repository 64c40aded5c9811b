"""``relay.frontend.from_tensorflow``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from compiler.classic.frontend import SOURCES
from compiler.ir.error import ArgumentError, show
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from, mint, mint_use
from compiler.relay.frontend.span_filling import begin_import
from compiler.runtime.arrays.ndarray import NDArray

if TYPE_CHECKING:
    from compiler.classic.frontend.tensorflow.reader import ModelSource

_CHANNELS_FIRST = {"nn.conv2d": ["NCHW", "default"], "nn.max_pool2d": ["NCHW"], "nn.avg_pool2d": ["NCHW"]}


def from_tensorflow(
    graph: ModelSource,
    layout: str | None = "NHWC",
    shape: Mapping[str, Sequence[int]] | None = None,
    outputs: Sequence[str] | None = None,
    convert_config: Mapping[str, Any] | None = None,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Convert a frozen graph or SavedModel of TensorFlow to a Relay module.

    Raises ModelError if the graph cannot be read or contradicts itself. Raises UnsupportedOperatorError if operators
    are not supported; names all of them, with their nodes. Raises ConversionError if a node cannot be converted; names
    the node. Raises ArgumentError if ``layout``, ``shape`` or ``outputs`` does not match the graph.

    Parameters
    ----------
    graph : GraphDef, bytes, str or path
        A graph without variables, the contents of its file, or its path; or the directory or a ZIP archive of a
        SavedModel.
    layout : str, optional
        ``NHWC`` keeps the layout of convolutions and pooling; ``NCHW`` converts them, with transpositions.
    shape : mapping of str to sequence of int, optional
        Shapes of inputs by name; by default those of the graph, with 1 for unknown extents.
    outputs : sequence of str, optional
        Names of nodes, with ``:1`` for their second result; by default the outputs of a SavedModel's signature in the
        order of their keys, or all results of a graph's last node.

    Returns
    -------
    mod : IRModule
        The parameters of ``main`` are the inputs, followed by the weights.
    params : dict of str to NDArray
        The weights by their parameter names in ``main``.
    """
    from compiler.classic.frontend.tensorflow.importer import convert_graph
    from compiler.relay.transform.layout.convert_layout import ConvertLayout

    if layout not in (None, "NHWC", "NCHW"):
        raise ArgumentError(f"from_tensorflow: layout must be 'NHWC' or 'NCHW', got {show(layout)}")
    begin_import()
    span = mint("graph", "TensorFlow", mint_use("from_tensorflow", SOURCES))
    with derived_from(span):
        mod, params = convert_graph(graph, dict(shape or {}), outputs, span)
    return (ConvertLayout(_CHANNELS_FIRST)(mod) if layout == "NCHW" else mod), params
