"""Convolutional LSTM, unrolled over time."""

from __future__ import annotations

import numpy as np

from compiler.classic.frontend.keras.converters.activations import activation
from compiler.classic.frontend.keras.converters.recurrent import State, run_steps, time_steps
from compiler.classic.frontend.keras.converters.windows import convolved
from compiler.classic.frontend.keras.layer import Layer
from compiler.classic.frontend.keras.registry import Convert, converters
from compiler.classic.frontend.shared.nhwc import same_padding
from compiler.ir.expr import RelayExpr
from compiler.relay.frontend.shared.errors import ConversionError
from compiler.relay.frontend.shared.folding import constant, ops, rank_of
from compiler.relay.frontend.shared.tensors import bounded, split, static_dims


def _gates(layer: Layer, entering: RelayExpr, state: State) -> State:
    """Compute a step with the gates input, forget, cell, output, from convolved inputs."""
    h, cell = state
    count = rank_of(h) - 2
    axis = layer.axis(-1, rank_of(h))
    weight, ones = layer.weight("recurrent_kernel"), (1,) * count
    around = same_padding(layer.spatial(h), weight.shape[:count], ones)
    both = ops.add(entering, convolved(layer, h, "recurrent_kernel", weight, 1, ones, ones, around))
    parts = split(both, [int(layer.option("filters"))] * 4, axis)
    gate, value = layer.option("recurrent_activation", "sigmoid"), layer.option("activation", "tanh")
    enter, forget, out = (activation(layer, parts[i], gate) for i in (0, 1, 3))
    cell = ops.add(ops.multiply(forget, cell), ops.multiply(enter, activation(layer, parts[2], value)))
    return ops.multiply(out, activation(layer, cell, value)), cell


def _conv_lstm(count: int) -> Convert:
    def convert(layer: Layer) -> list[RelayExpr] | RelayExpr:
        layer.check_channels_last()
        if layer.option("stateful", False):
            raise ConversionError("a stateful layer, which keeps its state between calls, is not supported")
        sequence = layer.channels_last(layer.x)
        dims = static_dims(sequence, "the input")
        strides, dilations = layer.numbers("strides", count), layer.numbers("dilation_rate", count)
        entering = []
        for part in time_steps(layer, sequence):
            x = layer.placed(ops.reshape(part, [dims[0], *dims[2:]]))
            y = convolved(layer, x, "kernel", layer.weight("kernel"), 1, strides, dilations)
            if layer.option("use_bias", True):
                y = ops.nn.bias_add(y, layer.parameter("bias"), axis=layer.axis(-1, rank_of(y)))
            entering.append(y)
        state = tuple(layer.inputs[1:]) or _nothing(layer, entering[0])
        outputs, last = run_steps(layer, lambda x, before: _gates(layer, x, before), entering, state)
        if not layer.option("return_sequences", False):
            result = outputs[-1]
        else:
            result = layer.placed(ops.stack([layer.channels_last(y) for y in outputs], axis=1))
        return [result, *last] if layer.option("return_state", False) else result

    return convert


def _nothing(layer: Layer, entering: RelayExpr) -> State:
    """Return the zero initial state."""
    dims = list(static_dims(entering, "a step"))
    dims[layer.axis(-1, len(dims))] = int(layer.option("filters"))
    bounded(*dims)
    return (constant(np.zeros(dims, layer.dtype)),) * 2


converters({f"ConvLSTM{count}D": _conv_lstm(count) for count in (1, 2, 3)}, masks=True)
