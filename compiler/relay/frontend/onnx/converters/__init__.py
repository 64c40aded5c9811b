"""What each ONNX operator becomes, a file for each family of operators; importing them fills the table."""

from compiler.relay.frontend.onnx.converters import (
    control_flow,
    creation,
    elementwise,
    images,
    indexing,
    matmul,
    normalization,
    quantized,
    recurrent,
    reductions,
    resize,
    shape,
    signal,
    windows,
)

__all__ = [
    "control_flow",
    "creation",
    "elementwise",
    "images",
    "indexing",
    "matmul",
    "normalization",
    "quantized",
    "recurrent",
    "reductions",
    "resize",
    "shape",
    "signal",
    "windows",
]
