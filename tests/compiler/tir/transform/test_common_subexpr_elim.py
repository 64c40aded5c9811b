"""What is computed twice becomes a variable, where it would have been computed anyway."""

from __future__ import annotations

from compiler.ir.expr.primexpr import Add, Mul, PrimExpr, Var, const
from compiler.ir.origin import OriginTable, derived_from, recording
from compiler.ir.transform import Pass
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import BufferStore, LetStmt
from compiler.tir.transform import CommonSubexprElimTIR
from tests.compiler.tir.transform.programs import apply, assert_pass, function, nodes, program

PARAMS = "A: T.Buffer((400,), 'int32'), x: T.int32, y: T.int32"


def assert_eliminated(before: str, expected: str | None = None, each: Pass | None = None) -> None:
    """Check what becomes of a program of A, x and y."""
    values = ({"x": 2, "y": 5}, {"x": 6, "y": 1})
    assert_pass(each or CommonSubexprElimTIR(), before, expected, params=PARAMS, values=values)


def test_the_largest_expression_is_taken_first() -> None:
    assert_eliminated(
        """
        A[x * 2 + y] = x * 2 + y
        """,
        """
        cse_var_1: T.int32 = x * 2 + y
        A[cse_var_1] = cse_var_1
        """,
    )


def test_parts_of_what_was_taken_are_shared_too() -> None:
    assert_eliminated(
        """
        A[x * 2 + y] = x * 2 + y
        A[x * 2 + 1] = x * 3
        """,
        """
        cse_var_2: T.int32 = x * 2
        cse_var_1: T.int32 = cse_var_2 + y
        A[cse_var_1] = cse_var_1
        A[cse_var_2 + 1] = x * 3
        """,
    )


def test_ties_are_named_in_the_order_of_their_text() -> None:
    assert_eliminated(
        """
        A[x * 7] = x * 7
        A[x * 6] = x * 6
        A[y * 6] = y * 6
        A[y + 6] = y + 6
        """,
        """
        cse_var_4: T.int32 = y * 6
        cse_var_3: T.int32 = y + 6
        cse_var_2: T.int32 = x * 7
        cse_var_1: T.int32 = x * 6
        A[cse_var_2] = cse_var_2
        A[cse_var_1] = cse_var_1
        A[cse_var_4] = cse_var_4
        A[cse_var_3] = cse_var_3
        """,
    )


def test_nothing_leaves_a_loop() -> None:
    assert_eliminated(
        """
        A[x * 2] = 1
        for i in range(5):
            A[i + x * 2] = x * 2
        """,
        """
        A[x * 2] = 1
        for i in range(5):
            cse_var_1: T.int32 = x * 2
            A[i + cse_var_1] = cse_var_1
        """,
    )


def test_an_extent_and_the_body_of_its_loop_share() -> None:
    assert_eliminated(
        """
        for i in range(x * 2):
            A[i] = x * 2
        """,
        """
        cse_var_1: T.int32 = x * 2
        for i in range(cse_var_1):
            A[i] = cse_var_1
        """,
    )


def test_both_sides_of_a_branch_share() -> None:
    assert_eliminated(
        """
        if x < y:
            A[x * 2] = 1
        else:
            A[x * 2] = 2
        """,
        """
        cse_var_1: T.int32 = x * 2
        if x < y:
            A[cse_var_1] = 1
        else:
            A[cse_var_1] = 2
        """,
    )


def test_one_side_of_a_branch_does_not_count_outside() -> None:
    assert_eliminated(
        """
        A[x * 2] = 1
        if x < y:
            A[x * 2] = 1
        """
    )


def test_a_branch_shares_within_itself() -> None:
    assert_eliminated(
        """
        if x < y:
            A[x * 2] = x * 2
        """,
        """
        if x < y:
            cse_var_1: T.int32 = x * 2
            A[cse_var_1] = cse_var_1
        """,
    )


def test_loads_and_calls_are_never_taken() -> None:
    assert_eliminated(
        """
        A[y] = A[x] + A[x] + T.if_then_else(x < 3, 1, 2) + T.if_then_else(x < 3, 1, 2)
        """,
        """
        cse_var_1: T.bool = x < 3
        A[y] = A[x] + A[x] + T.if_then_else(cse_var_1, 1, 2) + T.if_then_else(cse_var_1, 1, 2)
        """,
    )


def test_truth_values_and_selects_are_taken() -> None:
    assert_eliminated(
        """
        A[x] = T.Select(x < y + 1 and y < 5, x, 3)
        A[y] = T.Select(x < y + 1 and y < 5, y, x)
        """,
        """
        cse_var_1: T.bool = x < y + 1 and y < 5
        A[x] = T.Select(cse_var_1, x, 3)
        A[y] = T.Select(cse_var_1, y, x)
        """,
    )


def test_a_ramp_is_not_taken_but_its_base_is() -> None:
    assert_eliminated(
        """
        A[T.Ramp(x * 4, 1, 4)] = A[T.Ramp(x * 4, 1, 4)] + T.Broadcast(y, 4)
        """,
        """
        cse_var_1: T.int32 = x * 4
        A[cse_var_1:cse_var_1 + 4] = A[cse_var_1:cse_var_1 + 4] + T.Broadcast(y, 4)
        """,
    )


def test_what_a_let_defines_is_shared_within_it() -> None:
    assert_eliminated(
        """
        z = x * y + 1
        A[z * 2 + x * y] = x * y + 1 + z * 2
        """,
        """
        cse_var_2: T.int32 = x * y
        cse_var_1: T.int32 = cse_var_2 + 1
        z: T.int32 = cse_var_1
        cse_var_3: T.int32 = z * 2
        A[cse_var_3 + cse_var_2] = cse_var_1 + cse_var_3
        """,
    )


def test_repeated_parts_of_a_condition_become_a_let_within_it() -> None:
    assert_eliminated(
        """
        if x * y + x * y < 20:
            A[x] = 1
        """,
        """
        if T.Let(cse_var_1 + cse_var_1 < 20, where={cse_var_1: x * y}):
            A[x] = 1
        """,
    )


def test_the_body_of_a_while_loop_is_a_region() -> None:
    assert_eliminated(
        """
        A[x * 3] = 0
        while A[x * 3] < 40:
            A[x * 3] = A[x * 3] + x * 3 + 1
        """,
        """
        cse_var_1: T.int32 = x * 3
        A[cse_var_1] = 0
        while A[cse_var_1] < 40:
            A[cse_var_1] = A[cse_var_1] + cse_var_1 + 1
        """,
    )


def test_indices_of_threads_are_left_alone() -> None:
    assert_eliminated(
        """
        t = T.launch_thread('threadIdx.x', 4)
        A[t * 4] = t * 4
        """
    )


def test_commuted_operands_are_not_the_same() -> None:
    assert_eliminated(
        """
        A[y + x] = x + y
        A[x + (y + 1)] = x + y + 1
        """,
        """
        cse_var_1: T.int32 = x + y
        A[y + x] = cse_var_1
        A[x + (y + 1)] = cse_var_1 + 1
        """,
    )


def test_commuted_operands_are_the_same_on_request() -> None:
    assert_eliminated(
        """
        A[y + x] = x + y
        A[x + (y + 1)] = x + y + 1
        """,
        """
        cse_var_2: T.int32 = x + y
        cse_var_1: T.int32 = cse_var_2 + 1
        A[cse_var_2] = cse_var_2
        A[cse_var_1] = cse_var_1
        """,
        each=CommonSubexprElimTIR(identify_equiv_terms=True),
    )


def test_what_is_equal_by_the_laws_of_arithmetic_is_computed_once() -> None:
    assert_eliminated(
        """
        A[x] = x * (y + x)
        A[y] = x * y + x * x
        """,
        """
        cse_var_1: T.int32 = x * y + x * x
        A[x] = cse_var_1
        A[y] = cse_var_1
        """,
        each=CommonSubexprElimTIR(identify_equiv_terms=True),
    )


def test_equal_expressions_that_hold_each_other_are_defined_in_an_order() -> None:
    assert_eliminated(
        """
        A[(x + y + 1) - 1] = x + y + 1
        A[(x + y) * 5] = (x + y + 1) * 3
        A[x + y + 1] = (x + y + 1) - 1
        """,
        """
        cse_var_1: T.int32 = x + y + 1
        cse_var_2: T.int32 = x + y
        A[cse_var_2] = cse_var_1
        A[cse_var_2 * 5] = cse_var_1 * 3
        A[cse_var_1] = cse_var_2
        """,
        each=CommonSubexprElimTIR(identify_equiv_terms=True),
    )


def test_differences_do_not_commute() -> None:
    assert_eliminated(
        """
        A[x] = x - y + (y - x)
        """,
        each=CommonSubexprElimTIR(identify_equiv_terms=True),
    )


def test_a_function_without_repetition_is_returned_as_it_is() -> None:
    assert_eliminated(
        """
        for i in range(4):
            A[i * 3] = x * 2
        """
    )


def test_comparisons_in_guards_do_not_count_outside() -> None:
    assert_eliminated(
        """
        if x * 9 < 30:
            A[x] = 1
        if x * 9 < 30:
            A[y] = 2
        """
    )


def test_it_can_be_switched_off() -> None:
    func = program("A[x * 2] = x * 2", PARAMS)
    assert apply(func, CommonSubexprElimTIR(enable_cse_tir=False)) is func
    assert apply(func, CommonSubexprElimTIR(), config={"tir.disable_cse_tir": True}) is func


def test_a_context_asks_for_commuted_operands() -> None:
    commuted, plain = program("A[y + x] = x + y", PARAMS), CommonSubexprElimTIR()
    assert apply(commuted, plain) is commuted
    assert apply(commuted, plain, config={"tir.enable_equiv_terms_in_cse_tir": True}) is not commuted


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
