"""Programs of graphs, converted to Python, have the values that the interpreter finds."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.relay.prelude import Prelude
from compiler.classic.testing.relay.py_converter import run_as_python, to_python
from compiler.ir.error import TVMError
from compiler.ir.module import IRModule
from compiler.relay.interpreter import ConstructorValue, RefValue
from compiler.runtime.container import ADT


def _plain(value: Any) -> Any:
    match value:
        case ADT():
            return tuple(_plain(part) for part in value)
        case ConstructorValue():
            return (value.constructor.name_hint, *(_plain(part) for part in value.fields))
        case RefValue():
            return [_plain(value.value)]
        case _:
            return value.numpy().tolist()


def _agrees(expr: Any, mod: IRModule | None = None) -> Any:
    module = mod or IRModule()
    found = _plain(run_as_python(expr, module))
    functions = {var: module[var] for var in module.get_global_vars() if var.name_hint != "main"}
    whole = IRModule({**functions, "main": relay.Function([], expr)}, type_definitions=module.type_definitions)
    assert found == _plain(relay.create_executor("debug", mod=whole).evaluate()())
    return found


def test_values_and_operators() -> None:
    x = relay.const(np.arange(6, dtype="float32").reshape(2, 3))
    halves = relay.split(x, 3, axis=1)
    assert _agrees(relay.Tuple([relay.sum(halves[2]), relay.const(True), relay.Tuple([])])) == (7.0, True, ())
    infinite = relay.const(np.array([np.inf, -np.inf], "float32"))
    assert _agrees(infinite) == [np.inf, -np.inf]


def test_functions_lists_and_matches() -> None:
    mod = IRModule()
    p = Prelude(mod)
    numbers = p.cons(relay.const(1), p.cons(relay.const(2), p.nil()))
    x = relay.var("x", "int32")
    assert _agrees(p.map(relay.Function([x], x + x), numbers), mod) == ("Cons", 2, ("Cons", 4, ("Nil",)))
    assert _agrees(p.sum(p.rev(numbers)), mod) == 3
    with pytest.raises(TVMError, match="no clause of a match matches"):
        run_as_python(p.hd(p.nil()), mod)


def test_cells_are_written_in_order() -> None:
    r, f, x, y = (relay.Var(name) for name in ("r", "f", "x", "y"))

    def then(first: Any, second: Any) -> Any:
        return relay.Let(relay.Var("_"), first, second)

    def wrote(n: int) -> Any:
        return then(relay.RefWrite(r, relay.const(n)), relay.RefRead(r))

    body = relay.Tuple([relay.RefRead(r), wrote(2), f(wrote(4), wrote(5)), relay.RefRead(r)])
    program = relay.Let(f, relay.Function([x, y], x), relay.Let(r, relay.RefCreate(relay.const(1)), body))
    assert _plain(run_as_python(program)) == (1, 2, 4, 5)


def test_only_the_branch_that_is_taken_runs() -> None:
    r = relay.Var("r")
    branches = [relay.RefWrite(r, relay.const(n)) for n in (1, 2)]
    for condition, value in ((True, 1), (False, 2)):
        chosen = relay.If(relay.const(condition), *branches)
        program = relay.Let(r, relay.RefCreate(relay.const(0)), relay.Let(relay.Var("_"), chosen, relay.RefRead(r)))
        assert _plain(run_as_python(program)) == value


def test_the_program_is_a_syntax_tree() -> None:
    tree = to_python(relay.add(relay.const(1), relay.const(2)))
    assert isinstance(tree, ast.Module)
    assert "operator('add'" in ast.unparse(tree)
