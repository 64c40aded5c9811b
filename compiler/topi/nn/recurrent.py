"""Recurrent layers over a whole sequence, in one kernel: LSTM, GRU, RNN.

The product of all inputs and weights comes from outside, as one product for all steps.  A step multiplies the state by
weights that stand as it reads them: a block of :data:`UNITS` units after another, of each block row after row the
weights of all gates.  The sums of a block stay in registers until its new states are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import reduce
from itertools import product
from operator import add
from typing import TypeAlias

from compiler import te, tir
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var
from compiler.target.target import Target
from compiler.te.definition.tensor import Tensor
from compiler.tir.ir_builder import BufferVar
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.stmt import Stmt

Index: TypeAlias = tuple[PrimExpr | int, ...]
Gate: TypeAlias = Callable[[int], PrimExpr]
Finish: TypeAlias = Callable[[Var, PrimExpr, Gate, Gate], None]

__all__ = ["GATES", "UNITS", "recurrent"]

UNITS = 16
"""Units of a block."""
GATES = {"lstm": 4, "gru": 3, "rnn": 1}
"""The number of gates of each kind of cell: input, forget, memory, output; reset, update, new; the only one."""

_MEMORY = {"lstm": ("memory",), "gru": ("update", "reset"), "rnn": ()}
"""What a step keeps beside the state."""
_ENOUGH_SUMS = 8
"""Vectors that are summed at the same time, so that additions do not wait for each other."""
_PARALLEL_WORK = 1 << 20
"""Products of a tile from which on tiles go to several cores."""


def recurrent(
    gates: Tensor,
    weight: Tensor,
    bias: Tensor,
    states: Sequence[Tensor],
    cell: str,
    activation: str = "tanh",
    linear_before_reset: bool = True,
    reverse: bool = False,
) -> list[Tensor]:
    """Return the outputs ``(time, batch, hidden)`` of a recurrent layer, and its last states ``(batch, hidden)``.

    Parameters
    ----------
    gates : te.Tensor
        ``(time, batch, blocks * gates * 16)``: the inputs times their weights.
    weight : te.Tensor
        ``(blocks, hidden, gates * 16)``.
    bias : te.Tensor
        ``(blocks * gates * 16,)``, added to the product of state and weight.
    states : sequence of te.Tensor
        ``(batch, hidden)`` each: the output to begin with, and an LSTM's memory.
    cell : str
        A key of :data:`GATES`.
    activation : str
        Of an ``rnn``: ``tanh`` or ``relu``.
    linear_before_reset : bool
        Of a ``gru``: whether the state is multiplied by the reset gate after its product with the weight.
    reverse : bool
        Whether the last input is the first step.
    """
    time, batch, hidden = _extents(gates, weight)

    def statement(ins: list[Buffer], outs: list[Buffer]) -> Stmt:
        layer = _Layer(ins, outs, cell, activation, linear_before_reset, reverse)
        layer.write()
        return layer.ib.get()

    shapes = [(time, batch, hidden), *[(batch, hidden)] * len(states)]
    attrs = {"flops": 2 * time * batch * hidden * hidden * GATES[cell]}  # of the products
    inputs = [gates, weight, bias, *states]
    made = te.extern(shapes, inputs, statement, dtype=[gates.dtype] * len(shapes), name=cell, attrs=attrs)
    return [made] if isinstance(made, Tensor) else list(made)


def _extents(gates: Tensor | Buffer, weight: Tensor | Buffer) -> tuple[int, int, int]:
    extents = []
    for extent in (*gates.shape[:2], weight.shape[1]):
        assert isinstance(extent, IntImm), "kernels have static shapes"
        extents.append(extent.value)
    time, batch, hidden = extents
    return time, batch, hidden


@dataclass(frozen=True, slots=True)
class _Tile:
    """How many lanes and rows a product computes at once, and in how many parts each of its sums."""

    lanes: int
    rows: int
    parts: int


def _tile(gates: int, batch: int, depth: int, dtype: str) -> _Tile:
    """Return the tile that multiplies most for what it loads, of those whose sums fit the registers."""
    target = Target.target_or_current(None)
    width = min(max(target.vector_width(dtype), 1), UNITS)
    room = target.vector_registers * 3 // 4
    best, most = _Tile(width, 1, 1), 0.0
    for lanes in (lanes for lanes in (16, 8, 4, 2, 1) if lanes >= width):
        vectors = gates * (lanes // width)
        rows = min(batch, room // vectors)
        rows = rows and -(-batch // -(-batch // rows))  # tiles of about one size
        if rows and (use := vectors * rows / (vectors + rows)) > most:
            fitting = [p for p in (1, 2, 4, 8) if depth % p == 0 and vectors * rows * p <= room]
            parts = next((p for p in fitting if vectors * rows * p >= _ENOUGH_SUMS), fitting[-1])
            best, most = _Tile(lanes, rows, parts), use
    return best


class _Layer:
    """Writes the loops of a layer."""

    def __init__(
        self,
        ins: list[Buffer],
        outs: list[Buffer],
        cell: str,
        activation: str,
        linear_before_reset: bool,
        reverse: bool,
    ) -> None:
        self.ib = tir.ir_builder.create()
        self.gates, self.weight, self.bias, *self._first = map(self.ib.buffer_ptr, ins)
        self._outputs, *self._last = map(self.ib.buffer_ptr, outs)
        self.dtype = ins[0].dtype
        self._time, self._batch, self.hidden = _extents(ins[0], ins[1])
        self.blocks = -(-self.hidden // UNITS)
        self.cell, self.activation = cell, activation
        self._linear_before_reset, self._reverse = linear_before_reset, reverse
        self._is_vector = Target.target_or_current(None).kind == "llvm"

    def lanes(self, count: int) -> AbstractContextManager[Var]:
        """Open a loop whose iterations are lanes of a vector."""
        return self.ib.for_range(0, count, name="lane", kind="vectorize" if self._is_vector else "serial")

    def write(self) -> None:
        """Write the loops over rows, which have nothing to do with each other."""
        tile = _tile(GATES[self.cell], self._batch, self.hidden, self.dtype)
        count, rest = divmod(self._batch, tile.rows)
        work = self._time * tile.rows * self.hidden**2 * GATES[self.cell]
        kind = "parallel" if count > 1 and work >= _PARALLEL_WORK and self._is_vector else "serial"
        with self.ib.for_range(0, count, name="tile", kind=kind) as at:
            self._rows(at * tile.rows, tile.rows, tile)
        if rest:
            with self.ib.new_scope():
                self._rows(tir.const(count * tile.rows), rest, tile)

    def _rows(self, first: PrimExpr, rows: int, tile: _Tile) -> None:
        """Write all steps of some rows, whose states are padded to whole blocks."""
        names = ("now", "next", *_MEMORY[self.cell])
        state = {name: self.ib.allocate(self.dtype, (rows, self.blocks * UNITS), name) for name in names}
        kept = [state["now"], state["memory"]] if self.cell == "lstm" else [state["now"]]
        with self.ib.for_range(0, rows, name="row") as row:
            for place, given in zip(kept, self._first, strict=True):
                self._copy(given, (first + row,), place, (row,))
                with self.ib.for_range(self.hidden, self.blocks * UNITS, name="unit") as j:
                    place[row, j] = tir.const(0, self.dtype)
        with self.ib.for_range(0, self._time, name="step") as step:
            at = self._time - 1 - step if self._reverse else step
            products = _Product(self, tile, rows, state, step, lambda row, j: self.gates[at, first + row, j])
            for gates, source, finish in self._products(products):
                products.write(gates, state[source], finish)
            with self.ib.for_range(0, rows, name="row") as row:
                self._copy(state["next"], (row,), self._outputs, (at, first + row))
                self._copy(state["next"], (row,), state["now"], (row,))
        with self.ib.for_range(0, rows, name="row") as row:
            for place, result in zip(kept, self._last, strict=True):
                self._copy(place, (row,), result, (first + row,))

    def _products(self, product: _Product) -> list[tuple[range, str, Finish]]:
        """Return the products of a step: for which gates, of what, and what becomes of the sums."""
        if self.cell == "lstm":
            return [(range(4), "now", product.lstm)]
        if self.cell == "rnn":
            return [(range(1), "now", product.rnn)]
        if self._linear_before_reset:
            return [(range(3), "now", product.gru)]
        return [(range(2), "now", product.gru_gates), (range(2, 3), "reset", product.gru_new)]

    def _copy(self, source: BufferVar, at: Index, to: BufferVar, where: Index) -> None:
        """Copy the units of a row."""
        with self.ib.for_range(0, self.hidden // UNITS, name="block") as block, self.lanes(UNITS) as lane:
            to[*where, block * UNITS + lane] = source[*at, block * UNITS + lane]
        with self.ib.for_range(self.hidden // UNITS * UNITS, self.hidden, name="unit") as j:
            to[*where, j] = source[*at, j]


class _Product:
    """Writes the products of a step's states and the weights, and the new states."""

    def __init__(
        self,
        layer: _Layer,
        tile: _Tile,
        rows: int,
        state: dict[str, BufferVar],
        step: Var,
        own: Callable[[Var, PrimExpr], PrimExpr],
    ) -> None:
        self._layer, self._tile, self._rows = layer, tile, rows
        self._state, self._step, self._own = state, step, own
        self._width = GATES[layer.cell] * UNITS

    def write(self, gates: range, source: BufferVar, finish: Finish) -> None:
        """Write a product for some of the gates, block by block; ``finish(row, j, own, past)`` stores a unit's.

        ``own(i)`` is what the inputs give a gate, ``past(i)`` what the states give it.
        """
        ib, lanes = self._layer.ib, self._tile.lanes
        last = self._layer.blocks - 1
        with ib.for_range(0, last + 1, name="turn") as turn:
            # Every other step begins with the weights that the step before ended with: these are in the cache still.
            block = ib.let("block", turn + self._step % 2 * (last - 2 * turn))
            for begin in range(0, UNITS, lanes):
                with ib.new_scope():
                    self._write_lanes(gates, source, finish, block, begin)

    def _write_lanes(self, gates: range, source: BufferVar, finish: Finish, block: Var, begin: int) -> None:
        layer, ib, parts, lanes = self._layer, self._layer.ib, self._tile.parts, self._tile.lanes
        zero = tir.const(0, layer.dtype)
        sums = ib.allocate(layer.dtype, (len(gates) * self._rows * parts * lanes,), "sums", "local")

        def place(gate: int, row: int, part: int) -> int:
            return (((gate - gates.start) * self._rows + row) * parts + part) * lanes

        def column(gate: int) -> int:
            return gate * UNITS + begin

        with layer.lanes(lanes) as lane:
            for gate, row, part in product(gates, range(self._rows), range(parts)):
                bias = layer.bias[block * self._width + column(gate) + lane]
                sums[place(gate, row, part) + lane] = bias if part == 0 else zero
        with ib.for_range(0, layer.hidden // parts, name="k") as k, layer.lanes(lanes) as lane:
            for part, gate, row in product(range(parts), gates, range(self._rows)):
                at, depth = place(gate, row, part) + lane, k * parts + part
                weight = layer.weight[block, depth, column(gate) + lane]
                sums[at] = sums[at] + source[row, depth] * weight
        whole = ib.allocate(layer.dtype, (len(gates), self._rows, lanes), "whole")
        with layer.lanes(lanes) as lane:
            for gate, row in product(gates, range(self._rows)):
                added = reduce(add, [sums[place(gate, row, part) + lane] for part in range(parts)])
                whole[gate - gates.start, row, lane] = added
        with ib.for_range(0, self._rows, name="row") as at_row, layer.lanes(lanes) as lane:
            finish(
                at_row,
                block * UNITS + begin + lane,
                lambda gate: self._own(at_row, block * self._width + column(gate) + lane),
                lambda gate: whole[gate - gates.start, at_row, lane],
            )

    def lstm(self, row: Var, j: PrimExpr, own: Gate, past: Gate) -> None:
        """Store the memory and the output of a unit."""
        enter, keep, new, out = (own(gate) + past(gate) for gate in range(4))
        memory = self._state["memory"]
        memory[row, j] = tir.sigmoid(keep) * memory[row, j] + tir.sigmoid(enter) * tir.tanh(new)
        self._state["next"][row, j] = tir.sigmoid(out) * tir.tanh(memory[row, j])

    def rnn(self, row: Var, j: PrimExpr, own: Gate, past: Gate) -> None:
        """Store the output of a unit."""
        value = own(0) + past(0)
        is_relu = self._layer.activation == "relu"
        self._state["next"][row, j] = tir.fmaximum(value, tir.const(0, value.dtype)) if is_relu else tir.tanh(value)

    def gru(self, row: Var, j: PrimExpr, own: Gate, past: Gate) -> None:
        """Store the output of a unit, the product of whose state the reset gate multiplies."""
        self._state["update"][row, j] = tir.sigmoid(own(1) + past(1))
        self._output(row, j, own(2) + tir.sigmoid(own(0) + past(0)) * past(2))

    def gru_gates(self, row: Var, j: PrimExpr, own: Gate, past: Gate) -> None:
        """Store the update gate of a unit, and its state times the reset gate."""
        self._state["reset"][row, j] = tir.sigmoid(own(0) + past(0)) * self._state["now"][row, j]
        self._state["update"][row, j] = tir.sigmoid(own(1) + past(1))

    def gru_new(self, row: Var, j: PrimExpr, own: Gate, past: Gate) -> None:
        """Store the output of a unit."""
        self._output(row, j, own(2) + past(2))

    def _output(self, row: Var, j: PrimExpr, new: PrimExpr) -> None:
        update, now = self._state["update"][row, j], self._state["now"][row, j]
        self._state["next"][row, j] = (tir.const(1, now.dtype) - update) * tir.tanh(new) + update * now
