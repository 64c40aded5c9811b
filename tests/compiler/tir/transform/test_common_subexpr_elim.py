"""What is computed twice becomes a variable, where it would have been computed anyway."""

from __future__ import annotations

from collections.abc import Callable

from compiler.ir.origin import OriginTable, derived_from, recording
from compiler.ir.primexpr import LT, Add, And, Broadcast, IterVar, Mul, PrimExpr, Ramp, Range, Select, Var, const
from compiler.tir import op as tir
from compiler.tir.buffer import Buffer, decl_buffer
from compiler.tir.function import PrimFunc
from compiler.tir.stmt import AttrStmt, BufferStore, For, ForKind, IfThenElse, LetStmt, Stmt, While, seq
from compiler.tir.transform import CommonSubexprElimTIR
from tests.compiler.tir.transform.programs import apply, assert_same, function, loop, nodes


def eliminated(body: Callable[[Buffer, Var, Var], Stmt], equivalent: bool = False) -> PrimFunc:
    """Eliminate in a function of A, x and y, and check that it still computes the same."""
    a, x, y = decl_buffer((400,), "int32", name="A"), Var("x"), Var("y")
    func = function(body(a, x, y), a, scalars=(x, y))
    after = apply(func, CommonSubexprElimTIR(identify_equiv_terms=equivalent))
    for values in ({"x": 2, "y": 5}, {"x": 6, "y": 1}):
        assert_same(func, after, scalars=values)
    return after


def variables(func: PrimFunc) -> dict[str, str]:
    """Return the variables made, each with its value as text, outermost first."""
    lets = [n for n in reversed(nodes(func, LetStmt)) if n.var.name.startswith("cse_var")]
    return {n.var.name: str(n.value) for n in lets}


def test_the_largest_expression_is_taken_first() -> None:
    after = eliminated(lambda a, x, y: BufferStore(a, x * 2 + y, (x * 2 + y,)))
    assert variables(after) == {"cse_var_1": "x * 2 + y"}


def test_parts_of_what_was_taken_are_shared_too() -> None:
    def body(a: Buffer, x: Var, y: Var) -> Stmt:
        return seq([BufferStore(a, x * 2 + y, (x * 2 + y,)), BufferStore(a, x * 3, (x * 2 + 1,))])

    assert variables(eliminated(body)) == {"cse_var_2": "x * 2", "cse_var_1": "cse_var_2 + y"}


def test_ties_are_named_in_the_order_of_their_text() -> None:
    def body(a: Buffer, x: Var, y: Var) -> Stmt:
        return seq([BufferStore(a, e, (e,)) for e in (x * 7, x * 6, y * 6, y + 6)])

    names = {value: name for name, value in variables(eliminated(body)).items()}
    assert names == {"x * 6": "cse_var_1", "x * 7": "cse_var_2", "y + 6": "cse_var_3", "y * 6": "cse_var_4"}


def test_nothing_leaves_a_loop() -> None:
    i = Var("i")

    def body(a: Buffer, x: Var, y: Var) -> Stmt:
        return seq([BufferStore(a, const(1), (x * 2,)), loop(i, 5, BufferStore(a, x * 2, (i + x * 2,)))])

    after = eliminated(body)
    (inner,) = nodes(after, For)
    assert isinstance(inner.body, LetStmt)
    assert variables(after) == {"cse_var_1": "x * 2"}


def test_an_extent_and_the_body_of_its_loop_share() -> None:
    i = Var("i")
    after = eliminated(lambda a, x, y: loop(i, x * 2, BufferStore(a, x * 2, (i,))))
    assert isinstance(after.body, LetStmt)


def test_both_sides_of_a_branch_share_but_one_side_does_not() -> None:
    def both(a: Buffer, x: Var, y: Var) -> Stmt:
        return IfThenElse(x < y, BufferStore(a, const(1), (x * 2,)), BufferStore(a, const(2), (x * 2,)))

    def one(a: Buffer, x: Var, y: Var) -> Stmt:
        store = BufferStore(a, const(1), (x * 2,))
        return seq([store, IfThenElse(x < y, BufferStore(a, const(1), (x * 2,)))])

    assert variables(eliminated(both)) == {"cse_var_1": "x * 2"}
    assert variables(eliminated(one)) == {}


def test_a_branch_shares_within_itself() -> None:
    after = eliminated(lambda a, x, y: IfThenElse(x < y, BufferStore(a, x * 2, (x * 2,))))
    (branch,) = nodes(after, IfThenElse)
    assert isinstance(branch.then_case, LetStmt)


def test_loads_and_calls_are_never_taken() -> None:
    def body(a: Buffer, x: Var, y: Var) -> Stmt:
        return BufferStore(a, a[x] + a[x] + tir.if_then_else(x < 3, 1, 2) + tir.if_then_else(x < 3, 1, 2), (y,))

    assert variables(eliminated(body)) == {"cse_var_1": "x < 3"}


def test_truth_values_and_selects_are_taken() -> None:
    def body(a: Buffer, x: Var, y: Var) -> Stmt:
        condition = And(x < y + 1, y < 5)
        again = And(x < y + 1, y < 5)
        return seq([BufferStore(a, Select(condition, x, const(3)), (x,)), BufferStore(a, Select(again, y, x), (y,))])

    assert variables(eliminated(body)) == {"cse_var_1": "x < y + 1 and y < 5"}


def test_a_ramp_is_not_taken_but_its_base_is() -> None:
    def body(a: Buffer, x: Var, y: Var) -> Stmt:
        index = Ramp(x * 4, const(1), 4)
        again = Ramp(x * 4, const(1), 4)
        return BufferStore(a, a[again] + Broadcast(y, 4), (index,))

    assert variables(eliminated(body)) == {"cse_var_1": "x * 4"}


def test_what_a_let_defines_is_shared_within_it() -> None:
    z = Var("z")

    def body(a: Buffer, x: Var, y: Var) -> Stmt:
        return LetStmt(z, x * y + 1, BufferStore(a, x * y + 1 + z * 2, (z * 2 + x * y,)))

    assert variables(eliminated(body)) == {
        "cse_var_2": "x * y",
        "cse_var_1": "cse_var_2 + 1",
        "cse_var_3": "z * 2",
    }


def test_repeated_parts_of_a_condition_become_a_let_within_it() -> None:
    after = eliminated(lambda a, x, y: IfThenElse(x * y + x * y < 20, BufferStore(a, const(1), (x,))))
    (branch,) = nodes(after, IfThenElse)
    assert "cse_var_1" in str(branch.condition)


def test_the_body_of_a_while_loop_is_a_region() -> None:
    def body(a: Buffer, x: Var, y: Var) -> Stmt:
        step = BufferStore(a, a[x * 3] + x * 3 + 1, (x * 3,))
        return seq([BufferStore(a, const(0), (x * 3,)), While(a[x * 3] < 40, step)])

    assert variables(eliminated(body)) == {"cse_var_1": "x * 3"}


def test_indices_of_threads_are_left_alone() -> None:
    thread = IterVar(Range(0, 4), Var("t"), IterVar.ThreadIndex, "threadIdx.x")
    a = decl_buffer((400,), "int32", name="A")
    body = AttrStmt(thread, "thread_extent", const(4), BufferStore(a, thread.var * 4, (thread.var * 4,)))
    assert variables(apply(function(body, a), CommonSubexprElimTIR())) == {}


def test_commuted_operands_are_the_same_only_on_request() -> None:
    def body(a: Buffer, x: Var, y: Var) -> Stmt:
        return seq([BufferStore(a, x + y, (y + x,)), BufferStore(a, (x + y) + 1, (x + (y + 1),))])

    assert variables(eliminated(body)) == {"cse_var_1": "x + y"}
    assert set(variables(eliminated(body, equivalent=True)).values()) == {"cse_var_2 + 1", "x + y"}


def test_differences_do_not_commute() -> None:
    after = eliminated(lambda a, x, y: BufferStore(a, (x - y) + (y - x), (x,)), equivalent=True)
    assert variables(after) == {}


def test_it_can_be_switched_off() -> None:
    a, x = decl_buffer((400,), "int32", name="A"), Var("x")
    func = function(BufferStore(a, x * 2, (x * 2,)), a, scalars=(x,))
    assert apply(func, CommonSubexprElimTIR(enable_cse_tir=False)) is func
    assert apply(func, CommonSubexprElimTIR(), config={"tir.disable_cse_tir": True}) is func
    config = {"tir.enable_equiv_terms_in_cse_tir": True}
    assert apply(func, CommonSubexprElimTIR(), config=config) is not func


def test_a_function_without_repetition_is_returned_as_it_is() -> None:
    a, x, i = decl_buffer((400,), "int32", name="A"), Var("x"), Var("i")
    func = function(For(i, 0, 4, ForKind.SERIAL, BufferStore(a, x * 2, (i * 3,))), a, scalars=(x,))
    assert apply(func, CommonSubexprElimTIR()) is func


def test_a_variable_stems_from_all_places_that_it_replaces() -> None:
    a, x = decl_buffer((400,), "int32", name="A"), Var("x")
    with recording(OriginTable()) as table:
        first, second = table.mint("source", "one", None, frozenset()), table.mint("source", "two", None, frozenset())
        expressions: list[PrimExpr] = []
        for span in (first, second):
            with derived_from(span):
                expressions.append(Add(Mul(x, const(2)), const(1)))
        func = function(BufferStore(a, expressions[0], (expressions[1],)), a, scalars=(x,))
        (let,) = nodes(apply(func, CommonSubexprElimTIR()), LetStmt)
    assert let.span == let.var.span == first | second


def test_comparisons_in_guards_do_not_count_outside() -> None:
    def body(a: Buffer, x: Var, y: Var) -> Stmt:
        first = IfThenElse(LT(x * 9, const(30)), BufferStore(a, const(1), (x,)))
        second = IfThenElse(LT(x * 9, const(30)), BufferStore(a, const(2), (y,)))
        return seq([first, second])

    assert variables(eliminated(body)) == {}
