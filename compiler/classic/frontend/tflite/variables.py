"""The variables of a program, shared by its subgraphs.

Those that only its initialisation assigns are constants. What a run assigns persists: such a variable is a parameter of
``main``, what it holds before the run, and a result, what it holds afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from compiler.classic.frontend.tflite.reader import Operation, Subgraph, TensorInfo, called
from compiler.ir.expr import RelayExpr
from compiler.ir.names import take_name
from compiler.relay.expr import Var
from compiler.relay.frontend.shared.errors import ConversionError, ModelError
from compiler.relay.frontend.shared.folding import constant, settle, type_of
from compiler.relay.frontend.shared.tensors import bounded
from compiler.relay.ty import TensorType


class Variables:
    """The values of variables by number."""

    def __init__(self, graphs: Sequence[Subgraph], taken: set[str]) -> None:
        self.values: dict[int, RelayExpr] = {}  # what each holds where the conversion is
        self.initial: dict[int, RelayExpr] = {}  # what the initialisation assigned
        self.states: dict[int, Var] = {}  # what those that persist hold before a run
        self._persistent = _persistent(graphs)
        self._taken = taken
        self._names: list[str] = []
        self._is_initializing = self._is_conditional = False

    def number(self, name: str) -> int:
        """Return the number of a variable with a name."""
        if name not in self._names:
            self._names.append(name)
        return self._names.index(name)

    @contextmanager
    def initialized(self) -> Iterator[None]:
        """Assign initial values within the context."""
        around, self._is_initializing = self._is_initializing, True
        try:
            yield
        finally:
            self._is_initializing = around

    @contextmanager
    def conditional(self) -> Iterator[None]:
        """Refuse assignments within the context, where the running program chooses what is computed."""
        around, self._is_conditional = self._is_conditional, True
        try:
            yield
        finally:
            self._is_conditional = around

    def assign(self, number: int, value: RelayExpr) -> None:
        """Let a variable hold a value from here on."""
        if self._is_initializing:
            self.initial[number] = self.values[number] = value
            return
        name = self._names[number]
        if self._is_conditional:
            raise ConversionError(f"variable {name!r} is assigned in a branch or a loop, which is not supported")
        state = self._state(number, type_of(value))
        if type_of(state) != type_of(value):
            raise ConversionError(f"variable {name!r} is {type_of(state)} before a run and {type_of(value)} after it")
        self.values[number] = value

    def read(self, number: int, tensor: TensorInfo) -> RelayExpr:
        """Return what a variable holds, where it is read into a tensor."""
        if self._names[number] in self._persistent and not self._is_initializing:
            self._state(number, TensorType(tensor.shape, tensor.dtype))
        if number not in self.values:
            raise ModelError("it reads a variable to which nothing was assigned")
        return self.values[number]

    def _state(self, number: int, expected: TensorType) -> Var:
        """Return what a variable that persists holds before a run."""
        if number not in self.states:
            given = self.initial.get(number)
            name = take_name(self._names[number] or f"variable{number}", self._taken, ".")
            state = settle(Var(name, expected if given is None else type_of(given)))
            self.states[number] = self.values[number] = state
        return self.states[number]

    def initial_state(self, number: int) -> RelayExpr:
        """Return what a variable holds before the first run: zeros if nothing was assigned."""
        given, t = self.initial.get(number), type_of(self.states[number])
        if given is not None:
            return given
        bounded(*t.concrete_shape)
        return constant(np.zeros(t.concrete_shape), t.dtype)


def variable_name(operation: Operation) -> str:
    """Return the name of the variable that a ``VAR_HANDLE`` refers to."""
    parts = () if operation.options is None else (operation.options.Container(), operation.options.SharedName())
    return "/".join(part.decode("utf-8", "replace") for part in parts if part)


def _persistent(graphs: Sequence[Subgraph]) -> set[str]:
    """Return the names of the variables that a run assigns; the graphs of ``CALL_ONCE`` run before."""
    names: set[str] = set()
    left, seen = [0], {0}
    while left:
        graph = graphs[left.pop()]
        handles = {op.outputs[0]: variable_name(op) for op in graph.operations if op.operator == "VAR_HANDLE"}
        for operation in graph.operations:
            if operation.operator == "ASSIGN_VARIABLE":
                names |= {handles[operation.inputs[0]]} if operation.inputs[0] in handles else _all_names(graphs)
            inside = set() if operation.operator == "CALL_ONCE" else set(called(operation))
            left += [number for number in inside - seen if 0 <= number < len(graphs)]
            seen |= inside
    return names


def _all_names(graphs: Sequence[Subgraph]) -> set[str]:
    """Return the names of all variables: one is assigned through a handle that was passed to a graph."""
    return {variable_name(op) for graph in graphs for op in graph.operations if op.operator == "VAR_HANDLE"}
