"""Random kernels whose threads exchange data in shared memory, as TVMScript and as NumPy's lockstep execution of it.

The threads of a kernel run each statement together before any runs the next one: that is what a kernel without
barriers means, and what the barriers that lowering inserts must keep.  The expressions of a script are words that
TVMScript and NumPy share, so that NumPy evaluates for all threads at once what a compiler reads.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np

__all__ = ["Kernel", "kernel"]

BLOCKS = 2
SIZE = 256
"""The elements of the input."""

Arrays = dict[str, "np.ndarray[Any, Any]"]


@dataclass(frozen=True, slots=True)
class Store:
    """``target[index] = value``."""

    target: str
    index: str
    value: str

    def text(self) -> str:
        """Return the statement."""
        return f"{self.target}[{self.index}] = {self.value}"

    def run(self, names: dict[str, Any]) -> None:
        """Execute the statement for all threads of a block: all of them read before any writes."""
        index, value = np.broadcast_arrays(eval(self.index, {}, names), eval(self.value, {}, names))
        names[self.target][index] = value


@dataclass(frozen=True, slots=True)
class Loop:
    """``for var in range(extent)``: all threads run as many iterations."""

    var: str
    extent: str
    body: list[Any]

    def text(self) -> str:
        """Return the statement."""
        return f"for {self.var} in range({self.extent}):\n{_block(self.body)}"

    def run(self, names: dict[str, Any]) -> None:
        """Execute the loop for all threads of a block."""
        for value in range(eval(self.extent, {}, names)):
            for each in self.body:
                each.run(names | {self.var: value})


@dataclass(frozen=True, slots=True)
class Branch:
    """``if condition``, which all threads of a block agree about or not."""

    condition: str
    body: list[Any]

    def text(self) -> str:
        """Return the statement."""
        return f"if {self.condition}:\n{_block(self.body)}"

    def run(self, names: dict[str, Any]) -> None:
        """Execute the branch for the threads that take it."""
        taken = eval(self.condition, {}, names)
        if np.ndim(taken):
            names = names | {axis: names[axis][taken] for axis in ("tx", "ty")}
        if np.any(taken):
            for each in self.body:
                each.run(names)


def _block(body: list[Any]) -> str:
    return textwrap.indent("\n".join(each.text() for each in body), "    ")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of two blocks.

    Attributes
    ----------
    width, height : int
        The extents of ``threadIdx.x`` and ``threadIdx.y``.
    body : list of statement
    scope : str
        Where the memory is that the threads share.
    """

    width: int
    height: int
    body: list[Any] = field(default_factory=list)
    scope: str = "shared"

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.width * self.height

    def script(self) -> str:
        """Return the kernel as TVMScript."""
        size = 2 * self.threads
        head = [
            "@T.prim_func",
            f"def main(A: T.Buffer(({SIZE},), 'int32'), n: T.int32, C: T.Buffer(({BLOCKS * self.threads},), 'int32')):",
            f"    bx = T.launch_thread('blockIdx.x', {BLOCKS})",
            f"    tx = T.launch_thread('threadIdx.x', {self.width})",
            f"    ty = T.launch_thread('threadIdx.y', {self.height})",
            *(f"    {name} = T.decl_buffer(({size},), 'int32', scope='{self.scope}')" for name in ("S", "R")),
        ]
        return "\n".join([*head, _block(self.body), ""])

    def arrays(self, seed: int, n: int) -> list[Any]:
        """Return the arguments: an input, the number ``n``, and the output."""
        rng = np.random.default_rng(seed)
        data = rng.integers(1, 100, SIZE).astype("int32")
        return [data, n, np.zeros(BLOCKS * self.threads, "int32")]

    def expected(self, arguments: list[Any]) -> np.ndarray[Any, Any]:
        """Return the output that the threads compute in lockstep."""
        data, n, output = arguments[0], arguments[1], arguments[2].copy()
        ty, tx = (axis.ravel() for axis in np.mgrid[: self.height, : self.width])
        for block in range(BLOCKS):
            shared: Arrays = {name: np.zeros(2 * self.threads, "int32") for name in ("S", "R")}
            names: dict[str, Any] = {"A": data, "n": n, "C": output, "bx": block, "tx": tx, "ty": ty, **shared}
            for each in self.body:
                each.run(names)
        return output


def kernel(seed: int) -> Kernel:
    """Return a kernel; the same one for the same number."""
    random = Random(seed)
    width, height = random.choice(((8, 1), (4, 2), (8, 2), (16, 1), (4, 4), (32, 1), (32, 2)))
    made = Kernel(width, height, scope=random.choice(("shared", "shared", "shared", "shared.dyn")))
    # What a kernel reads before it stores is zero for NumPy alone.
    fill = [Store(name, f"{_flat(made)}{shift}", "0") for name in "SR" for shift in ("", f" + {made.threads}")]
    made.body.extend([*fill, *_Maker(random, made).statements(random.randint(2, 5), ())])
    made.body.append(_Maker(random, made).output(()))
    return made


def _flat(made: Kernel) -> str:
    return "tx" if made.height == 1 else f"(ty * {made.width} + tx)"


class _Maker:
    """Draws statements.  Threads that store in one statement store in different elements, or the same value."""

    def __init__(self, random: Random, made: Kernel) -> None:
        self.random = random
        self.made = made
        self.flat = _flat(made)

    def statements(self, count: int, loops: tuple[str, ...], divergent: bool = False) -> list[Any]:
        return [self.statement(loops, divergent) for _ in range(count)]

    def statement(self, loops: tuple[str, ...], divergent: bool) -> Any:
        kinds = ["fill", "fill", "output"]
        if not divergent:
            kinds += ["redundant", "some", "some"]
            if len(loops) < 2:
                kinds += ["loop", "loop", "branch"]
        kind = self.random.choice(kinds)
        return getattr(self, kind)(loops)

    def loop(self, loops: tuple[str, ...]) -> Loop:
        var = "ijk"[len(loops)]
        extent = self.random.choice(("2", "3", "4", "n", "bx", *(f"{outer} + 1" for outer in loops)))
        return Loop(var, extent, self.statements(self.random.randint(1, 3), (*loops, var)))

    def branch(self, loops: tuple[str, ...]) -> Branch:
        conditions = ["n < 2", "bx == 0", "A[0] < 50", *(f"{var} < 1" for var in loops)]
        return Branch(self.random.choice(conditions), self.statements(self.random.randint(1, 3), loops))

    def fill(self, loops: tuple[str, ...]) -> Store:
        """Each thread stores in an element of its own."""
        threads = self.made.threads
        target = self.random.choice("SR")
        places = [
            self.flat,
            self.flat,
            f"{self.flat} + {threads}",
            f"{threads - 1} - {self.flat}",
            f"{self.flat} * 2",
            f"{self.flat} * 2 + 1",
            *(f"{var} % 2 * {threads} + {self.flat}" for var in loops),
            *(f"({self.flat} + {var}) % {threads}" for var in loops),
        ]
        place = self.random.choice(places)
        # A thread that reads what another one stores in the same statement would be a race of the script's own.
        return Store(target, place, self.value(loops, "R" if target == "S" else "S", f"{target}[{place}]"))

    def redundant(self, loops: tuple[str, ...]) -> Store:
        """Several threads store the same value in one element."""
        place = self.random.choice(["0", "tx", "tx // 2", *loops])
        return Store(self.random.choice("SR"), place, f"A[{place}] + {self.random.choice(['n', 'bx', '5', *loops])}")

    def some(self, loops: tuple[str, ...]) -> Branch:
        """Some threads store, or read."""
        made = self.made
        target = self.random.choice("SR")
        other = "R" if target == "S" else "S"
        stores = [("ty == 0", "tx"), ("tx % 2 == 0 and ty == 0", "tx // 2")] if made.height > 1 else []
        stores += [("tx == 0 and ty == 0", place) for place in ("0", "1", *loops)]
        stores += [("tx % 2 == 0", f"{self.flat} // 2"), ("tx < 3", self.flat), ("ty == 0", f"tx + {made.threads}")]
        condition, place = self.random.choice(stores)
        stored: Any = Store(target, place, self.value(loops, other, f"{target}[{place}]"))
        for each in reversed(condition.split(" and ")):
            stored = Branch(each, [stored])
        return stored if self.random.random() < 0.75 else Branch(condition.split(" and ")[0], [self.output(loops)])

    def output(self, loops: tuple[str, ...]) -> Store:
        """Each thread adds to its own element of the output."""
        place = f"bx * {self.made.threads} + {self.flat}"
        source = self.random.choice("SR")
        return Store("C", place, f"(C[{place}] * 3 + {source}[{self.anywhere(loops)}]) % 10007")

    def value(self, loops: tuple[str, ...], source: str, own: str) -> str:
        kind = self.random.choice(("input", "input", "other", "other", "own"))
        if kind == "input":
            return f"A[{self.random.choice([self.flat, 'tx', *loops])} + {self.random.randint(0, 9)}]"
        if kind == "own":
            return f"({own} * 2 + {self.random.choice(['1', 'tx', *loops])}) % 1009"
        return f"({source}[{self.anywhere(loops)}] + {self.random.choice(['1', 'tx', *loops])}) % 1009"

    def anywhere(self, loops: tuple[str, ...]) -> str:
        threads = self.made.threads
        places = [
            self.flat,
            self.flat,
            f"{self.flat} + {threads}",
            f"{threads - 1} - {self.flat}",
            f"({self.flat} + {self.random.randint(1, 3)}) % {threads}",
            "tx",
            "tx // 2",
            "0",
            f"{self.flat} * 2",
            f"{self.flat} // 2",
            *(f"({self.flat} + {var}) % {threads}" for var in loops),
            *(f"({var} + 1) % 2 * {threads} + {self.flat}" for var in loops),
            *loops,
        ]
        return self.random.choice(places)
