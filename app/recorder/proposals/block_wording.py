"""Names of blocks and loops in edits of TensorIR schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.recorder.proposals.insertion import ScriptText
from app.recorder.proposals.names import fused_name, halves_names, stem_of
from app.recorder.proposals.scopes import Scope, Spelling
from compiler.ir.error import TVMError
from compiler.tir.schedule.random_variables import RandomVariable
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.statements.block import Block
from compiler.tir.statements.stmt import For


def variable(schedule: Schedule, stmt: For | Block) -> object:
    """Return a random variable of a schedule for a loop or block of its program."""
    return schedule.named(schedule.get_sref(stmt))


def carry_out(schedule: Schedule, primitive: str, *args: object, **kwargs: object) -> Any:
    """Call a primitive; what schedules can do stands in a registry, which type checkers do not read."""
    return getattr(schedule, primitive)(*args, **kwargs)


class BlockWording:
    """Writes the primitives of one schedule as its script would.

    Parameters
    ----------
    scope : Scope
        What the script calls its values.

    Attributes
    ----------
    variables : set of str
        Those that were written since :meth:`begin`.
    definitions : list of str
        Statements that give names to loops, and that come before.
    """

    def __init__(self, scope: Scope, text: ScriptText, schedule: Schedule) -> None:
        self._scope = scope
        self._text = text
        self._schedule = schedule
        self._names: dict[For | Block, Spelling] = {}
        for value, spelling in scope.variables():
            stmt = _meaning(schedule, value)
            if stmt is not None:
                self._names.setdefault(stmt, spelling)
        self.variables: set[str] = set()
        self.definitions: list[str] = []

    def begin(self) -> None:
        """Forget the variables of earlier statements."""
        self.variables, self.definitions = set(), []

    def schedule(self) -> str:
        """Return the expression for the schedule.

        Raises
        ------
        TVMError
            If the script has none where it lowers the program.
        """
        named = self._scope.spelling(self._schedule)
        if named is None:
            raise TVMError("the script has no variable for this schedule where it lowers it")
        return self._use(named)

    def block(self, block: Block) -> str:
        """Return the expression for a block: its name, else how it is looked for.

        Raises
        ------
        TVMError
            If it has no name, and several blocks are called what it is.
        """
        if block in self._names:
            return self._use(self._names[block])
        carry_out(self._schedule.copy(), "get_block", block.name_hint)  # refuses a name that several blocks have
        return f'{self.schedule()}.get_block("{block.name_hint}")'

    def loop(self, block: Block, loop: For) -> str:
        """Return the expression for a loop around a block: its name, else the one that a definition gives it."""
        if loop in self._names:
            return self._use(self._names[loop])
        twin = self._schedule.copy()
        around = [twin.get(rv) for rv in carry_out(twin, "get_loops", variable(twin, block))]
        source = f"{self.schedule()}.get_loops({self.block(block)})"
        names = [other.loop_var.name for other in around if isinstance(other, For)]
        named = any(other in self._names for other in around)
        if named or len(set(names)) < len(names) or not all(map(self._text.is_free, names)):
            return f"{source}[{around.index(loop)}]"
        definition = f"{', '.join(names)} = {source}" if len(names) > 1 else f"{names[0]} = {source}[0]"
        if definition not in self.definitions:
            self.definitions.append(definition)
        return loop.loop_var.name

    def is_named(self, loop: For) -> bool:
        """Return whether the script has a variable for a loop."""
        return loop in self._names and self._names[loop].is_name

    def halves(self, loop: For) -> tuple[str, str]:
        """Return names for the loops that a split makes."""
        return halves_names(self._stem(loop), self._text.is_free)

    def fused(self, outer: For, inner: For) -> str:
        """Return a name for the loop that two are fused into."""
        return fused_name((self._stem(outer), self._stem(inner)), self._text.is_free)

    def cache(self, block: Block) -> str:
        """Return a name for the block that copies what another one computes.

        Raises
        ------
        TVMError
            If the script has a variable of that name.
        """
        name = f"{block.name_hint}_copy"
        if not self._text.is_free(name):
            raise TVMError(f"cache_write: {name} is no name that the script has left for the copy")
        return name

    def _stem(self, loop: For) -> str:
        named = self._names.get(loop)
        return named.text if named is not None and named.is_name else stem_of(loop.loop_var.name)

    def _use(self, spelling: Spelling) -> str:
        self.variables.add(spelling.variable)
        return spelling.text


def _meaning(schedule: Schedule, value: object) -> For | Block | None:
    """Return the loop or block that a value of the script stands for now."""
    if not isinstance(value, RandomVariable):
        return None
    meaning: Callable[[object], object] = schedule.meaning
    stmt = getattr(meaning(value), "stmt", None)
    return stmt if isinstance(stmt, (For, Block)) else None
