"""LSTM of ``tvm.topi.nn``, as a scan over time steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler import te, tir
from compiler.ir.error import expected
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.te.definition.tensor import Tensor
from compiler.topi.compute import compute
from compiler.topi.math import sigmoid, tanh
from compiler.topi.operands import Extent, dims
from compiler.topi.tag import Tag

__all__ = ["lstm"]

Activation = Callable[[Tensor], Tensor]

_GATES = "IFGO"
"""The input gate, the forget gate, what is put into the memory, and the output gate."""


@dataclass(frozen=True, slots=True)
class _Step:
    """What each step computes with.

    Row ``t`` of a tensor of the scan belongs to step ``t - 1``; row 0 of state and memory is what they begin with.
    """

    rows: Extent
    batch: Extent
    hidden: Extent
    layout: str
    gate_activation: Activation
    new_activation: Activation

    def staged(self, width: Extent, element: Callable[[Var, Var, Var], PrimExpr], name: str) -> Tensor:
        """Return a tensor of the scan."""
        return compute((self.rows, self.batch, width), element, name=name, tag=Tag.STAGED)

    def product(self, a: Tensor, weight: Tensor, back: int, name: str) -> Tensor:
        """Return the rows of ``a``, those of ``back`` steps before, times the transposed weight."""
        outputs, inputs = dims(weight)
        k = te.reduce_axis((0, inputs), name="k")

        def element(t: Var, n: Var, j: Var) -> PrimExpr:
            return te.sum(a(t - back, n, k.var) * weight(j, k.var), axis=k)

        return compute((self.rows, self.batch, outputs), element, name=name, tag=Tag.COMM_REDUCE)

    def gate(self, name: str, gates: Tensor, hole: Tensor | None, memory: Tensor, back: int) -> Tensor:
        """Return the values of one gate, which may look at the memory."""
        place = self.layout.index(name)

        def element(t: Var, n: Var, h: Var) -> PrimExpr:
            value = gates(t, n, h + place * self.hidden)
            return value if hole is None else value + hole(n, h) * memory(t - back, n, h)

        raw = self.staged(self.hidden, element, f"gate_{name.lower()}")
        return self.new_activation(raw) if name == "G" else self.gate_activation(raw)

    def first(self, given: Tensor | None, width: Extent, dtype: str, name: str) -> Tensor:
        """Return what the scan begins with: a tensor's elements, or zeros."""

        def element(_: Var, n: Var, h: Var) -> PrimExpr:
            return tir.const(0, dtype) if given is None else given(n, h)

        return compute((1, self.batch, width), element, name=name, tag=Tag.STAGED)

    def without_first(self, scanned: Tensor, name: str) -> Tensor:
        """Return the rows of the steps."""
        shape = (self.rows - 1, *dims(scanned)[1:])
        return compute(shape, lambda t, n, h: scanned(t + 1, n, h), name=name, tag=Tag.INJECTIVE)


def _inputs_product(x: Tensor, weight: Tensor, biases: list[Tensor], reverse: bool) -> Tensor:
    """Return the inputs' share of all gates; row ``t`` belongs to step ``t - 1``, row 0 to none."""
    steps, batch, features = dims(x)
    k = te.reduce_axis((0, features), name="k")

    def element(t: Var, n: Var, j: Var) -> PrimExpr:
        step = te.min(steps - t, steps - 1) if reverse else te.max(t - 1, 0)
        return te.sum(x(step, n, k.var) * weight(j, k.var), axis=k)

    shape = (steps + 1, batch, dims(weight)[0])
    product = compute(shape, element, name="Xi2h", tag=Tag.COMM_REDUCE)

    def biased(t: Var, n: Var, j: Var) -> PrimExpr:
        value = product(t, n, j)
        for bias in biases:
            value = value + bias(j)
        return value

    return compute(shape, biased, name="Xi2h_bias", tag=Tag.STAGED) if biases else product


def lstm(
    Xs: Tensor, Wi: Tensor, Wh: Tensor, Bi: Tensor | None = None, Bh: Tensor | None = None,
    h_init: Tensor | None = None, c_init: Tensor | None = None, proj: Tensor | None = None, p_i: Tensor | None = None,
    p_f: Tensor | None = None, p_o: Tensor | None = None, f_act: Activation = sigmoid, g_act: Activation = tanh,
    h_act: Activation = tanh, reverse: bool = False, weight_layout: str = _GATES,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Return the states and the memories of long short-term memory over a sequence, ``(steps, batch, …)``.

    The inputs are ``(steps, batch, features)``, their weights ``(4 * hidden, features)``, in the order
    ``weight_layout`` of input, forget, memory and output gate. State and memory begin with ``h_init`` and ``c_init``,
    or zeros; the state may be multiplied by ``proj``, ``(state, hidden)``; ``p_i``, ``p_f`` and ``p_o`` are what the
    gates see of the memory. ``f_act`` is of the gates, ``g_act`` of what is put into the memory, ``h_act`` of what it
    gives. If ``reverse``, the last input is the first; results are in the order in which they are computed. Raises
    ArgumentError if the layout of the weights does not order the four gates.

    References
    ----------
    Hochreiter and Schmidhuber, "Long Short-Term Memory", Neural Computation 9, 1997; peepholes: Gers and Schmidhuber,
    "Recurrent Nets that Time and Count", IJCNN 2000.
    """
    if sorted(weight_layout) != sorted(_GATES):
        expected("lstm", "weight_layout", f"an order of the gates {_GATES}", weight_layout)
    steps, batch, _ = dims(Xs)
    step = _Step(steps + 1, batch, dims(Wi)[0] // 4, weight_layout, f_act, g_act)
    width, dtype = dims(Wh)[1], Xs.dtype
    inputs = _inputs_product(Xs, Wi, [b for b in (Bi, Bh) if b is not None], reverse)
    state = te.placeholder((step.rows, batch, width), dtype, name="h_state")
    memory = te.placeholder((step.rows, batch, step.hidden), dtype, name="c_state")
    own = step.product(state, Wh, 1, "Sh2h")
    gates = step.staged(step.hidden * 4, lambda t, n, j: own(t, n, j) + inputs(t, n, j), "gates")
    into, forget = step.gate("I", gates, p_i, memory, 1), step.gate("F", gates, p_f, memory, 1)
    new = step.gate("G", gates, None, memory, 1)
    next_memory = step.staged(
        step.hidden, lambda t, n, h: forget(t, n, h) * memory(t - 1, n, h) + into(t, n, h) * new(t, n, h), "next_c"
    )
    out, given = step.gate("O", gates, p_o, next_memory, 0), h_act(next_memory)
    next_state = step.staged(step.hidden, lambda t, n, h: out(t, n, h) * given(t, n, h), "next_h")
    if proj is not None:
        next_state = step.product(next_state, proj, 0, "projected_h")
    begin = [step.first(h_init, width, dtype, "h_first"), step.first(c_init, step.hidden, dtype, "c_first")]
    states, memories = te.scan(begin, [next_state, next_memory], [state, memory], name="lstm_scan")
    return step.without_first(states, "hidden_states"), step.without_first(memories, "cell_states")
