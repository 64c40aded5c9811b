"""Tries candidates one by one: accepted ones with their edits, rejected ones with the reason."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Generic, TypeVar

from app.proposals import Edit, Place, Proposal, ProposedPrimitive, Subject
from app.recorder.scripts.failures import brief, clean
from compiler.ir.error import TVMError
from compiler.ir.module import IRModule
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind
from compiler.tir.statements.stmt_functor import StmtVisitor

SECONDS = 1.5
"""Processor time that primitives are tried for; those that are left then are not proposed."""
MAX_EXTENTS = {"unroll": 256, "vectorize": 1024}
"""Iterations of loops that annotations are tried on."""
MAX_COPIES = 16
"""Of a loop, where the loops around it are unrolled: LLVM optimises each copy by itself."""

Tried = TypeVar("Tried")


class Trials(ABC, Generic[Tried]):
    """Tries what a schedule might take next."""

    def run(self, subject: Subject) -> list[Proposal]:
        """Return the proposals for a loop or a stage, as many as there is time for."""
        proposals: list[Proposal] = []
        began = time.process_time()
        for candidate in self.candidates(subject):
            proposals.append(self._proposal(candidate))
            if time.process_time() - began > SECONDS:
                break
        return proposals

    def _proposal(self, candidate: Tried) -> Proposal:
        edit: Edit | None = None
        gain = refused = ""
        try:
            after = self.lowered(candidate)
            edit = self.edit(candidate)
            gain = self.gain(candidate, after)
        except TVMError as error:
            refused = clean(brief(error).partition("\n")[0]).removeprefix(f"{self.primitive(candidate)}: ")
        return Proposal(
            primitive=self.primitive(candidate),
            label=self.label(candidate),
            onto=self.onto(candidate),
            edit=edit,
            refused=refused,
            gain=gain,
        )

    @abstractmethod
    def candidates(self, subject: Subject) -> Iterable[Tried]:
        """Return what may come next for a loop or a stage."""

    def pairs(self, subject: Subject) -> Iterable[Tried]:
        """Return what may come next for a loop together with a split of it by the factor of the subject; without a
        factor, for a loop around a sum together with a local block that the sum is made in.
        """
        return ()

    @abstractmethod
    def lowered(self, candidate: Tried) -> IRModule:
        """Return the function that the schedule is lowered to with a candidate.

        Raises
        ------
        TVMError
            It cannot be applied.
        """

    @abstractmethod
    def edit(self, candidate: Tried) -> Edit:
        """Return how the script says it."""

    @abstractmethod
    def gain(self, candidate: Tried, after: IRModule) -> str:
        """Return why it might help; empty if there is no reason."""

    @abstractmethod
    def primitive(self, candidate: Tried) -> ProposedPrimitive:
        """Return the name of its primitive."""

    @abstractmethod
    def label(self, candidate: Tried) -> str:
        """Return what it does, in a few words."""

    @abstractmethod
    def onto(self, candidate: Tried) -> Place | None:
        """Return where it is dropped in the pane."""


def require_short(primitive: str, extent: int, others: int = 1, *, loops_inside: bool = False) -> None:
    """Refuse to write out or to widen many iterations, which takes long to try and never pays.

    Parameters
    ----------
    primitive : str
        A key of :data:`MAX_EXTENTS`; all others are as long as they like.
    extent : int
        Iterations of the loop.
    others : int
        Those of the loops around or inside that are written out already, multiplied.
    loops_inside : bool
        Whether loops inside of it stay loops.

    Raises
    ------
    TVMError
        They are too many.
    """
    if primitive == "unroll" and loops_inside and extent * others > MAX_COPIES:
        raise TVMError(f"the loops inside of it would be written out {extent * others:,} times: split it first")
    if extent * others > MAX_EXTENTS.get(primitive, extent * others):
        raise TVMError(
            f"it has {extent:,} iterations, {'with the others' if others > 1 else 'which is'} too many to "
            f"{primitive}: split it, and {primitive} the inner loop"
        )


def require_threads(threads: int, kind: str) -> None:
    """Refuse to bind loops for a target that has no threads.

    Raises
    ------
    TVMError
        It has not.
    """
    if threads == 1:
        raise TVMError(f"{kind} has no threads to bind loops to: build for a GPU")


def require_cores(threads: int, kind: str) -> None:
    """Refuse to share out loops among cores for a target that runs them as threads of a device.

    Raises
    ------
    TVMError
        It does.
    """
    if threads > 1:
        raise TVMError(f"{kind} has no parallel CPU loops; bind it to blocks or threads")


class _NestedParallel(StmtVisitor):
    """Finds parallel loops inside of others."""

    def __init__(self) -> None:
        self.nested: For | None = None
        self._outer: For | None = None

    def visit_For(self, n: For) -> None:
        if n.kind is not ForKind.PARALLEL:
            self.visit_Node(n)
            return
        outer = self._outer
        if outer is not None:
            self.nested = n
        self._outer = n
        self.visit_Node(n)
        self._outer = outer


def require_flat_parallel(module: IRModule) -> IRModule:
    """Return a lowered module, unless a parallel loop lies inside of another one: no machine code is made of that.

    Raises
    ------
    TVMError
        One does.
    """
    visitor = _NestedParallel()
    for function in module.functions.values():
        if isinstance(function, PrimFunc):
            visitor.visit(function.body)
    if visitor.nested is not None:
        name = visitor.nested.loop_var.name
        raise TVMError(f"{name} would run in parallel inside a loop that is already parallel")
    return module
