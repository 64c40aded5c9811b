"""Recurrent networks and attention in NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from compiler.ir.error import ArgumentError

__all__ = ["attention_python", "lstm_python"]

Array = np.ndarray

_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
}


def lstm_python(
    Xs: Array,
    Wi: Array,
    Wh: Array,
    Bi: Array | None = None,
    Bh: Array | None = None,
    h_init: Array | None = None,
    c_init: Array | None = None,
    proj: Array | None = None,
    p_i: Array | None = None,
    p_f: Array | None = None,
    p_o: Array | None = None,
    f_act: str = "sigmoid",
    g_act: str = "tanh",
    h_act: str = "tanh",
    reverse: bool = False,
    weight_layout: str = "IFGO",
) -> tuple[Array, Array]:
    """Return the states and the memories of a network of long short-term memory.

    The inputs are ``(steps, batch, features)``, their weights ``(4 * hidden, features)``, in the order
    ``weight_layout`` of input, forget, memory and output gate. State and memory begin with ``h_init`` and ``c_init``,
    or zeros; ``p_i``, ``p_f`` and ``p_o`` are what the gates see of the memory. If ``reverse``, the last input is the
    first; the results are in the order in which they are computed.
    """
    steps, batch = Xs.shape[:2]
    hidden = Wi.shape[0] // 4
    order = [weight_layout.index(gate) for gate in "IFGO"]
    state = np.zeros((batch, proj.shape[0] if proj is not None else hidden), Xs.dtype) if h_init is None else h_init
    memory = np.zeros((batch, hidden), Xs.dtype) if c_init is None else c_init
    states, memories = np.zeros((steps, *state.shape), Xs.dtype), np.zeros((steps, *memory.shape), Xs.dtype)
    for step, inputs in enumerate(Xs[::-1] if reverse else Xs):
        gates = inputs @ Wi.T + state @ Wh.T
        for bias in (Bi, Bh):
            gates = gates if bias is None else gates + bias
        into, forget, new, out = (gates[:, place * hidden : (place + 1) * hidden] for place in order)
        into = _ACTIVATIONS[f_act](into if p_i is None else into + p_i * memory)
        forget = _ACTIVATIONS[f_act](forget if p_f is None else forget + p_f * memory)
        memory = forget * memory + into * _ACTIVATIONS[g_act](new)
        out = _ACTIVATIONS[f_act](out if p_o is None else out + p_o * memory)
        state = out * _ACTIVATIONS[h_act](memory)
        state = state if proj is None else state @ proj.T
        states[step], memories[step] = state, memory
    return states, memories


def attention_python(
    q: Array,
    k: Array,
    v: Array,
    bias: Array | None,
    qk_scale: float | None,
    causal: str,
    window_size: int | None = None,
    layout: str = "BSNH",
) -> Array:
    """Return the attention of queries to keys, summed over values, all ``(batch, length, heads, size)`` or in BNSH.

    Products are multiplied by ``qk_scale``, one by the square root of the size by default, and ``bias`` is added to
    them. A query sees all keys (``none``), or those up to its own, counted from the ``TopLeft`` or ``BottomRight``, at
    most ``window_size`` of them. Raises ArgumentError if ``causal`` is not one of the three.
    """
    if causal not in ("none", "TopLeft", "BottomRight"):
        raise ArgumentError(f"attention_python: causal must be 'none', 'TopLeft' or 'BottomRight', got {causal!r}")
    queries, keys, values = (x.transpose(0, 2, 1, 3) if layout == "BSNH" else x for x in (q, k, v))
    scale = 1 / np.sqrt(q.shape[-1]) if qk_scale is None else qk_scale
    scores = queries @ keys.swapaxes(2, 3) * scale
    scores = scores if bias is None else scores + bias
    count, length = scores.shape[2:]
    if causal != "none":
        offset = 0 if causal == "TopLeft" else length - count
        distance = np.arange(count)[:, None] + offset - np.arange(length)[None, :]
        hidden = (distance < 0) | (distance >= (window_size or count + length))
        scores = np.where(hidden, -np.inf, scores)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result = powers / powers.sum(axis=-1, keepdims=True) @ values
    return np.asarray(result.transpose(0, 2, 1, 3) if layout == "BSNH" else result)
