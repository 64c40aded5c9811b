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

    Parameters
    ----------
    Xs : numpy.ndarray
        The inputs, ``(steps, batch, features)``; the weights of them are ``(4 * hidden, features)``.
    h_init, c_init : numpy.ndarray, optional
        The first state and the first memory; 0 by default.
    p_i, p_f, p_o : numpy.ndarray, optional
        What the gates for input, forgetting and output see of the memory.
    f_act, g_act, h_act : str
        The functions of the gates, of what is put into the memory, and of what the memory gives.
    reverse : bool
        Begin with the last input; the results are in the order in which they are computed.
    weight_layout : str
        The order of input, forget, memory and output gate in the weights.
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
    """Return the attention of queries to keys, summed over values, all ``(batch, length, heads, size)``.

    Parameters
    ----------
    bias : numpy.ndarray, optional
        Added to the products, ``(batch, heads, queries, keys)``.
    qk_scale : float, optional
        Of the products; one by the square root of the size by default.
    causal : str
        Which keys a query sees: ``none`` for all; those up to its own, from the ``TopLeft`` or ``BottomRight``.
    window_size : int, optional
        How many keys a query sees at most.
    layout : str
        ``BSNH`` or ``BNSH``.

    Raises
    ------
    ArgumentError
        If ``causal`` is not one of the three.
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
