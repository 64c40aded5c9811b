"""Passes over functions as values: programs mean what they meant, and have the form that is promised."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import compiler.relay
from compiler.ir import IRModule
from compiler.ir.error import TVMError
from compiler.relay import transform
from compiler.relay.adt import Match
from compiler.relay.analysis import check_basic_block_normal_form, post_order, well_formed
from compiler.relay.expr import Call, Constant, If, Let, Var
from compiler.relay.function import Function
from compiler.relay.inference import infer_module
from compiler.relay.operator import RelayOp
from tests.compiler.relay.transform.before_after import check_pass, check_stays
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
    typed = infer_module(after)
    assert typed["main"].checked_type == mod["main"].checked_type
    assert infer_module(typed) is typed
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
    named = transform.InferType()(transform.ToANormalForm()(mod))
    assert len(_parts(named, Let)) == 10_000
    assert transform.DeadCodeElimination()(named) is named
    assert not _parts(transform.ToGraphNormalForm()(named), Let)
    assert not _parts(transform.DeadCodeElimination(inline_once=True)(named), Let)


def test_what_nothing_uses_is_not_computed() -> None:
    check_pass(
        "DeadCodeElimination()",
        """
        def @main(%x: Tensor[(3), float64]) {
          let %a = exp(%x);
          let %b = tanh(%a);
          let %c = negative(%x);
          %c
        }
        """,
        "def @main(%x: Tensor[(3), float64]) { let %c = negative(%x); %c }",
    )


def test_what_has_an_effect_stays_unless_asked() -> None:
    program = """
        def @main(%x: Tensor[(3), float64]) {
          let %r = ref(%x);
          let %u = ref_write(%r, exp(%x));
          ref_read(%r)
        }
        """
    check_stays("DeadCodeElimination()", program)
    check_pass(
        "DeadCodeElimination(ignore_impurity=True)",
        program,
        "def @main(%x: Tensor[(3), float64]) { let %r = ref(%x); ref_read(%r) }",
    )


def test_a_value_is_not_moved_into_a_function() -> None:
    check_stays(
        "DeadCodeElimination(inline_once=True)",
        """
        def @main(%x: Tensor[(3), float64]) {
          let %a = exp(%x);
          let %f = fn (%y: Tensor[(3), float64]) { add(%y, %a) };
          add(%f(%x), %f(%f(%x)))
        }
        """,
    )


def test_functions_that_ask_for_it_are_inlined() -> None:
    result = check_pass(
        "Inline()",
        """
        def @twice(%y: float64, Inline=1) { let %t = exp(%y); add(%t, %t) }
        def @thrice(%y: float64, Inline=1) { add(@twice(%y), %y) }
        def @again(%y: float64, Inline=1) -> float64 { @again(%y) }
        def @main(%x: float64) { (@thrice(@twice(%x)), fn () { @again(%x) }) }
        """,
        """
        def @again(%y: float64, Inline=1) -> float64 { @again(%y) }
        def @main(%x: float64) {
          %0 = (let %a = exp(%x); add(%a, %a));
          (add((let %b = exp(%0); add(%b, %b)), %0), fn () { @again(%x) })
        }
        """,
    )
    assert well_formed(result)


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


def test_a_local_function_is_lifted_over_what_it_captures() -> None:
    check_pass(
        "LambdaLift()",
        """
        def @main(%s: float64, %t: float64) {
          let %scale = fn (%a: float64) -> float64 { multiply(%a, %s) };
          let %twice = fn (%f: fn (float64) -> float64, %b: float64) -> float64 { %f(%f(%b)) };
          %twice(%scale, %t)
        }
        """,
        """
        def @main(%s: float64, %t: float64) {
          let %scale = @lifted_scale(%s);
          let %twice = @lifted_twice;
          %twice(%scale, %t)
        }
        def @lifted_scale(%s: float64, Closure=1) { fn (%a: float64) -> float64 { multiply(%a, %s) } }
        def @lifted_twice(%f: fn (float64) -> float64, %b: float64) -> float64 { %f(%f(%b)) }
        """,
    )


def test_unused_functions_are_removed() -> None:
    mod = PROGRAMS["lists"][0]()
    assert {v.name_hint for v in transform.RemoveUnusedFunctions()(mod)} == {"main", "map", "foldl"}
    kept = transform.RemoveUnusedFunctions(["rev"])(mod)
    assert {v.name_hint for v in kept} == {"rev", "foldl"}


def test_constructors_that_are_values_are_functions() -> None:
    check_pass(
        "EtaExpand(expand_constructor=True)",
        """
        type List[A] { Cons(A, List[A]), Nil }
        def @main(%x: float64) { (Cons, Cons(%x, Nil)) }
        """,
        """
        type List[A] { Cons(A, List[A]), Nil }
        def @main(%x: float64) {
          (fn [A](%y: A, %ys: List[A]) -> List[A] { Cons(%y, %ys) }, Cons(%x, Nil))
        }
        """,
    )


def test_what_the_code_decides_is_evaluated() -> None:
    done = transform.RemoveUnusedFunctions()(transform.PartialEvaluate()(infer_module(PROGRAMS["power"][0]())))
    assert _operators(done) == {"multiply": 4}
    assert [v.name_hint for v in done] == ["main"]
    done = transform.PartialEvaluate()(infer_module(PROGRAMS["lists"][0]()))
    assert _operators(done) == {"multiply": 5, "exp": 2}
    assert not _parts(done, Match)


def test_a_closure_that_is_known_is_applied() -> None:
    check_pass(
        "PartialEvaluate(), DeadCodeElimination()",
        """
        def @main(%x: float64) {
          let %scale = fn (%a: float64) { multiply(%a, %x) };
          let %twice = fn (%f: fn (float64) -> float64, %b: float64) { %f(%f(%b)) };
          %twice(%scale, %x)
        }
        """,
        """
        def @main(%x: float64) {
          let %a = multiply(%x, %x);
          let %b = multiply(%a, %x);
          %b
        }
        """,
    )


def test_what_a_reference_holds_is_known() -> None:
    check_pass(
        "PartialEvaluate(), DeadCodeElimination(ignore_impurity=True)",
        """
        def @main(%x: float64) {
          let %r = ref(%x);
          let %bump = fn (%by: float64) { ref_write(%r, add(ref_read(%r), %by)) };
          let %old = ref_read(%r);
          let %done = %bump(%x);
          (%old, ref_read(%r))
        }
        """,
        """
        def @main(%x: float64) {
          let %a = add(%x, %x);
          let %b = (%x, %a);
          %b
        }
        """,
    )


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


def test_equal_local_functions_are_lifted_once() -> None:
    x = relay.var("x", VECTOR)
    first, second = relay.var("a", VECTOR), relay.var("b", VECTOR)
    calls = [relay.Function([v], relay.add(v, v))(x) for v in (first, second)]
    mod = transform.LambdaLift()(IRModule.from_expr(relay.Function([x], relay.Tuple(calls))))
    assert [var.name_hint for var in mod.functions] == ["main", "lifted"]
    assert mod["main"].body.fields[0].op is mod["main"].body.fields[1].op


def test_of_basic_blocks_no_types_are_known_before_they_are_inferred() -> None:
    x = relay.var("x", VECTOR)
    typed = infer_module(IRModule.from_expr(relay.Function([x], relay.tanh(x))))
    blocks = transform.ToBasicBlockNormalForm()(typed)
    assert typed["main"].body.checked_type_ is not None
    assert blocks["main"].body.checked_type_ is None
    assert infer_module(blocks)["main"].body.checked_type == typed["main"].body.checked_type


def test_references_that_nothing_reads_are_dead_and_so_is_what_only_they_hold() -> None:
    before = """
    def @main(%x: Tensor[(3), float32]) -> Tensor[(3), float32] {
      let %kept = ref(%x);
      let %r = ref(%x);
      let %callback = ref(fn () -> Tensor[(3), float32] { ref_read(%r) });
      let %other = %r;
      let %a = ref_write(%other, tanh(%x));
      let %b = ref_write(%kept, tanh(%x));
      ref_read(%kept)
    }
    """
    after = """
    def @main(%x: Tensor[(3), float32]) -> Tensor[(3), float32] {
      let %kept = ref(%x);
      let %b = ref_write(%kept, tanh(%x));
      ref_read(%kept)
    }
    """
    check_pass("DeadCodeElimination()", before, after)
    check_stays(
        "DeadCodeElimination()",
        """
        def @main(%x: Tensor[(3), float32]) -> () {
          let %r = ref(%x);
          let %written = ref_write(%r, tanh(%x));
          %written
        }
        """,
    )


def test_programs_without_a_meaning_are_left_or_refused() -> None:
    x = relay.var("x", shape=(2,))
    undefined = relay.var("u", shape=(2,))
    outside = relay.TupleGetItem(relay.Tuple([x]), 3)
    itself = relay.Let(undefined, undefined, x)
    too_many = Call(Function([x], x), [x, x])
    for make in (transform.PartialEvaluate(), transform.DynamicToStatic()):
        with pytest.raises(TVMError):
            infer_module(make(IRModule.from_expr(Function([x], outside))))
    assert transform.ToGraphNormalForm()(IRModule.from_expr(Function([x], itself)))["main"].body is x
    with pytest.raises(TVMError, match="a function of 1 parameters is called with 2"):
        transform.PartialEvaluate()(IRModule.from_expr(Function([x], too_many)))
