"""Patterns of graphs: what they fit, what is moved into functions, how graphs are rewritten, as TVM 0.19 does it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.relay.dataflow_pattern import (
    CallPattern,
    DFPatternCallback,
    FunctionPattern,
    dominates,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    rewrite,
    wildcard,
)
from compiler.ir import structural_equal
from compiler.ir.error import ArgumentError, TVMError
from compiler.ir.op import Op
from compiler.relay.analysis import post_order
from compiler.relay.interpreter import Interpreter
from compiler.relay.operator import op_name

public: Any = relay
nn = public.nn
add = public.add

X, W = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
B, Y, Z = relay.var("b", shape=(4,)), relay.var("y", shape=(2,)), relay.var("z", shape=(2,))
CONV = nn.conv2d(X, W)
BIAS = nn.bias_add(CONV, B)
BLOCK = nn.relu(BIAS)

conv = is_op("nn.conv2d")(wildcard(), wildcard())
block = is_op("nn.relu")(is_op("nn.bias_add")(conv, wildcard()))
same = wildcard()
chain = dominates(conv, is_op("nn.relu")(wildcard()), is_op("add")(wildcard(), wildcard()))
RELU = nn.relu(CONV)
same_sum = is_op("add")(wildcard(), wildcard())
unary_or_sum = is_op("nn.relu")(wildcard()) | is_op("add")(wildcard(), wildcard())


@pytest.mark.parametrize(
    ("pattern", "expr", "fits"),
    [
        (block, BLOCK, True),
        (block, BIAS, False),
        (same + same, add(Y, Y), True),
        (same + same, add(Y, Z), False),
        (is_var("y") + is_var("z"), add(Z, Y), True),
        (is_var("y") - is_var("z"), public.subtract(Z, Y), False),
        (is_var(), Y, True),
        (is_constant(), relay.const(1), True),
        (is_constant() | is_var(), Y, True),
        (is_constant(), Y, False),
        (is_expr(relay.const(1.0)), relay.const(1.0), True),
        (is_op("nn.bias_add")(conv, wildcard()).optional(is_op("nn.relu")), BLOCK, True),
        (is_op("nn.bias_add")(conv, wildcard()).optional(is_op("nn.relu")), BIAS, True),
        (conv.has_attr({"groups": 1, "strides": [1, 1]}), CONV, True),
        (conv.has_attr({"groups": 2}), CONV, False),
        (wildcard().has_attr({"TOpPattern": 0}), Op.get("nn.relu"), True),
        (wildcard().has_attr({"TOpPattern": 4}), Op.get("nn.relu"), False),
        (wildcard().has_attr({"TOpPattern": 0})(None), nn.relu(Y), True),
        (CallPattern(is_op("nn.conv2d"), None), CONV, True),
        (is_tuple([is_var("y"), wildcard()]), relay.Tuple((Y, Z)), True),
        (is_tuple([wildcard()]), relay.Tuple((Y, Z)), False),
        (is_tuple(None), relay.Tuple((Y,)), True),
        (is_tuple_get_item(wildcard(), 1), relay.TupleGetItem(relay.Tuple((Y, Z)), 1), True),
        (is_tuple_get_item(wildcard(), 0), relay.TupleGetItem(relay.Tuple((Y, Z)), 1), False),
        (is_tuple_get_item(wildcard()), relay.TupleGetItem(relay.Tuple((Y, Z)), 1), True),
        (is_let(is_var("z"), wildcard(), wildcard()), relay.Let(Z, Y, Z), True),
        (is_if(is_constant(), wildcard(), wildcard()), relay.If(relay.const(True), Y, Z), True),
        (FunctionPattern([wildcard(), wildcard()], wildcard() + wildcard()), relay.Function((Y, Z), add(Y, Z)), True),
        (FunctionPattern([wildcard()], wildcard()), relay.Function((Y, Z), add(Y, Z)), False),
        (has_type(relay.TensorType((2,))), add(Y, Y), True),
        (has_type(relay.TensorType((3,))), add(Y, Y), False),
        (has_shape((1, 4, 6, 6)), CONV, True),
        (has_shape((1, 4, 6)), CONV, False),
        (has_dtype("float32", conv), CONV, True),
        (has_dtype("int8"), CONV, False),
        (chain, add(RELU, nn.relu(nn.relu(CONV))), True),
        (chain, add(RELU, Y), True),
        (chain, add(RELU, CONV), True),
        (chain, add(RELU, nn.softmax(CONV)), False),
        (chain, add(RELU, nn.softmax(X)), False),
        (chain, add(RELU, nn.relu(X)), False),
        (chain, add(RELU, nn.relu(nn.conv2d(Z, W))), False),
        (chain, add(CONV, nn.conv2d(Z, W)), False),
        (chain, add(nn.conv2d(RELU, W), RELU), False),
        (chain, add(CONV, CONV), True),
        (chain, add(Y, Z), False),
        (dominates(conv, unary_or_sum, same_sum), add(nn.relu(add(CONV, B)), RELU), True),
        (dominates(conv, unary_or_sum, same_sum), add(nn.relu(add(CONV, nn.softmax(X))), RELU), False),
        (dominates(wildcard(), is_op("nn.relu")(wildcard()), same_sum), add(RELU, nn.relu(nn.relu(CONV))), False),
        (dominates(is_var(), is_op("nn.relu")(wildcard()), same_sum), add(nn.relu(Y), nn.relu(Y)), False),
    ],
)
def test_what_fits(pattern: Any, expr: Any, fits: bool) -> None:
    assert pattern.match(expr) is fits


def test_what_fits_becomes_a_function() -> None:
    x, w, b = (relay.var(name) for name in "xwb")
    value = nn.relu(nn.bias_add(nn.conv2d(x, w), b))
    found = block.partition(add(value, value), {"Composite": "block"})
    assert str(found).split("\n")[3:] == [
        "%2 = fn (%FunctionVar_0_0, %FunctionVar_0_1, %FunctionVar_0_2, "
        'PartitionedFromPattern="nn.conv2d_nn.bias_add_nn.relu_", Composite="block") {',
        "  %0 = nn.conv2d(%FunctionVar_0_0, %FunctionVar_0_1, padding=[0, 0, 0, 0]);",
        "  %1 = nn.bias_add(%0, %FunctionVar_0_2);",
        "  nn.relu(%1)",
        "};",
        "%3 = %2(%x, %w, %b);",
        "add(%3, %3)",
    ]


def test_what_is_used_outside_or_not_wanted_stays() -> None:
    expr = relay.Tuple((BLOCK, CONV))
    assert block.partition(expr) is expr
    assert block.partition(BLOCK, check=lambda found: False) is BLOCK


def test_chains_of_any_length_and_named_constants_move_inside() -> None:
    chained = chain.partition(add(RELU, nn.relu(nn.relu(CONV))))
    assert chained.op.attrs.PartitionedFromPattern == "nn.conv2d_nn.relu_nn.relu_nn.relu_add_"
    weight = relay.const(np.ones((4, 3, 3, 3), "float32"))
    call = nn.conv2d(X, weight)
    assert len(is_op("nn.conv2d")(wildcard(), is_constant()).partition(call).args) == 1
    assert conv.partition(call).args[1] is weight


def test_partitioned_graphs_compute_the_same() -> None:
    rng = np.random.default_rng(3)
    values = [rng.standard_normal(shape).astype("float32") for shape in [(1, 3, 8, 8), (4, 3, 3, 3), (4,)]]
    whole = add(BLOCK, nn.relu(add(BLOCK, BIAS)))
    parts = (is_op("nn.relu")(wildcard() + wildcard())).partition(is_op("nn.bias_add")(conv, same).partition(whole))
    assert not structural_equal(whole, parts)
    before, after = (Interpreter().evaluate(relay.Function((X, W, B), e), values) for e in (whole, parts))
    np.testing.assert_array_equal(before, after)


class OneRelu(DFPatternCallback):
    """``relu(relu(x))`` is ``relu(x)``."""

    def __init__(self, **options: bool) -> None:
        super().__init__(**options)
        self.x = wildcard()
        self.pattern = is_op("nn.relu")(is_op("nn.relu")(self.x))

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        return nn.relu(node_map[self.x][0])


class Turn(DFPatternCallback):
    """The axis of a softmax changes between 0 and 1, for ever if it is let."""

    pattern = is_op("nn.softmax")(wildcard())

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        return nn.softmax(post.args[0], axis=1 - post.attrs.axis)


def test_rewriting_goes_on_until_nothing_changes() -> None:
    value: Any = Y
    for _ in range(5):
        value = nn.relu(value)
    assert structural_equal(rewrite(OneRelu(), value), nn.relu(Y))
    assert structural_equal(OneRelu().rewrite(nn.softmax(value)), nn.softmax(nn.relu(Y)))
    assert OneRelu().rewrite(add(Y, Y)) is not None


def test_rewriting_once_and_for_ever() -> None:
    once = rewrite(Turn(rewrite_once=True), nn.softmax(Y, axis=0))
    assert structural_equal(once, nn.softmax(Y, axis=1))
    with pytest.raises(ArgumentError, match="still changes after 100 rounds"):
        rewrite(Turn(), nn.softmax(Y, axis=0))


def test_types_are_there_when_a_callback_wants_them() -> None:
    class Widths(DFPatternCallback):
        pattern = is_op("nn.relu")(wildcard())

        def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
            return add(post, relay.const(np.zeros(pre.checked_type.concrete_shape, "float32")))

    found = rewrite(Widths(require_type=True, rewrite_once=True), nn.relu(add(Y, Z)))
    assert found.args[1].data.shape == (2,)


def test_a_callback_that_requires_types_sees_those_of_what_it_has_just_made() -> None:
    class Doubled(DFPatternCallback):
        pattern = is_op("nn.relu")(wildcard())

        def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
            return add(post, relay.const(np.zeros(post.checked_type.concrete_shape, "float32")))

    found = rewrite(Doubled(require_type=True, rewrite_once=True), nn.relu(nn.relu(add(Y, Z))))
    assert [found.args[1].data.shape, found.args[0].args[0].args[1].data.shape] == [(2,), (2,)]


def test_wrong_uses_are_named() -> None:
    with pytest.raises(TVMError, match="no operator is named 'nope'"):
        is_op("nope")
    wrong: Any = 3
    with pytest.raises(ArgumentError, match="pattern: call takes patterns, got int 3"):
        is_op("nn.relu")(wrong)


def test_variables_of_functions_that_move_inside_stay_theirs() -> None:
    x, w, b, inner_x, inner_w = (relay.var(name) for name in ("x", "w", "b", "inner_x", "inner_w"))
    function = relay.Function([inner_x, inner_w], nn.conv2d(inner_x, inner_w))
    first, second = wildcard(), wildcard()
    taken_apart = FunctionPattern([first, second], is_op("nn.conv2d")(first, second))
    for callee in (taken_apart, wildcard()):
        moved = (callee(wildcard(), wildcard()) + wildcard()).partition(add(function(x, w), b))
        assert list(moved.args) == [x, w, b]
        assert relay.analysis.free_vars(moved) == [x, w, b]
        assert relay.analysis.free_vars(moved.op) == []
        assert moved.op.attrs.PartitionedFromPattern == "nn.conv2d_FunctionCall_add_"


@pytest.mark.parametrize(
    ("pattern", "expr", "name"),
    [
        (
            is_tuple([same_sum, is_op("nn.relu")(wildcard())]),
            relay.Tuple([add(Y, Z), nn.relu(B)]),
            "add_nn.relu_Tuple_",
        ),
        (is_tuple_get_item(is_op("split")(wildcard()), 1), relay.split(Y, 2)[1], "split_TupleGetItem1_"),
        (is_if(wildcard(), same_sum, wildcard()), relay.If(relay.var("c"), add(Y, Z), Y), "add_If_"),
        (is_let(is_var(), same_sum, wildcard()), relay.Let(B, add(Y, Z), B), "add_Let_"),
    ],
)
def test_the_function_says_what_it_is_made_of(pattern: Any, expr: Any, name: str) -> None:
    moved = pattern.partition(expr)
    assert moved.op.attrs.PartitionedFromPattern == name
    assert relay.analysis.free_vars(moved.op) == []
    assert set(relay.analysis.free_vars(moved)) == set(relay.analysis.free_vars(expr))


def test_a_function_whose_body_is_left_open_moves_as_it_is() -> None:
    x1, w1 = relay.var("x1", shape=(1, 3, 8, 8)), relay.var("w1", shape=(4, 3, 3, 3))
    b = relay.var("b", shape=(1, 4, 6, 6))
    called = relay.Call(relay.Function([x1, w1], nn.conv2d(x1, w1)), [X, W])
    pattern = FunctionPattern([wildcard(), wildcard()], wildcard())(wildcard(), wildcard()) + wildcard()
    moved = pattern.partition(add(called, b))
    assert set(public.analysis.free_vars(moved)) == {X, W, b}
    assert moved.op.attrs["PartitionedFromPattern"] == "nn.conv2d_FunctionCall_add_"


def test_inputs_of_a_partition_are_in_the_order_of_evaluation() -> None:
    scale, shift, data = (relay.var(name, shape=(2,)) for name in ("scale", "shift", "data"))
    moved = (wildcard() * (wildcard() - wildcard())).partition(public.multiply(scale, public.subtract(data, shift)))
    assert list(moved.args) == [scale, data, shift]


def test_products_and_quotients_match_in_any_association() -> None:
    a, b, c = (relay.var(name, shape=(2,)) for name in "abc")
    p, q, r = wildcard(), wildcard(), wildcard()
    written = is_op("divide")(is_op("multiply")(p, q), r)
    for expr in (a * b / c, a * (b / c), (a / c) * b):
        assert written.match(expr)
    assert not written.match(a / (b * c))
    assert is_op("multiply")(is_op("divide")(p, q), r).match(a * b / c)


def test_what_was_partitioned_is_left_alone() -> None:
    x = relay.var("x", shape=(2,))
    pattern = is_op("exp")(wildcard())
    once = pattern.partition(relay.exp(relay.negative(x)), {"Composite": "first"})
    assert structural_equal(pattern.partition(once, {"Composite": "second"}), once)


def test_patterns_that_refer_to_themselves() -> None:
    rest = wildcard()
    chain = is_op("nn.relu")(rest) | is_var()
    rest.redirect_to(chain)
    assert [chain.match(e) for e in (X, nn.relu(X), nn.relu(nn.relu(nn.relu(X))))] == [True] * 3
    assert not chain.match(nn.relu(public.exp(X)))
    assert str(rest) == "WildcardPattern()"
    first = wildcard()
    total = is_op("add")(first, wildcard())
    first.redirect_to(is_op("nn.relu")(wildcard()))
    assert total.match(add(nn.relu(Y), Z))
    assert not total.match(add(Y, Z))


def test_parameters_stand_in_the_order_of_the_pattern() -> None:
    x, y, z = (relay.var(name, shape=(2,)) for name in "xyz")
    inner, outer = wildcard(), wildcard()
    pattern = is_op("add")(is_op("multiply")(inner, wildcard()), outer)
    for written in (add(relay.multiply(x, y), z), add(z, relay.multiply(x, y))):
        assert pattern.partition(written).args == (x, y, z)
    both = is_op("concatenate")(is_tuple(None))
    assert both.partition(relay.concatenate([y, x, y], 0)).args == (y, x)


def _chain(depth: int, *functions: Any) -> Any:
    made = nn.dense(relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3)))
    for step in range(depth):
        made = functions[step % len(functions)](made)
    return made


def _relus() -> Any:
    rest = wildcard()
    chain = is_op("nn.relu")(rest)
    rest.redirect_to(chain | is_op("nn.dense")(wildcard(), wildcard()))
    return chain


def _of_itself_first() -> Any:
    rest = wildcard()
    chain = rest | is_op("nn.relu")(rest) | is_op("nn.dense")(wildcard(), wildcard())
    rest.redirect_to(chain)
    return chain


def _in_turn() -> Any:
    first, second = wildcard(), wildcard()
    relu, tanh = is_op("nn.relu")(first), is_op("tanh")(second)
    begin = is_op("nn.dense")(wildcard(), wildcard())
    first.redirect_to(tanh | begin)
    second.redirect_to(relu | begin)
    return relu | tanh


def _layers() -> Any:
    rest = wildcard()
    chain = is_op("nn.dense")(rest, wildcard())
    rest.redirect_to(chain | is_var())
    return chain


class _Exp(DFPatternCallback):
    def __init__(self, pattern: Any) -> None:
        super().__init__(rewrite_once=True)
        self.pattern = pattern

    def callback(self, pre: Any, post: Any, node_map: Any) -> Any:
        return public.exp(post)


@pytest.mark.parametrize(
    ("pattern", "expr", "whole", "inside"),
    [
        (_relus, lambda: _chain(3, nn.relu), True, ["nn.dense_nn.relu_nn.relu_nn.relu_"]),
        (_relus, lambda: _chain(0, nn.relu), False, []),
        (_of_itself_first, lambda: _chain(2, nn.relu), True, ["nn.dense_nn.relu_nn.relu_"]),
        (_in_turn, lambda: _chain(4, nn.relu, public.tanh), True, ["nn.dense_nn.relu_tanh_nn.relu_tanh_"]),
        (_in_turn, lambda: _chain(3, nn.relu), False, ["nn.dense_nn.relu_"]),
        # One weight is one in all layers, as the pattern of it is one object; TVM 0.19 says so too.
        (_layers, lambda: _chain(2, lambda e: nn.dense(e, W)), False, ["nn.dense_"]),
        (_layers, lambda: nn.dense(nn.dense(X, W), W), True, ["nn.dense_nn.dense_"]),
    ],
)
def test_patterns_in_cycles_match_partition_and_rewrite(pattern: Any, expr: Any, whole: bool, inside: Any) -> None:
    assert pattern().match(expr()) == whole
    moved = pattern().partition(expr())
    functions = [e for e in post_order(moved) if isinstance(e, relay.Function)]
    assert [f.attrs["PartitionedFromPattern"] for f in functions] == inside
    rewritten = rewrite(_Exp(pattern()), expr())
    assert sum(op_name(e) == "exp" for e in post_order(rewritten)) == len(inside)


def test_a_pattern_that_is_only_itself_matches_nothing() -> None:
    alone = wildcard()
    alone.redirect_to(alone)
    assert not alone.match(X)
    assert structural_equal(alone.partition(nn.relu(X)), nn.relu(X))


def test_a_chain_of_any_length_matches() -> None:
    expr = _chain(3000, nn.relu)
    assert _relus().match(expr)
    (function,) = [e for e in post_order(_relus().partition(expr)) if isinstance(e, relay.Function)]
    assert len(function.params) == 2
