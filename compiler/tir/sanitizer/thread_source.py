"""Translation of a thread to a Python generator that yields at barriers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Call, PrimExpr, Var
from compiler.tir.analysis.uniformity import is_barrier
from compiler.tir.expressions.device_ops import ATOMIC_ADD
from compiler.tir.expressions.evaluation import Value
from compiler.tir.printing.python_source import PythonSource
from compiler.tir.sanitizer.shadow_memory import Place
from compiler.tir.statements import memory
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.stmt import Allocate, Evaluate, Stmt

Steps = Generator[Evaluate, None, None]
"""A thread that runs: it gives the barriers that it waits at."""


class ThreadSource(PythonSource):
    """The source of the code of one thread; memory is asked for each access.

    ``variables``, what differs between threads and launches, are the parameters of the generator after the thread.
    """

    generates = True

    def __init__(self, variables: Sequence[Var]) -> None:
        super().__init__({})
        self._parameters = [self._name(var) for var in variables]
        self._storing: BufferStore | None = None

    def generator(self, code: Stmt) -> Callable[..., Steps]:
        """Return the code as a generator function ``(thread, *values)``."""
        self.visit(code)
        head = f"def program({', '.join([*self.constants, 'thread', *self._parameters])}):\n"
        source = head + "\n".join([*self.lines, " return", " yield"])
        scope: dict[str, Callable[..., Value]] = {}
        exec(compile(source, "<thread>", "exec"), scope)
        constants = tuple(self.constants.values())
        return lambda *values: scope["program"](*constants, *values)

    def _place(  # type: ignore[override]
        self, n: BufferLoad | BufferStore, writes: bool, atomic: bool = False
    ) -> str:
        text = str(n) if isinstance(n, BufferLoad) else str(n).strip().splitlines()[-1].strip()
        access = memory.Access(n.buffer, tuple(index.dtype for index in n.indices), text)
        statement = self._storing or n
        return self._constant(Place(access, n, statement, writes, atomic, repeated=self._loops > 0))

    def visit_BufferLoad(self, n: BufferLoad) -> str:
        return f"thread.read({self._place(n, False)}, {self._view(n.buffer)}, {self._tuple(n.indices)})"

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._storing, value = n, self._fresh("t")
        self._line(f"{value} = {self.visit(n.value)}")
        place = self._place(n, True)
        self._line(f"thread.write({place}, {self._view(n.buffer)}, {self._tuple(n.indices)}, {value})")
        self._storing = None

    def visit_Allocate(self, n: Allocate) -> None:
        self._line(f"thread.allocate({self._constant(n)}, prod({self._tuple(n.extents)}) * {dt.lanes(n.dtype)})")
        self.visit(n.body)

    def visit_Evaluate(self, n: Evaluate) -> None:
        if is_barrier(n):
            self._line(f"yield {self._constant(n)}")
        elif isinstance(n.value, Call) and n.value.op is ATOMIC_ADD:
            self._atomic_add(n.value)
        else:
            super().visit_Evaluate(n)

    def _atomic_add(self, call: Call) -> None:
        address, value = call.args
        element = address.args[0] if isinstance(address, Call) and address.args else None
        if not isinstance(element, BufferLoad):
            raise BuildError("sanitize: atomic_add must be given the address of an element")
        read, write = self._place(element, False, True), self._place(element, True, True)
        place = f"{self._view(element.buffer)}, {self._tuple(element.indices)}"
        self._line(f"thread.write({write}, {place}, thread.read({read}, {place}) + {self.visit(value)})")

    def memory_of(self, pointer: PrimExpr) -> str:
        raise BuildError(f"sanitize: a kernel passes the pointer {pointer} to a function that cannot be instrumented")
