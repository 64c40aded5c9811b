"""Memory planning: which values of a graph share a buffer.

A value lives from the call that computes it to the last call that reads it.  Calls are planned in order; a result gets
the buffer of a dead value that fits best, and a value after its last use gives its buffer back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from compiler.driver.relay.graph import GraphProgram
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.ndarray import numpy_dtype

_MAX_SLACK = 16
"""A buffer more than this many times as large as a value is left to a larger one."""


@dataclass(slots=True)
class MemoryPlan:
    """Where the values of a graph lie."""

    storage: list[int]
    sizes: list[int] = field(default_factory=list)
    inputs: int = 0
    """Bytes of parameters and constants, which share with nothing."""
    shared: int = 0
    """Bytes of the buffers for everything else."""
    unshared: int = 0
    """What those would take if every result had its own."""
    given: int = 0
    """How many buffers, the first ones, are of parameters and constants."""

    def workspace(self, outputs: Sequence[int]) -> dict[int, int]:
        """Return the bytes of each buffer of what is neither given to the graph nor returned by it."""
        returned = {self.storage[value] for value in outputs}
        return {buffer: self.sizes[buffer] for buffer in range(self.given, len(self.sizes)) if buffer not in returned}


def type_bytes(t: TensorType) -> int:
    """Return the size of a tensor with static extents."""
    return int(np.prod(t.concrete_shape, dtype=np.int64)) * numpy_dtype(t.dtype).itemsize


def plan_memory(program: GraphProgram) -> MemoryPlan:
    """Return which values share memory.

    Parameters and constants keep their own, outputs are never overwritten, and no call writes to what it reads.
    """
    return _MemoryPlanner(program).plan


class _MemoryPlanner:
    def __init__(self, program: GraphProgram) -> None:
        self._bytes = [type_bytes(t) for t in program.types]
        self.plan = MemoryPlan([-1] * len(program.types))
        self._free: list[int] = []
        for value in [*(v for _, v in program.inputs), *(v for v, _ in program.constants)]:
            self.plan.storage[value] = self._new_buffer(self._bytes[value])
            self.plan.inputs += self._bytes[value]
        self.plan.given = len(self.plan.sizes)
        self._owner = value_owners(program)
        self._users = Counter(self._owner[v] for call in program.calls for v in call.inputs)
        # One user more than there are: it never dies.
        self._users.update({self._owner[v] for v in program.outputs})
        self._users.update(self._owner[v] for v in range(len(program.types)) if self.plan.storage[v] >= 0)
        for call in program.calls:
            for value in call.outputs:
                self._place(value)
            for value in call.inputs:
                self._read(value)
            for value in call.outputs:
                if self._owner[value] == value and not self._users[value]:
                    self._free.append(self.plan.storage[value])
        self.plan.shared = sum(self.plan.sizes[self.plan.given :])

    def _place(self, value: int) -> None:
        owner = self._owner[value]
        if owner != value:
            self.plan.storage[value] = self.plan.storage[owner]
            return
        self.plan.unshared += self._bytes[value]
        self.plan.storage[value] = self._take(self._bytes[value])

    def _read(self, value: int) -> None:
        owner = self._owner[value]
        self._users[owner] -= 1
        if not self._users[owner]:
            self._free.append(self.plan.storage[owner])

    def _take(self, size: int) -> int:
        """Return a free buffer: the smallest that is large enough, else the largest, which grows."""
        fitting = [b for b in self._free if size <= self.plan.sizes[b] <= max(size, 1) * _MAX_SLACK]
        smaller = [b for b in self._free if self.plan.sizes[b] < size <= self.plan.sizes[b] * _MAX_SLACK]
        if fitting:
            buffer = min(fitting, key=lambda b: self.plan.sizes[b])
        elif smaller:
            buffer = max(smaller, key=lambda b: self.plan.sizes[b])
        else:
            return self._new_buffer(size)
        self._free.remove(buffer)
        self.plan.sizes[buffer] = max(self.plan.sizes[buffer], size)
        return buffer

    def _new_buffer(self, size: int) -> int:
        self.plan.sizes.append(size)
        return len(self.plan.sizes) - 1


def value_owners(program: GraphProgram) -> list[int]:
    """Return for each value the one whose memory it is: itself, or the one that it is under another shape."""
    owner = list(range(len(program.types)))
    for call in program.calls:
        if call.alias:
            owner[call.outputs[0]] = owner[call.inputs[0]]
    return owner
