"""After every pass over every program: what is used is defined, and nothing is defined anew where it is visible."""

from __future__ import annotations

import contextlib
import io
import runpy
from pathlib import Path

import pytest

from compiler.classic import alias
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.functor import Visitor
from compiler.ir.instrument import Instrument, instrumented
from compiler.ir.module import IRModule
from compiler.ir.transform import PassInfo
from compiler.tir.analysis import undefined_vars
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Stmt
from tests.golden.test_programs import LOWERED

RAW = {"tir.InjectPrefetch", "tir.InjectRollingBuffer"}
"""Passes before memory is flattened: facts about a buffer stand around the statement that makes it."""


class Shadows(Visitor):
    """Collects the variables that are defined within their own scope."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._visible: list[Var] = []

    def visit_Stmt(self, n: Stmt) -> None:
        defined = [v for v in (getattr(n, name) for name in n.defines) if isinstance(v, Var)]
        self.found += [v.name for v in defined if any(v is seen for seen in self._visible)]
        self._visible += defined
        self.visit_Node(n)
        del self._visible[len(self._visible) - len(defined) :]

    def visit_PrimExpr(self, n: PrimExpr) -> None:
        """Lets within expressions are not looked at."""


class WellFormed(Instrument):
    """Checks each module that a pass returns."""

    def __init__(self) -> None:
        self.passes = 0
        self.problems: list[str] = []

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self.passes += 1
        for _, func in mod.items():
            assert isinstance(func, PrimFunc)
            undefined = [] if info.name in RAW else [v.name for v in undefined_vars(func)]
            shadows = Shadows()
            shadows.visit(func.body)
            if undefined:
                self.problems.append(f"{info.name} leaves {', '.join(undefined)} undefined in\n{func}")
            if shadows.found:
                self.problems.append(f"{info.name} defines {', '.join(shadows.found)} anew in\n{func}")


@pytest.mark.parametrize("program", LOWERED, ids=lambda p: p.stem)
def test_every_pass_leaves_a_function_well_formed(program: Path) -> None:
    alias.install()
    checks = WellFormed()
    with instrumented(checks), contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(program), run_name="__main__")
    assert checks.passes > 10
    assert not checks.problems, "\n\n".join(checks.problems[:3])
