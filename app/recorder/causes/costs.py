"""A model of the processor's cycles in a lowered function, and of those that it would take without a defect.

It is a model of parts: instructions that compute and load, chains of dependent additions, branches, divisions, calls,
bytes between the levels of memory, and threads.  What a defect costs is the difference between the model with and
without it, so that defects that hide behind each other cost nothing by themselves.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from app.causes import overlapped
from app.recorder.causes.statements import Access, Statement, allocated, extent, statements
from compiler.ir import dtype as dt
from compiler.ir.expr.substitute import free_vars
from compiler.target.target import Target
from compiler.tir.access_trace import CacheLevel
from compiler.tir.analysis.memory_traffic import memory_traffic
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind

ISSUE = 2
"""Vector instructions, loads among them, that start in a cycle."""
LATENCY = 4
"""Cycles from the start of an addition to that of one that needs its result."""
DIVISION, CONSTANT_DIVISION = 22.0, 2.0
"""Cycles of an integer division, and of what replaces one by a constant."""
BRANCH = 1.5
EXTERN, INTRINSIC = 15.0, 20.0
"""Cycles of a function of the C library, and of the instructions that compute a vector of exponentials or the like."""
CYCLES_PER_BYTE = (1 / 32, 1 / 16, 1 / 4)
"""From the second and third level of caches, and from memory, of lines that follow each other."""
STRIDED = 4.0
"""How many times as long a line takes where the innermost loop goes from page to page."""
PAGE = 4096
"""Bytes, which prefetchers do not leave."""
GATHERED = 3.0
"""Instructions for a lane that is loaded or stored by itself."""
TRANSFER = 12.0
"""Cycles until a store has a line that another thread wrote last: what an element takes longer where two threads fill
columns of one table than where each has lines of its own (AMD EPYC, two cores)."""
LAUNCH = 15_000.0
"""Cycles until all threads of a parallel loop run and have ended."""
UNLIMITED = 1 << 50

Flags = Collection[str]
"""Defects that are thought away; those of one array or statement end with a colon and its name."""


class Model:
    """The modelled cycles of a function.

    Parameters
    ----------
    threads : int
        That parallel loops have.
    executed : mapping, optional
        How many times as often as necessary the elements of an array are computed.
    repeated : mapping, optional
        The same of calls within an expression that was inlined, by the array that it is inlined into, with their
        number.

    Raises
    ------
    Unmodelled
        There is a loop whose iterations are not known.
    """

    def __init__(
        self,
        func: PrimFunc,
        target: Target,
        threads: int,
        caches: Sequence[CacheLevel],
        executed: Mapping[str, float] | None = None,
        repeated: Mapping[str, tuple[int, float]] | None = None,
    ) -> None:
        self.func, self.target, self.threads, self.caches = func, target, threads, caches
        self.statements = statements(func)
        self.temporary = allocated(func)
        self.executed, self.repeated = executed or {}, repeated or {}
        self.traffic = [memory_traffic(func, level.size, level.line) for level in caches]
        self.arrays = {access.buffer.name for each in self.statements for access in each.accesses}
        self._moved = {name: [self._added(name, level) for level in caches] for name in self.arrays}

        self._footprint = memory_traffic(func, UNLIMITED, caches[0].line) or 0.0
        self._strided = {
            access.buffer.name
            for each in self.statements
            if (loop := each.innermost) is not None
            for access in each.accesses
            if (access.moves(loop.loop_var) or 0) >= PAGE
        }

    @property
    def knows_memory(self) -> bool:
        """Whether the accesses are ones that the model of the memory traffic knows."""
        return None not in self.traffic

    def cycles(self, *without: str) -> float:
        """Return the cycles of a call, without some defects."""
        core, memory = self.parts(*without)
        serial = sum(core.values())
        scale = overlapped(serial, memory) / max(serial, 1e-9)
        waiting = {
            id(each): 0.0 if "sharing" in without else self.transfers(each) * TRANSFER for each in self.statements
        }
        return sum(
            self._on_threads(each, core[id(each)] * scale + waiting[id(each)], without) for each in self.statements
        ) + sum(self._launches(without))

    def parts(self, *without: str) -> tuple[dict[int, float], float]:
        """Return the cycles of the instructions of each statement on one thread, and those of the memory."""
        core = {id(each): 0.0 for each in self.statements}
        for members in self._bodies().values():
            core.update(self._body(members, without))
        return core, self._memory(without)

    def moved(self, name: str, level: int) -> tuple[float, float]:
        """Return the bytes that one array moves into a level of the caches, and the fewest possible."""
        return self._moved[name][level], self._least(name, self.caches[level].line)

    def width(self, statement: Statement, without: Flags = ()) -> int:
        """Return the lanes of a vector of what a statement stores."""
        width = max(1, self.target.vector_width(dt.element(statement.store.value.dtype)))
        return width * 2 if statement.widened and "float64" in without else width

    def is_vector(self, statement: Statement, without: Flags = ()) -> bool:
        """Return whether a statement computes vectors: its own, or those that LLVM makes of its innermost loop."""
        if statement.lanes > 1:
            return True
        loop = statement.innermost
        if loop is None or loop.kind not in (ForKind.SERIAL, ForKind.PARALLEL):
            return False
        if self.chained(statement) and self._is_float(statement):
            return False
        if self.branches(statement) or self.divisions(statement, without) or self.externs(statement, without):
            return False
        steps = [access.steps.get(loop.loop_var, 0) for access in statement.accesses]
        return all(step in (0, 1) for step in steps)

    def chained(self, statement: Statement) -> bool:
        """Return whether the innermost loop adds to one element, each addition waiting for the one before."""
        loop = statement.innermost
        return loop is not None and statement.accumulates and statement.target.steps.get(loop.loop_var, 0) == 0

    @staticmethod
    def branches(statement: Statement) -> list[object]:
        """Return the conditions that are evaluated in the innermost loop."""
        loop = statement.innermost
        if loop is None:
            return []
        return [c for c in statement.conditions if loop.loop_var in free_vars((c,))]

    def divisions(self, statement: Statement, without: Flags = ()) -> list[object]:
        """Return the divisions of the innermost loop."""
        loop = statement.innermost
        if loop is None or "divisions" in without:
            return []
        return [d for d in statement.divisions if loop.loop_var in free_vars((d,))]

    def externs(self, statement: Statement, without: Flags = ()) -> tuple[str, ...]:
        """Return the functions of a library that a statement calls."""
        return () if "calls" in without else statement.externs

    def registers(self, statement: Statement) -> int:
        """Return the vectors of the processor that a vector of the program takes."""
        return math.ceil(statement.lanes / self.width(statement))

    def speedup(self, statement: Statement) -> float:
        """Return by how much the threads shorten a statement."""
        loop = statement.parallel
        if loop is None:
            return 1.0
        return extent(loop) / math.ceil(extent(loop) / self.threads)

    def shared_lines(self, statement: Statement) -> int | None:
        """Return the bytes between what two threads store at the same time, if that is less than a line."""
        loop = statement.parallel
        if loop is None:
            return None
        moved = statement.target.moves(loop.loop_var)
        if not moved or self.threads == 1 or extent(loop) == 1:
            return None
        apart = moved * math.ceil(extent(loop) / self.threads)
        return apart if apart < self.caches[0].line else None

    def transfers(self, statement: Statement) -> float:
        """Return how often a thread comes to a line that another one has written since.

        Stores that follow each other within a line leave the processor together, unless they add to what is there.
        """
        apart, loop = self.shared_lines(statement), statement.innermost
        if apart is None or loop is None:
            return 0.0
        moved, turns = statement.target.moves(loop.loop_var) or 0, extent(loop)
        if loop is statement.parallel:
            turns = math.ceil(turns / self.threads)
        line = self.caches[0].line
        if self.chained(statement):
            together = turns  # in a register meanwhile
        elif statement.accumulates:
            together = min(turns, self.width(statement)) if self.is_vector(statement) else 1
        else:
            together = min(turns, max(1, line // moved)) if moved else 1
        return statement.trips / together

    def thrashing(self, access: Access, statement: Statement) -> tuple[str, int, int] | None:
        """Return the loop that brings more lines than their sets of the first cache hold, its bytes and its steps.

        That only matters where a loop around it comes back to these lines, and where the cache could hold them all.
        """
        first, loops = self.caches[0], statement.loops
        span = first.size // first.ways
        lanes = (abs(access.lane_step or 0) * access.size, statement.lanes, "the vector")
        walks = [*((access.moves(x.loop_var) or 0, extent(x), x.loop_var.name) for x in loops), lanes]
        for at, (moved, steps, name) in enumerate(walks):
            again = any(0 <= step < first.line and count > 1 for step, count, _ in walks[:at])
            held = first.ways * span // max(math.gcd(moved, span), first.line)
            if moved >= first.line and again and held < steps <= first.size // first.line:
                return name, moved, steps
        return None

    # instructions

    @staticmethod
    def _is_float(statement: Statement) -> bool:
        return dt.is_float(statement.store.value.dtype)

    def _bodies(self) -> dict[int, list[Statement]]:
        """Return the statements by the innermost loop that they share."""
        out: dict[int, list[Statement]] = defaultdict(list)
        for each in self.statements:
            out[id(each.innermost)].append(each)
        return out

    def _body(self, members: Sequence[Statement], without: Flags) -> dict[int, float]:
        """Return the cycles of the statements of a loop, which compute at the same time."""
        ports = {id(each): self._ports(each, without) for each in members}
        chains: dict[str, float] = defaultdict(float)
        for each in members:
            if self.chained(each) and self._is_float(each) and "chain" not in without:
                chains[str(each.store.indices)] += LATENCY * self._trips(each, without)
        busy = sum(ports.values())
        longest = max(chains.values(), default=0.0)
        return {each: cost * max(1.0, longest / max(busy, 1e-9)) for each, cost in ports.items()}

    def _trips(self, statement: Statement, without: Flags) -> float:
        """Return how often a statement runs, its elements computed once each if that is asked for."""
        times = self.executed.get(statement.name, 1.0) if f"recomputed:{statement.name}" in without else 1.0
        return statement.trips / times

    def _ports(self, statement: Statement, without: Flags) -> float:
        width, trips = self.width(statement, without), self._trips(statement, without)
        vector = self.is_vector(statement, without)
        registers = 1.0
        if statement.lanes > 1:
            exact = statement.lanes / width
            registers = exact if "lanes" in without else float(math.ceil(exact))
            if self.branches(statement):
                registers = float(statement.lanes)  # each lane takes a branch of its own
        elif vector or "vectors" in without:
            loop = statement.innermost
            trips /= min(width, extent(loop)) if loop is not None else 1
        loads = sum(self._load(a, statement, registers, vector) for a in statement.accesses)
        calls, saved = len(statement.intrinsics), self.repeated.get(statement.name, (0, 1.0))
        functions = float(calls)
        if f"inlined:{statement.name}" in without:
            functions -= saved[0] * (1 - 1 / saved[1])
        cycles = trips * registers * (statement.operations / ISSUE + functions * INTRINSIC) + trips * loads / ISSUE
        cycles += len(self.externs(statement, without)) * statement.trips * statement.lanes * EXTERN
        cycles += sum(statement.repeated(c) for c in statement.conditions) * BRANCH
        if "divisions" not in without:
            cycles += sum(statement.repeated(d) * _division(d) for d in statement.divisions)
        return cycles

    def _load(self, access: Access, statement: Statement, registers: float, vector: bool) -> float:
        """Return the instructions that an access takes each time."""
        loop = statement.innermost
        if loop is not None and access.steps.get(loop.loop_var, 0) == 0:
            return registers / extent(loop)
        if statement.lanes > 1 and access.lane_step not in (0, 1, -1):
            return statement.lanes * GATHERED
        return registers

    # memory

    def _added(self, name: str, level: CacheLevel) -> float:
        """Return the bytes that come into a cache because of one array."""
        every = self.traffic[self.caches.index(level)]
        others = memory_traffic(self.func, level.size, level.line, {name})
        return 0.0 if every is None or others is None else max(0.0, every - others)

    def _least(self, name: str, line: int) -> float:
        """Return the bytes of an array that come into a cache which holds everything."""
        least = memory_traffic(self.func, UNLIMITED, line, self.arrays - {name})
        return 0.0 if least is None else least

    def _memory(self, without: Flags) -> float:
        cycles = 0.0
        for at, cost in enumerate(CYCLES_PER_BYTE[: len(self.caches)]):
            if self._footprint <= self.caches[at].size:
                break  # what the last call left is still there
            for name in self.arrays:
                moved = self._moved[name][at]
                if f"intermediate:{name}" in without:
                    moved = 0.0
                elif f"order:{name}" in without:
                    moved = min(moved, self._least(name, self.caches[at].line))
                if at == 0 and f"conflicts:{name}" not in without and f"intermediate:{name}" not in without:
                    moved = max(moved, self._thrashed(name))
                far = name in self._strided and f"order:{name}" not in without
                cycles += moved * cost * (STRIDED if far else 1)
        return cycles

    def _thrashed(self, name: str) -> float:
        """Return the bytes of an array whose lines drive each other out of their set: one for each access."""
        return sum(
            each.trips * max(each.lanes if access.lane_step not in (0, 1) else 1, 1) * self.caches[0].line
            for each in self.statements
            for access in each.accesses
            if access.buffer.name == name and self.thrashing(access, each)
        )

    # threads

    def _on_threads(self, statement: Statement, cycles: float, without: Flags) -> float:
        if statement.parallel is None:
            return cycles / self.threads if "threads" in without else cycles
        return cycles / (self.threads if "balance" in without else self.speedup(statement))

    def _launches(self, without: Flags) -> list[float]:
        """Return the cycles that the threads of each parallel loop take to begin and end."""
        if self.threads == 1:
            return []
        begun = [LAUNCH] if "threads" in without else []
        loops = {id(loop): (each, loop) for each in self.statements if (loop := each.parallel) is not None}
        often = (1 if "grain" in without else self.launched(each, loop) for each, loop in loops.values())
        return [*begun, *(LAUNCH * times for times in often)]

    @staticmethod
    def launched(statement: Statement, parallel: For) -> int:
        """Return how often the loop that threads share is begun."""
        around = statement.loops[: next(at for at, loop in enumerate(statement.loops) if loop is parallel)]
        return math.prod(extent(loop) for loop in around)


def _division(division: object) -> float:
    divisor = getattr(division, "b", None)
    return CONSTANT_DIVISION if divisor is not None and not free_vars((divisor,)) else DIVISION
