"""Passes over functions as values: programs mean what they meant, and have the form that is promised."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import compiler.relay
from compiler.ir import IRModule
from compiler.relay import transform
from compiler.relay.adt import Match
from compiler.relay.analysis import check_basic_block_normal_form, post_order, well_formed
from compiler.relay.expr import Call, Constant, Function, If, Let, Var
from compiler.relay.inference import infer_module
from compiler.relay.operator import RelayOp
from tests.compiler.relay.transform.meaning import run
from tests.compiler.relay.transform.programs import INT, PROGRAMS, REAL, VECTOR, assert_same, real

relay: Any = compiler.relay

PASSES = {
    "DeadCodeElimination": transform.DeadCodeElimination(),
    "DeadCodeElimination(inline_once)": transform.DeadCodeElimination(inline_once=True),
    "EtaExpand": transform.EtaExpand(expand_constructor=True, expand_global_var=True),
    "LambdaLift": transform.LambdaLift(),
    "PartialEvaluate": transform.PartialEvaluate(),
    "RemoveUnusedFunctions": transform.RemoveUnusedFunctions(),
    "ToANormalForm": transform.ToANormalForm(),
    "ToBasicBlockNormalForm": transform.ToBasicBlockNormalForm(),
    "ToGraphNormalForm": transform.ToGraphNormalForm(),
}


def _operators(mod: IRModule) -> Counter[str]:
    """Return how often each operator is called in ``main``."""
    parts = post_order(mod["main"])
    return Counter(p.op.name for p in parts if isinstance(p, Call) and isinstance(p.op, RelayOp))


def _parts(mod: IRModule, kind: type) -> list[Any]:
    return [p for p in post_order(mod["main"]) if isinstance(p, kind)]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("which", PASSES)
def test_the_meaning_stays(which: str, name: str) -> None:
    make, args = PROGRAMS[name]
    mod = infer_module(make())
    before = run(mod, *args)
    after = PASSES[which](mod)
    assert well_formed(after)
    assert_same(run(after, *args), before)
    assert after["main"].checked_type == mod["main"].checked_type
    assert infer_module(after) is after
    assert_same(run(transform.ToGraphNormalForm()(transform.ToANormalForm()(after)), *args), before)


@pytest.mark.parametrize(
    "which", ["DeadCodeElimination", "ToANormalForm", "ToBasicBlockNormalForm", "ToGraphNormalForm"]
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_time_changes_nothing(which: str, name: str) -> None:
    once = PASSES[which](PROGRAMS[name][0]())
    assert PASSES[which](once) is once


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_a_normal_form_operands_are_names_and_constants(name: str) -> None:
    mod = transform.ToANormalForm()(PROGRAMS[name][0]())
    for call in _parts(mod, Call):
        assert all(isinstance(arg, (Var, Constant)) for arg in call.args)


def test_what_branches_share_is_computed_once_around_them() -> None:
    mod = PROGRAMS["shared_by_branches"][0]()
    assert not check_basic_block_normal_form(mod["main"])
    for make in (transform.ToANormalForm, transform.ToBasicBlockNormalForm):
        body = make()(mod)["main"].body
        assert isinstance(body, Let)
        assert body.value.op.name == "add"
        assert check_basic_block_normal_form(make()(mod)["main"])
    blocks = transform.ToBasicBlockNormalForm()(mod)["main"].body
    assert isinstance(blocks.body, If)
    assert blocks.body.true_branch.args[0] is blocks.var


def test_normal_forms_of_ten_thousand_operators() -> None:
    value = x = relay.var("x", VECTOR)
    for _ in range(5_000):
        value = relay.tanh(relay.add(value, x))
    mod = IRModule.from_expr(value)
    assert transform.ToBasicBlockNormalForm()(mod) is mod
    named = transform.ToANormalForm()(mod)
    assert len(_parts(named, Let)) == 10_000
    assert transform.DeadCodeElimination()(named) is named
    assert not _parts(transform.ToGraphNormalForm()(named), Let)
    assert not _parts(transform.DeadCodeElimination(inline_once=True)(named), Let)


def test_what_nothing_uses_is_not_computed() -> None:
    x, a, b, c, r = relay.var("x", VECTOR), *(relay.var(n) for n in "abcr")
    body = relay.Let(a, relay.exp(x), relay.Let(b, relay.tanh(a), relay.Let(c, relay.negative(x), c)))
    mod = transform.DeadCodeElimination()(IRModule.from_expr(relay.Function([x], body)))
    assert _operators(mod) == {"negative": 1}
    write = relay.Let(r, relay.RefCreate(x), relay.Let(a, relay.RefWrite(r, relay.exp(x)), relay.RefRead(r)))
    mod = IRModule.from_expr(relay.Function([x], write))
    assert transform.DeadCodeElimination()(mod) is mod
    assert _operators(transform.DeadCodeElimination(ignore_impurity=True)(mod)) == {}


def test_a_value_is_not_moved_into_a_function() -> None:
    x, a, f, y = relay.var("x", VECTOR), relay.var("a"), relay.var("f"), relay.var("y", VECTOR)
    inner = relay.Function([y], relay.add(y, a))
    body = relay.Let(a, relay.exp(x), relay.Let(f, inner, relay.add(f(x), f(f(x)))))
    mod = transform.DeadCodeElimination(inline_once=True)(IRModule.from_expr(relay.Function([x], body)))
    assert [let.var.name_hint for let in _parts(mod, Let)] == ["f", "a"]


def test_functions_that_ask_for_it_are_inlined() -> None:
    x, y, t = relay.var("x", VECTOR), relay.var("y", VECTOR), relay.var("t")
    twice, thrice, again = (relay.GlobalVar(n) for n in ("twice", "thrice", "again"))
    mod = IRModule(
        {
            twice: relay.Function([y], relay.Let(t, relay.exp(y), relay.add(t, t)), attrs={"Inline": 1}),
            thrice: relay.Function([y := relay.var("y", VECTOR)], relay.add(twice(y), y), attrs={"Inline": 1}),
            again: relay.Function([y := relay.var("y", VECTOR)], again(y), VECTOR, attrs={"Inline": 1}),
            "main": relay.Function([x], relay.Tuple([thrice(twice(x)), relay.Function([], again(x))])),
        }
    )
    result = transform.Inline()(mod)
    assert [v.name_hint for v in result] == ["again", "main"]
    assert _operators(result) == {"exp": 2, "add": 3}
    assert well_formed(result)
    infer_module(result)


def test_inlining_a_generic_function() -> None:
    a, x = relay.TypeVar("a"), relay.var("x", REAL)
    y, t = relay.var("y", a), relay.var("t", a)
    pair = relay.GlobalVar("pair")
    generic = relay.Function([y], relay.Let(t, y, relay.Tuple([t, y])), None, [a], {"Inline": 1})
    result = infer_module(transform.Inline()(IRModule({pair: generic, "main": relay.Function([x], pair(pair(x)))})))
    assert [v.name_hint for v in result] == ["main"]
    assert_same(run(result, np.array(2.0)), ((2.0, 2.0), (2.0, 2.0)))


def test_inlining_keeps_the_order_of_effects() -> None:
    r, x, y, first = relay.var("r"), relay.var("x", REAL), relay.var("y", REAL), relay.GlobalVar("first")
    z = relay.var("z", REAL)
    read = relay.RefRead(r)
    body = relay.Let(r, relay.RefCreate(x), relay.Let(relay.var("_"), first(read, real(0.0)), first(read, read)))
    mod = IRModule({first: relay.Function([y, z], y, attrs={"Inline": 1}), "main": relay.Function([x], body)})
    result = transform.Inline()(mod)
    assert well_formed(result)
    assert_same(run(result, np.array(3.0)), 3.0)


def test_local_functions_become_functions_of_the_module() -> None:
    for name in ("closures", "loop", "lists"):
        mod = transform.LambdaLift()(PROGRAMS[name][0]())
        for func in mod.functions.values():
            inner = [p for p in post_order(func.body) if isinstance(p, Function)]
            assert inner == ([func.body] if func.attrs.get("Closure") else [])
    lifted = transform.LambdaLift()(PROGRAMS["closures"][0]())
    assert [v.name_hint for v in lifted] == ["main", "lifted_scale", "lifted_twice"]
    assert [p.name_hint for p in lifted["lifted_scale"].params] == ["s"]


def test_unused_functions_are_removed() -> None:
    mod = PROGRAMS["lists"][0]()
    assert {v.name_hint for v in transform.RemoveUnusedFunctions()(mod)} == {"main", "map", "foldl"}
    kept = transform.RemoveUnusedFunctions(["rev"])(mod)
    assert {v.name_hint for v in kept} == {"rev", "foldl"}


def test_constructors_that_are_values_are_functions() -> None:
    mod = PROGRAMS["lists"][0]()
    cons = mod.get_type("List")[1]
    x = relay.var("x", REAL)
    wrap = relay.GlobalVar("wrap")
    mod[wrap] = relay.Function([x], relay.Tuple([cons, x]))
    result = transform.RemoveUnusedFunctions(["wrap"])(transform.EtaExpand()(mod))
    made = result["wrap"].body[0]
    assert isinstance(made, Function)
    assert made.body.op is cons
    assert len(made.type_params) == 1


def test_what_the_code_decides_is_evaluated() -> None:
    done = transform.RemoveUnusedFunctions()(transform.PartialEvaluate()(infer_module(PROGRAMS["power"][0]())))
    assert _operators(done) == {"multiply": 4}
    assert [v.name_hint for v in done] == ["main"]
    done = transform.PartialEvaluate()(infer_module(PROGRAMS["lists"][0]()))
    assert _operators(done) == {"multiply": 5, "exp": 2}
    assert not _parts(done, Match)
    done = transform.PartialEvaluate()(infer_module(PROGRAMS["references"][0]()))
    assert _operators(done) == {"add": 1}


def test_what_only_the_running_program_knows_stays() -> None:
    done = transform.PartialEvaluate()(infer_module(PROGRAMS["loop"][0]()))
    assert len(_parts(done, If)) >= 1
    forever, x = relay.GlobalVar("forever"), relay.var("x", REAL)
    mod = IRModule({forever: relay.Function([x], forever(x), REAL), "main": relay.Function([x], forever(x), REAL)})
    assert len(_parts(transform.PartialEvaluate()(infer_module(mod)), Call)) == 1


def test_a_reference_that_a_branch_may_have_written_is_unknown() -> None:
    c, x, r, u = relay.var("c", "bool"), relay.var("x", REAL), relay.var("r"), relay.var("u")
    branch = relay.If(c, relay.RefWrite(r, real(2.0)), relay.Tuple([]))
    body = relay.Let(r, relay.RefCreate(x), relay.Let(u, branch, relay.RefRead(r)))
    done = transform.PartialEvaluate()(infer_module(IRModule.from_expr(relay.Function([c, x], body))))
    for value, expected in ((True, 2.0), (False, 5.0)):
        assert_same(run(done, np.array(value), np.array(5.0)), expected)


def test_an_unknown_length_is_followed_at_run_time() -> None:
    n, x = relay.var("n", INT), relay.var("x", REAL)
    mod = PROGRAMS["power"][0]()
    mod["main"] = relay.Function([x, n], mod.get_global_var("power")(x, n))
    done = transform.PartialEvaluate()(infer_module(mod))
    assert_same(run(done, np.array(1.5), np.array(3, "int32")), 1.5**3)
