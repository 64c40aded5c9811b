"""``tvm.tir.Schedule``: schedules of TensorIR programs."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from compiler.arith import Analyzer
from compiler.ir.error import ArgumentError, expected, show
from compiler.ir.expr.primexpr import IntImm, PrimExpr, Var, convert
from compiler.ir.expr.substitute import substitute
from compiler.ir.extension import public_module
from compiler.ir.function import GlobalVar
from compiler.ir.instrument import active_instruments
from compiler.ir.module import IRModule
from compiler.tir.schedule.error import ERROR_RENDER_LEVELS
from compiler.tir.schedule.instruction import Instruction, InstructionKind
from compiler.tir.schedule.primitives.decompose_padding import can_decompose_padding
from compiler.tir.schedule.random_variables import BlockRV, ExprRV, LoopRV, RandomVariable
from compiler.tir.schedule.registry import install
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.schedule.trace import Trace
from compiler.tir.statements.block import Block
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For

__all__ = ["Schedule"]

_MAX_SEED = 2**31 - 2


@install
class Schedule:
    """A program with blocks that primitives transform, keeping what it computes.

    Primitives are methods; each is checked, applied at once, and noted in :attr:`trace`. Raises ArgumentError if the
    program has no blocks, or an option has no meaning.

    Parameters
    ----------
    seed : int, optional
        Where the sampling of random decisions begins; at random where left out.
    debug_mask : str or int
        ``"all"`` to check the schedule's own bookkeeping after each primitive.
    error_render_level : str
        ``detail`` to draw errors into the program, ``fast`` for their sentences alone, ``none`` for neither.
    enable_check : bool
        Whether primitives check what can be costly to check.

    Examples
    --------
    >>> sch = tvm.tir.Schedule(matmul)
    >>> i, j, k = sch.get_loops(sch.get_block("C"))
    >>> i_0, i_1 = sch.split(i, factors=[None, 32])
    >>> sch.reorder(i_0, k, j, i_1)
    >>> sch.mod.show()
    """

    if TYPE_CHECKING:

        def __getattr__(self, primitive: str) -> Callable[..., Any]:
            """A primitive becomes a method where it is registered."""

    def __init__(
        self,
        mod: PrimFunc | IRModule,
        *,
        seed: int | None = None,
        debug_mask: str | int = "none",
        error_render_level: str = "detail",
        enable_check: bool = True,
    ) -> None:
        if error_render_level not in ERROR_RENDER_LEVELS:
            levels = ", ".join(ERROR_RENDER_LEVELS)
            expected("Schedule", "error_render_level", f"one of {levels}", error_render_level)
        self._state = ScheduleState(mod, debug_mask=debug_mask, enable_check=enable_check)
        self._trace = Trace([], {})
        self._meanings: dict[object, StmtSRef | int] = {}
        self.error_render_level = error_render_level
        self._random = random.Random()
        self.seed(-1 if seed is None else seed)
        self._func_working_on = _entry(self._state.mod)
        for instrument in active_instruments():
            instrument.tir_schedule_created(self, None)

    # what it is

    @property
    def mod(self) -> IRModule:
        """The program as it is now."""
        return self._state.mod

    @property
    def state(self) -> ScheduleState:
        """The program with references to its loops and blocks."""
        return self._state

    @property
    def trace(self) -> Trace:
        """The steps that were applied."""
        return self._trace

    @property
    def func_working_on(self) -> GlobalVar | None:
        """The function whose blocks :meth:`get_block` looks for; None if it must be named."""
        return self._func_working_on

    def work_on(self, func_name: str) -> None:
        """Choose the function whose blocks :meth:`get_block` looks for.

        Raises ArgumentError if the module has no such function.
        """
        self._func_working_on = self.mod.get_global_var(func_name)

    def copy(self) -> Schedule:
        """Return a schedule of the same program: the same random variables mean the same, and part ways from now on."""
        twin = type(self).__new__(type(self))
        twin._state, match = self._state.copy()
        twin._trace = Trace(self._trace.insts, self._trace.decisions)
        twin._meanings = {
            rv: match.get(value, value) if isinstance(value, StmtSRef) else value
            for rv, value in self._meanings.items()
        }
        twin.error_render_level = self.error_render_level
        twin._random = random.Random(self.fork_seed())
        twin._func_working_on = self._func_working_on
        for instrument in active_instruments():
            instrument.tir_schedule_created(twin, self)
        return twin

    def seed(self, seed: int) -> None:
        """Begin sampling anew, at random from -1.

        Raises ArgumentError if it is not an integer, or less than -1.
        """
        if not isinstance(seed, int) or seed < -1:
            expected("Schedule.seed", "seed", "a non-negative integer, or -1", seed)
        self._random.seed(None if seed == -1 else seed)

    def fork_seed(self) -> int:
        """Return a seed for another schedule, drawn at random from this one's."""
        return self._random.randint(1, _MAX_SEED)

    @property
    def random(self) -> random.Random:
        """What sampling draws from."""
        return self._random

    def show(self, style: str | None = None, black_format: bool = False) -> None:
        """Print the program and the steps that led to it."""
        print(self.mod.script())
        print(self._trace)

    # random variables

    def get(self, rand_var_or_sref: ExprRV | BlockRV | LoopRV | StmtSRef) -> int | PrimExpr | Block | For | None:
        """Return the block, loop or value that a random variable means; None for a reference to what is gone.

        Raises IndexError if the schedule does not know it.
        """
        if isinstance(rand_var_or_sref, StmtSRef):
            return rand_var_or_sref.stmt
        if isinstance(rand_var_or_sref, RandomVariable):
            return self.get_sref(rand_var_or_sref).stmt
        return self.evaluated(rand_var_or_sref)

    def get_sref(self, rand_var_or_stmt: BlockRV | LoopRV | Block | For) -> StmtSRef:
        """Return the reference to a loop or block.

        Raises IndexError if the schedule does not know it, and ArgumentError if the loop or block that a random
        variable meant is gone.
        """
        if isinstance(rand_var_or_stmt, (Block, For)):
            sref = self._state.get_sref(rand_var_or_stmt)
            if sref is None:
                raise IndexError(f"Schedule.get_sref: the program has no such {type(rand_var_or_stmt).__name__}")
            return sref
        meaning = self._meanings.get(rand_var_or_stmt)
        if not isinstance(meaning, StmtSRef):
            raise IndexError(f"Cannot find corresponding {type(rand_var_or_stmt).__name__}: {show(rand_var_or_stmt)}")
        if meaning.stmt is None and meaning not in (StmtSRef.inline_mark(), StmtSRef.root_mark()):
            kind = "block" if isinstance(rand_var_or_stmt, BlockRV) else "loop"
            raise ArgumentError(f"Schedule: the {kind} no longer exists in the program")
        return meaning

    def evaluated(self, expr: PrimExpr) -> int | PrimExpr:
        """Return the value of an expression of numbers that the schedule knows.

        It is an expression where it depends on the program's own variables. Raises IndexError if it is a number that
        the schedule does not know.
        """
        values = {rv: convert(value) for rv, value in self._meanings.items() if isinstance(rv, Var)}
        if isinstance(expr, Var) and expr not in values and not self._is_of_program(expr):
            raise IndexError(f"Cannot find corresponding ExprRV: {expr}")
        result = Analyzer().simplify(substitute(expr, values))
        return result.value if isinstance(result, IntImm) else result

    def _is_of_program(self, var: Var) -> bool:
        functions = [f for f in self.mod.functions.values() if isinstance(f, PrimFunc)]
        dims = (d for f in functions for b in f.buffer_map.values() for d in (*b.shape, *b.strides))
        return any(var is v for f in functions for v in f.params) or any(var is dim for dim in dims)

    def meaning(self, rv: object) -> StmtSRef | int | None:
        """Return what a random variable stands for, None if the schedule does not know it."""
        return self._meanings.get(rv)

    def remove_rv(self, rand_var: ExprRV | BlockRV | LoopRV) -> None:
        """Forget a random variable.

        Raises IndexError if the schedule does not know it.
        """
        if rand_var not in self._meanings:
            raise IndexError(f"Cannot find corresponding random variable: {show(rand_var)}")
        del self._meanings[rand_var]

    def can_decompose_padding(self, block: BlockRV | str, loop: LoopRV) -> bool:
        """Return whether ``decompose_padding`` would do."""
        rv = self.find_block(block) if isinstance(block, str) else block
        return can_decompose_padding(self._state, self.get_sref(rv), self.get_sref(loop))

    # for primitives

    def find_block(self, name: str) -> BlockRV:
        """Return the block of a name, as the step ``get_block`` does."""
        block = self.get_block(name)
        assert isinstance(block, BlockRV)
        return block

    def named(self, result: Any) -> Any:
        """Return random variables for what a primitive gives."""
        if isinstance(result, (list, tuple)):
            return [self.named(item) for item in result]
        if result is None:
            return None
        rv: BlockRV | LoopRV | Var
        if isinstance(result, StmtSRef):
            rv = BlockRV() if result.is_block else LoopRV()
        else:
            rv = Var("v", "int32")
        self._meanings[rv] = result
        return rv

    def record(
        self,
        kind: InstructionKind,
        inputs: Sequence[object],
        attrs: Sequence[object],
        outputs: Sequence[object],
        decision: object,
    ) -> None:
        """Note a step that was applied."""
        self._trace.append(Instruction(kind, inputs, attrs, outputs), decision)


def _entry(mod: IRModule) -> GlobalVar | None:
    """Return the function that a schedule works on by itself: the only one, or the entry of the module."""
    functions = [var for var, func in mod.items() if isinstance(func, PrimFunc)]
    if len(functions) == 1:
        return functions[0]
    entries = [var for var in functions if mod[var].attrs.get("tir.is_entry_func")]
    return next(iter([*entries, *[var for var in functions if var.name_hint == "main"]]), None)


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.tir.schedule.schedule", __all__)
