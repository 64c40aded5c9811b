"""The types of the language itself: functions, tuples, control, references and data types; derived by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import compiler.relay
from compiler.ir import IRModule
from compiler.ir.error import DiagnosticError
from compiler.relay.inference import TypeInferenceError, infer_expr, infer_module
from compiler.relay.ty import FuncType, IncompleteType, RefType, TensorType, TupleType, TypeCall, scalar_type

relay: Any = compiler.relay
"""As programs call it, with lists where nodes keep tuples."""

F32 = scalar_type("float32")
BOOL = scalar_type("bool")
INT32 = scalar_type("int32")


def _list_module() -> tuple[Any, Any, Any, Any]:
    a, name = relay.TypeVar("a"), relay.GlobalTypeVar("List")
    cons = relay.Constructor("Cons", (a, TypeCall(name, (a,))), name)
    nil = relay.Constructor("Nil", (), name)
    mod: Any = IRModule()
    mod[name] = relay.TypeData(name, (a,), (cons, nil))
    return mod, cons, nil, name


def test_constants_and_tuples() -> None:
    pair = relay.Tuple([relay.const(1.0), relay.const(np.zeros((2, 3), "int64"), "int64")])
    assert infer_expr(pair) == TupleType((F32, TensorType((2, 3), "int64")))
    assert infer_expr(relay.TupleGetItem(pair, 1)) == TensorType((2, 3), "int64")


def test_types_of_parameters_follow_from_the_call() -> None:
    f, a, b = relay.var("f"), relay.var("a"), relay.var("b")
    swap = relay.Function([a, b], relay.Tuple([b, a]))
    program = relay.Let(f, swap, f(relay.const(1.0), relay.const(2)))
    assert infer_expr(program) == TupleType((INT32, F32))
    assert swap.checked_type == FuncType((F32, INT32), TupleType((INT32, F32)))


def test_a_generic_function_is_used_at_several_types() -> None:
    f, t = relay.var("f"), relay.TypeVar("t")
    a = relay.var("a", t)
    identity = relay.Function([a], a, t, [t])
    program = relay.Let(f, identity, relay.Tuple([f(relay.const(1.0)), f(relay.Tuple([]))]))
    assert infer_expr(program) == TupleType((F32, TupleType(())))
    assert identity.checked_type == FuncType((t,), t, (t,))


def test_functions_are_values() -> None:
    g, x = relay.var("g", FuncType((F32,), INT32)), relay.var("x", F32)
    apply = relay.Function([g, x], g(x))
    assert infer_expr(apply) == FuncType((FuncType((F32,), INT32), F32), INT32)


def test_a_local_function_calls_itself() -> None:
    loop, c = relay.var("loop"), relay.var("c", BOOL)
    body = relay.If(c, loop(relay.const(False)), relay.const(3))
    program = relay.Let(loop, relay.Function([c], body), loop(relay.const(True)))
    assert infer_expr(program) == INT32


def test_global_functions_call_each_other() -> None:
    even, odd = relay.GlobalVar("even"), relay.GlobalVar("odd")
    p, q = relay.var("p", BOOL), relay.var("q", BOOL)
    mod = IRModule(
        {
            even: relay.Function([p], relay.If(p, odd(p), relay.const(1))),
            odd: relay.Function([q], relay.If(q, even(q), relay.const(2))),
        }
    )
    done = infer_module(mod)
    assert done["even"].ret_type == INT32 == done["odd"].ret_type
    assert done["even"].checked_type == FuncType((BOOL,), INT32)


def test_what_is_annotated_stays_the_same_object() -> None:
    x = relay.var("x", F32)
    mod = IRModule.from_expr(relay.Function([x], relay.Tuple([x, x])))
    done = infer_module(mod)
    assert done is not mod
    assert done["main"].body is mod["main"].body
    assert infer_module(done) is done


def test_parameters_without_a_type_get_one() -> None:
    x, y = relay.var("x"), relay.var("y", F32)
    mod = IRModule.from_expr(relay.Function([x, y], relay.If(x, y, y)))
    done = infer_module(mod)
    assert done["main"].params[0].type_annotation == BOOL
    assert done["main"].params[1] is y
    assert done["main"].body.cond is done["main"].params[0]
    assert done["main"].body.checked_type == F32


def test_references() -> None:
    r = relay.var("r")
    program = relay.Let(r, relay.RefCreate(relay.const(1.0)), relay.RefRead(r))
    assert infer_expr(program) == F32
    assert r.checked_type == RefType(F32)
    assert infer_expr(relay.RefWrite(relay.RefCreate(relay.const(1)), relay.const(2))) == TupleType(())


def test_a_chain_of_any_length() -> None:
    value = relay.var("x", F32)
    for _ in range(100_000):
        value = relay.TupleGetItem(relay.Tuple([value]), 0)
    assert infer_expr(value) == F32


def test_a_sum_over_a_list() -> None:
    mod, cons, nil, name = _list_module()
    count, head, tail = relay.GlobalVar("count"), relay.var("h"), relay.var("t")
    xs = relay.var("xs", name(BOOL))
    clauses = [
        relay.Clause(
            relay.PatternConstructor(cons, [relay.PatternVar(head), relay.PatternVar(tail)]),
            relay.If(head, relay.const(1), count(tail)),
        ),
        relay.Clause(relay.PatternConstructor(nil), relay.const(0)),
    ]
    mod[count] = relay.Function([xs], relay.Match(xs, clauses))
    done = infer_module(mod)
    assert done["count"].ret_type == INT32
    assert head.checked_type == BOOL
    assert tail.checked_type == name(BOOL)


def test_constructors_are_generic() -> None:
    mod, cons, nil, name = _list_module()
    assert infer_expr(cons(relay.const(1.0), cons(relay.const(2.0), nil())), mod) == name(F32)
    empty: Any = infer_expr(nil(), mod)
    assert isinstance(empty.args[0], IncompleteType)


def test_patterns_that_cover_too_little_are_named() -> None:
    mod, cons, nil, name = _list_module()
    xs = relay.var("xs", name(F32))
    inner = relay.PatternConstructor(cons, [relay.PatternWildcard(), relay.PatternConstructor(nil)])
    some = relay.Match(xs, [relay.Clause(inner, relay.const(1))])
    with pytest.raises(TypeInferenceError, match=r"match does not cover Nil, Cons\(_, Cons\(_, _\)\)"):
        infer_expr(some, mod)
    open_end = relay.Match(xs, [relay.Clause(inner, relay.const(1))], complete=False)
    assert infer_expr(open_end, mod) == INT32


ONE, TRUE = relay.const(1.0), relay.const(True)
X = relay.var("x", F32)


@pytest.mark.parametrize(
    ("expr", "message"),
    [
        (lambda: relay.If(TRUE, ONE, relay.const(1)), "the branches of if have different types.*data types differ"),
        (lambda: relay.If(ONE, ONE, ONE), "the condition of if must be a bool scalar"),
        (lambda: relay.TupleGetItem(relay.Tuple([ONE]), 1), "there is no element 1 in a tuple of 1"),
        (lambda: relay.TupleGetItem(ONE, 0), "only tuples have elements"),
        (lambda: relay.Call(relay.Function([X], X), [ONE, ONE]), "the function takes 1 argument, it is called with 2"),
        (lambda: relay.Call(relay.Function([X], X), [TRUE]), "argument 1 of the function.*data types differ"),
        (lambda: relay.Call(ONE, [ONE]), "is called but is not a function"),
        (lambda: relay.GlobalVar("nowhere")(ONE), "@nowhere is not defined in the module"),
        (lambda: relay.RefRead(ONE), "only references can be read"),
        (lambda: relay.Function([X], X, INT32), "the function's body is not what its ret_type says"),
        (lambda: relay.Let(relay.var("v", INT32), ONE, ONE), "the value of %v.*data types differ"),
        (lambda: relay.Function([a := relay.var("a")], a), "the type of %a cannot be found; annotate it"),
    ],
)
def test_what_does_not_fit_is_said(expr: Any, message: str) -> None:
    with pytest.raises(TypeInferenceError, match=message):
        infer_expr(expr())


def test_a_function_that_only_calls_itself_needs_an_annotation() -> None:
    forever, x = relay.GlobalVar("forever"), relay.var("x", F32)
    with pytest.raises(DiagnosticError, match="result type of a recursive function cannot be found"):
        infer_module(IRModule({forever: relay.Function([x], forever(x))}))
    done = infer_module(IRModule({forever: relay.Function([x], forever(x), INT32)}))
    assert done["forever"].checked_type == FuncType((F32,), INT32)


def test_a_function_applied_to_itself_has_no_type() -> None:
    f = relay.var("f")
    with pytest.raises(TypeInferenceError, match="a type would contain itself"):
        infer_expr(relay.Function([f], f(f)))


def test_an_undefined_variable_is_named() -> None:
    with pytest.raises(TypeInferenceError, match="variable %x is used but nothing defines it"):
        infer_module(IRModule({"main": relay.Function([], X)}))


def test_several_errors_are_reported_together() -> None:
    both = relay.Tuple([relay.If(ONE, ONE, ONE), relay.RefRead(ONE)])
    with pytest.raises(TypeInferenceError) as caught:
        infer_expr(both)
    assert len(caught.value.diagnostics) == 2
    assert str(caught.value).startswith("type inference: 2 errors\n")


def test_a_module_that_was_changed_is_inferred_again() -> None:
    x = relay.var("x", F32)
    done = infer_module(IRModule.from_expr(relay.Function([x], relay.Tuple([x]))))
    assert infer_module(done) is done
    done["main"] = relay.Function([x], relay.Tuple([x, x]))
    assert infer_module(done)["main"].ret_type == TupleType((F32, F32))
