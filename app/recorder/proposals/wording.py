"""Names of stages and axes in edits of TE schedules."""

from __future__ import annotations

from collections.abc import Sequence

import compiler
from app.recorder.proposals.insertion import ScriptText
from app.recorder.proposals.names import fused_name, halves_names, stem_of
from app.recorder.proposals.scopes import Scope, Spelling
from compiler import te
from compiler.ir.error import TVMError
from compiler.ir.expr.primexpr import IterVar
from compiler.te.scheduling.schedule import Schedule
from compiler.te.scheduling.stage import Stage


class Wording:
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
        Statements that give names to axes, and that come before.
    """

    def __init__(self, scope: Scope, text: ScriptText, schedule: Schedule) -> None:
        self._scope = scope
        self._text = text
        self._schedule = schedule
        self.variables: set[str] = set()
        self.definitions: list[str] = []

    def begin(self) -> None:
        """Forget the variables of earlier statements."""
        self.variables, self.definitions = set(), []

    def stage(self, stage: Stage) -> str:
        """Return the expression for a stage, e.g. ``s[C]``.

        Raises
        ------
        TVMError
            If the script has no variable for the schedule where it lowers it.  One that only defines tensors gets one.
        """
        named = self._scope.spelling(stage)
        if named is not None:
            return self._use(named)
        named = self._scope.spelling(self._schedule)
        schedule = self._new_schedule() if named is None else self._use(named)
        tensor = self._scope.spelling(*stage.origin_op.outputs, stage.origin_op, *stage.op.outputs, stage.op)
        if tensor is None:
            return f"{schedule}.stages[{self._schedule.stages.index(stage)}]"
        return f"{schedule}[{self._use(tensor)}]"

    def cache(self, stage: Stage) -> tuple[str, str, str]:
        """Return the expressions for a stage and for its cache, and the statement that makes the cache.

        Raises
        ------
        TVMError
            If the script has no variables for the schedule and the tensor, or the cache's name is another one's.
        """
        copy = self.stage(stage)
        schedule, _, tensor = copy.removesuffix("]").partition("[")
        name = f"{tensor}L"
        if not tensor.isidentifier() or not schedule.isidentifier() or not self._text.is_free(name):
            raise TVMError("cache_write: the script has no variables for the schedule and the tensor, or for its cache")
        return copy, f"{schedule}[{name}]", f'{name} = {schedule}.cache_write({tensor}, "local")'

    def _new_schedule(self) -> str:
        """Return the variable of a schedule that a definition makes, as the script makes none."""
        outputs = [self._scope.spelling(*op.outputs) for op in self._schedule.outputs]
        if self._text.lowers or None in outputs or not self._text.is_free("s"):
            raise TVMError("the script has no variable for this schedule where it lowers it")
        listed = ", ".join(f"{self._use(output)}.op" for output in outputs if output is not None)
        definition = f"s = {self._te('create_schedule')}({listed if len(outputs) == 1 else f'[{listed}]'})"
        if definition not in self.definitions:
            self.definitions.append(definition)
        return "s"

    def axis(self, stage: Stage, axis: IterVar) -> str:
        """Return the expression for a loop: its name, else the one that a definition gives it."""
        named = self._scope.spelling(axis)
        if named is not None:
            return self._use(named)
        for attribute in ("axis", "reduce_axis"):
            axes: Sequence[IterVar] = getattr(stage.op, attribute, ())
            if any(own is axis for own in axes):
                return self._own_axis(stage, attribute, axes, axis)
        at = next(index for index, leaf in enumerate(stage.leaf_iter_vars) if leaf is axis)
        return f"{self.stage(stage)}.leaf_iter_vars[{at}]"

    def _own_axis(self, stage: Stage, attribute: str, axes: Sequence[IterVar], axis: IterVar) -> str:
        """Return the expression for an axis of the computation, by a definition such as ``i, j = s[C].op.axis``."""
        source = f"{self.stage(stage)}.op.{attribute}"
        names = [own.var.name for own in axes]
        unnamed = not any(self._scope.spelling(own) for own in axes)
        if not unnamed or len(set(names)) < len(names) or not all(map(self._text.is_free, names)):
            return f"{source}[{next(index for index, own in enumerate(axes) if own is axis)}]"
        definition = f"{', '.join(names)} = {source}" if len(names) > 1 else f"{names[0]} = {source}[0]"
        if definition not in self.definitions:
            self.definitions.append(definition)
        return axis.var.name

    def is_named(self, axis: IterVar) -> bool:
        """Return whether the script has a variable for a loop."""
        named = self._scope.spelling(axis)
        return named is not None and named.is_name

    def thread_axis(self, tag: str) -> str:
        """Return the expression that makes a thread axis."""
        return f'{self._te("thread_axis")}("{tag}")'

    def _te(self, function: str) -> str:
        """Return the expression for a function of ``te``."""
        for module, prefix in ((te, ""), (compiler, ".te")):
            named = self._scope.spelling(module)
            if named is not None:
                return f"{self._use(named)}{prefix}.{function}"
        raise TVMError(f"the script does not import te, which it needs for te.{function}")

    def halves(self, axis: IterVar) -> tuple[str, str]:
        """Return names for the loops that a split makes, e.g. ``io`` and ``ii``."""
        return halves_names(self._stem(axis), self._text.is_free)

    def fused(self, outer: IterVar, inner: IterVar) -> str:
        """Return a name for the loop that two are fused into, e.g. ``ij``."""
        return fused_name((self._stem(outer), self._stem(inner)), self._text.is_free)

    def _stem(self, axis: IterVar) -> str:
        """Return what the names of parts of an axis begin with: its own name, ``i.outer`` abbreviated to ``io``."""
        named = self._scope.spelling(axis)
        return named.text if named is not None and named.is_name else stem_of(axis.var.name)

    def _use(self, spelling: Spelling) -> str:
        self.variables.add(spelling.variable)
        return spelling.text
