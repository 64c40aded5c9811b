"""Complex numbers: tuples of their real and their imaginary parts."""

from __future__ import annotations

from compiler.classic.frontend.tflite.node import Node
from compiler.classic.frontend.tflite.registry import converter, converters
from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Tuple
from compiler.relay.frontend.onnx.converters.signal import spectrum
from compiler.relay.frontend.shared.folding import ops, rank_of
from compiler.relay.frontend.shared.tensors import pad, static_dims, transpose


@converter("RFFT2D")
def _fourier_2d(node: Node) -> RelayExpr:
    rows, columns = node.ints(1, "fft_length")
    parts = spectrum([_of_length(node.inputs[0], columns)], columns, columns // 2 + 1)
    if rows != 1:
        parts = [_turned(x) for x in spectrum([_of_length(_turned(x), rows) for x in parts], rows, rows)]
    return Tuple(tuple(parts))


def _of_length(x: RelayExpr, length: int) -> RelayExpr:
    *others, extent = static_dims(x, "the input")
    return pad(x, [*[(0, 0) for _ in others], (0, length - extent)])


def _turned(x: RelayExpr) -> RelayExpr:
    *others, rows, columns = range(rank_of(x))
    return transpose(x, [*others, columns, rows])


def _magnitude(node: Node) -> RelayExpr:
    return ops.sqrt(ops.add(*[ops.multiply(part, part) for part in node.complex(0)]))


converters(
    {"REAL": lambda node: node.complex(0)[0], "IMAG": lambda node: node.complex(0)[1], "COMPLEX_ABS": _magnitude}
)
