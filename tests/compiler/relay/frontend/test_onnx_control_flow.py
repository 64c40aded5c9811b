"""Branches, loops, functions and shapes that are computed: what is left of them in the graph, and its values."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler import relay
from compiler.ir.error import TVMError
from compiler.relay.expr import If, Let, TupleGetItem
from compiler.relay.frontend import from_onnx
from compiler.relay.frontend.onnx import ConversionError
from compiler.relay.interpreter import Interpreter

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def _value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def _constant(name, value):
    return numpy_helper.from_array(np.asarray(value), name)


def _model(nodes, inputs, outputs=("y",), weights=(), **more):
    graph = helper.make_graph(nodes, "g", inputs, [_value(name) for name in outputs], list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], **more)


def _run(mod, **values):
    return Interpreter(mod).evaluate("main", {name: np.asarray(value) for name, value in values.items()})


def _branches():
    then = helper.make_graph([helper.make_node("Neg", ["x"], ["t"])], "then", [], [_value("t")])
    other = helper.make_graph([helper.make_node("Exp", ["x"], ["e"])], "else", [], [_value("e")])
    return {"then_branch": then, "else_branch": other}


X = np.array([1.0, -2.0, 3.0], np.float32)


@pytest.mark.parametrize(("known", "want"), [(True, -X), (False, np.exp(X))])
def test_a_known_condition_takes_its_branch(known, want):
    node = helper.make_node("If", ["c"], ["y"], **_branches())
    mod, _ = from_onnx(_model([node], [_value("x", shape=[3])], weights=[_constant("c", known)]))
    assert mod["main"].body.op.name == ("negative" if known else "exp")
    np.testing.assert_allclose(_run(mod, x=X), want, rtol=1e-6)


def test_an_unknown_condition_stays_a_branch():
    node = helper.make_node("If", ["c"], ["y"], **_branches())
    mod, _ = from_onnx(_model([node], [_value("x", shape=[3]), _value("c", BOOL, [])]))
    body = mod["main"].body
    assert isinstance(body, TupleGetItem)
    assert isinstance(body.tuple_value, If)
    np.testing.assert_allclose(_run(mod, x=X, c=True), -X)
    np.testing.assert_allclose(_run(mod, x=X, c=False), np.exp(X), rtol=1e-6)


def _if_with(node):
    """Return a model whose first branch does something more to its result."""
    branches = _branches()
    branches["then_branch"].node.append(node)
    branches["then_branch"].output[0].name = node.output[0]
    whole = helper.make_node("If", ["c"], ["y"], name="branch", **branches)
    twice = helper.make_node("Add", ["y", "y"], ["z"])
    first = _constant("first", np.array([0]))
    return _model([whole, twice], [_value("x", shape=[3]), _value("c", BOOL, [])], ["z"], [first])


@pytest.mark.parametrize("executor", ["debug", "vm"])
def test_branches_may_have_different_extents(executor):
    mod, _ = from_onnx(_if_with(helper.make_node("Concat", ["t", "t"], ["tt"], axis=0)))
    assert mod["main"].checked_type.ret_type == relay.TensorType((relay.Any(),), "float32")
    run = relay.create_executor(executor, mod=mod).evaluate()
    np.testing.assert_allclose(run(X, np.array(True)).numpy(), np.tile(-2 * X, 2))
    np.testing.assert_allclose(run(X, np.array(False)).numpy(), 2 * np.exp(X), rtol=1e-6)


def test_branches_of_different_ranks_need_a_known_condition():
    with pytest.raises(ConversionError, match=r"'branch' .If.: output 0 is .*(1, 3).*(3).*known only at run time"):
        from_onnx(_if_with(helper.make_node("Unsqueeze", ["t", "first"], ["tt"])))


def _loop(stop_after=None):
    """``v`` doubles in each turn, and each turn's is kept; going on may depend on the turn's number."""
    nodes = [helper.make_node("Add", ["v", "v"], ["next"]), helper.make_node("Identity", ["next"], ["kept"])]
    weights = []
    if stop_after is None:
        nodes.append(helper.make_node("Identity", ["going"], ["on"]))
    else:
        weights.append(_constant("last", np.int64(stop_after)))
        nodes.append(helper.make_node("Less", ["turn", "last"], ["on"]))
    inputs = [_value("turn", INT64, []), _value("going", BOOL, []), _value("v")]
    return helper.make_graph(nodes, "body", inputs, [_value("on", BOOL, []), _value("next"), _value("kept")], weights)


@pytest.mark.parametrize(("stop_after", "turns"), [(None, 3), (1, 2)])
def test_a_loop_with_a_known_number_of_turns_is_unrolled(stop_after, turns):
    node = helper.make_node("Loop", ["n", "", "x"], ["y", "all"], body=_loop(stop_after))
    mod, _ = from_onnx(_model([node], [_value("x", shape=[3])], ("y", "all"), weights=[_constant("n", np.int64(3))]))
    final, kept = _run(mod, x=X)
    np.testing.assert_allclose(final, X * 2**turns)
    np.testing.assert_allclose(kept, np.stack([X * 2**i for i in range(1, turns + 1)]))


@pytest.mark.parametrize("stop_after", [None, 2])
@pytest.mark.parametrize("turns", [0, 1, 5])
@pytest.mark.parametrize("executor", ["debug", "vm"])
def test_a_loop_with_an_unknown_number_of_turns_runs(stop_after, turns, executor):
    node = helper.make_node("Loop", ["n", "", "x"], ["y", "all"], name="loop", body=_loop(stop_after))
    mod, _ = from_onnx(_model([node], [_value("x", shape=[3]), _value("n", INT64, [])], ("y", "all")))
    final, each = relay.create_executor(executor, mod=mod).evaluate()(X, np.int64(turns))
    done = turns if stop_after is None else min(turns, stop_after + 1)
    np.testing.assert_allclose(final.numpy(), X * 2**done)
    np.testing.assert_allclose(each.numpy(), np.array([X * 2**i for i in range(1, done + 1)]).reshape(-1, 3))


def test_what_a_loop_reads_from_outside_is_computed_before_it():
    nodes = [helper.make_node("Identity", ["going"], ["on"]), helper.make_node("Add", ["v", "product"], ["next"])]
    inputs = [_value("turn", INT64, []), _value("going", BOOL, []), _value("v", shape=[2, 3])]
    body = helper.make_graph(nodes, "body", inputs, [_value("on", BOOL, []), _value("next")])
    before = helper.make_node("MatMul", ["x", "w"], ["product"])
    node = helper.make_node("Loop", ["n", "", "start"], ["y"], name="loop", body=body)
    given = [_value("x", shape=[2, 1]), _value("start", shape=[2, 3]), _value("n", INT64, [])]
    mod, _ = from_onnx(_model([before, node], given, weights=[_constant("w", np.float32([[1, 2, 3]]))]))
    whole = mod["main"].body.tuple_value
    assert isinstance(whole, Let)
    assert whole.value.op.name == "nn.dense"
    assert "dense" not in str(whole.body.value), "the loop has a name for it"
    x, start = np.float32([[1], [2]]), np.zeros((2, 3), np.float32)
    for turns in (0, 4):
        found = relay.create_executor("vm", mod=mod).evaluate()(x, start, np.int64(turns))
        np.testing.assert_allclose(found.numpy(), turns * x @ np.float32([[1, 2, 3]]))


def test_a_loop_until_a_computed_condition_fails():
    """Doubles until the sum exceeds a hundred; the number of turns follows from the data."""
    nodes = [
        helper.make_node("Add", ["v", "v"], ["next"]),
        helper.make_node("ReduceSum", ["next"], ["sum"], keepdims=0),
        helper.make_node("Less", ["sum", "limit"], ["on"]),
    ]
    inputs = [_value("turn", INT64, []), _value("going", BOOL, []), _value("v")]
    limit = [_constant("limit", np.float32(100))]
    body = helper.make_graph(nodes, "body", inputs, [_value("on", BOOL, []), _value("next")], limit)
    node = helper.make_node("Loop", ["", "", "x"], ["y"], name="loop", body=body)
    mod, _ = from_onnx(_model([node], [_value("x", shape=[2])]))
    for start in ([1, 2], [60, 1], [0.5, 0.1]):
        x = np.array(start, "float32")
        want = x * 2
        while want.sum() < 100:
            want = want * 2
        np.testing.assert_allclose(_run(mod, x=x), want, rtol=1e-6)


def test_a_carried_value_may_grow():
    nodes = [
        helper.make_node("Concat", ["v", "one"], ["next"], axis=0),
        helper.make_node("Identity", ["going"], ["on"]),
    ]
    inputs = [_value("turn", INT64, []), _value("going", BOOL, []), _value("v")]
    one = [_constant("one", np.ones(1, "float32"))]
    body = helper.make_graph(nodes, "body", inputs, [_value("on", BOOL, []), _value("next")], one)
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], name="loop", body=body)
    mod, _ = from_onnx(_model([node], [_value("x", shape=[3]), _value("n", INT64, [])]))
    np.testing.assert_allclose(_run(mod, x=X, n=np.int64(4)), [*X, 1, 1, 1, 1])


def test_a_carried_value_keeps_its_data_type():
    nodes = [helper.make_node("Cast", ["v"], ["next"], to=INT64), helper.make_node("Identity", ["going"], ["on"])]
    inputs = [_value("turn", INT64, []), _value("going", BOOL, []), _value("v")]
    body = helper.make_graph(nodes, "body", inputs, [_value("on", BOOL, []), _value("next", INT64)])
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], name="loop", body=body)
    with pytest.raises(ConversionError, match=r"'loop' .Loop.: loop-carried value 0 is .*float32.* and .*int64"):
        from_onnx(_model([node], [_value("x", shape=[3]), _value("n", INT64, [])]))


def test_a_loop_without_end_is_refused():
    node = helper.make_node("Loop", ["", "", "x"], ["y", "all"], name="loop", body=_loop())
    with pytest.raises(ConversionError, match="more than 4096 iterations"):
        from_onnx(_model([node], [_value("x", shape=[1])], ("y", "all")))


def test_scan_backwards():
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Identity", ["t"], ["o"])],
        "body",
        [_value("s"), _value("e")],
        [_value("t"), _value("o")],
    )
    node = helper.make_node(
        "Scan", ["zero", "x"], ["y", "all"], body=body, num_scan_inputs=1, scan_input_directions=[1]
    )
    mod, _ = from_onnx(_model([node], [_value("x", shape=[3])], ("y", "all"), [_constant("zero", np.float32(0))]))
    total, running = _run(mod, x=X)
    np.testing.assert_allclose(total, X.sum())
    np.testing.assert_allclose(running, np.cumsum(X[::-1]))


def test_functions_of_a_model_with_their_attributes():
    scaled = helper.make_node("LeakyRelu", ["a"], ["b"])
    scaled.attribute.add(name="alpha", ref_attr_name="slope", type=1)
    function = helper.make_function("own", "F", ["a"], ["b"], [scaled], [helper.make_opsetid("", 18)], ["slope"])
    node = helper.make_node("F", ["x"], ["y"], domain="own", slope=0.25)
    model = _model([node], [_value("x", shape=[3])], functions=[function])
    model.opset_import.append(helper.make_opsetid("own", 1))
    mod, _ = from_onnx(model)
    np.testing.assert_allclose(_run(mod, x=X), np.where(X < 0, X * 0.25, X))


def test_functions_of_the_standard_stand_in_for_converters():
    node = helper.make_node("Shrink", ["x"], ["y"], lambd=1.5, bias=0.5)
    mod, _ = from_onnx(_model([node], [_value("x", shape=[3])]))
    np.testing.assert_allclose(_run(mod, x=X), [0.0, -1.5, 2.5])


def test_arithmetic_on_shapes_becomes_constants():
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "one"], ["width"]),
        helper.make_node("Mul", ["width", "two"], ["double"]),
        helper.make_node("ConstantOfShape", ["double"], ["y"]),
    ]
    weights = [_constant("one", np.array([1])), _constant("two", np.array([2]))]
    mod, _ = from_onnx(_model(nodes, [_value("x", shape=[3, 4])], weights=weights))
    np.testing.assert_array_equal(mod["main"].body.value, np.zeros(8, np.float32))


def test_old_and_new_operator_sets_mean_different_things():
    """Before 13 the axes from ``axis`` on are normalised together."""
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    node = helper.make_node("Softmax", ["x"], ["y"], axis=1)
    model = _model([node], [_value("x", shape=[2, 3, 4])])
    powers = np.exp(x)
    new = _run(from_onnx(model)[0], x=x)
    np.testing.assert_allclose(new, powers / powers.sum(1, keepdims=True), rtol=1e-5)
    old = _run(from_onnx(model, opset=11)[0], x=x)
    np.testing.assert_allclose(old, powers / powers.sum((1, 2), keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("times", [1, 3])
def test_expand_beside_an_extent_that_only_a_run_knows(times):
    """Keys that several queries share, in a cache that grows: what is repeated does not depend on its length."""
    nodes = [
        helper.make_node("Concat", ["cache", "key"], ["keys"], axis=1),
        helper.make_node("Unsqueeze", ["keys", "axis"], ["heads"]),
        helper.make_node("Shape", ["keys"], ["length"], start=1, end=2),
        helper.make_node("Concat", ["repeats", "length", "width"], ["shape"], axis=0),
        helper.make_node("Expand", ["heads", "shape"], ["y"]),
    ]
    weights = {"axis": [1], "repeats": [2, times], "width": [4]}
    inputs = [_value("cache", shape=[2, "past", 4]), _value("key", shape=[2, 1, 4])]
    mod, _ = from_onnx(_model(nodes, inputs, weights=[_constant(k, np.array(v)) for k, v in weights.items()]))
    run = relay.create_executor("vm", mod=mod).evaluate()
    for past in (0, 3):
        cache, key = np.random.default_rng(past).random((2, past, 4), "float32"), np.ones((2, 1, 4), "float32")
        want = np.concatenate([cache, key], 1)[:, None]
        for _ in range(2):  # by NumPy, then by machine code
            np.testing.assert_array_equal(run(cache, key).numpy(), np.tile(want, (1, times, 1, 1)))


def test_expand_repeats_an_extent_that_turns_out_to_be_one():
    nodes = [helper.make_node("Expand", ["x", "shape"], ["y"])]
    mod, _ = from_onnx(_model(nodes, [_value("x", shape=["n", 2])], weights=[_constant("shape", np.array([4, 2]))]))
    run = relay.create_executor("vm", mod=mod).evaluate()
    for rows in (1, 4):
        x = np.arange(2.0 * rows, dtype="float32").reshape(rows, 2)
        np.testing.assert_array_equal(run(x).numpy(), np.broadcast_to(x, (4, 2)))


def test_extents_that_a_run_computes_are_not_taken_for_each_other():
    """The first extent of a tensor of unknown shape stands second in a new shape, where another one stood."""
    nodes = [
        helper.make_node("Reshape", ["x", "size"], ["whole"]),
        helper.make_node("Shape", ["whole"], ["first"], start=0, end=1),
        helper.make_node("Transpose", ["whole"], ["turned"], perm=[1, 2, 0]),
        helper.make_node("Concat", ["free", "first", "six"], ["shape"], axis=0),
        helper.make_node("Reshape", ["turned", "shape"], ["y"]),
    ]
    weights = [_constant("free", np.array([-1])), _constant("six", np.array([6]))]
    mod, _ = from_onnx(_model(nodes, [_value("x", shape=[24]), _value("size", INT64, [3])], weights=weights))
    x = np.arange(24, dtype="float32")
    want = x.reshape(2, 3, 4).transpose(1, 2, 0).reshape(2, 2, 6)
    np.testing.assert_array_equal(_run(mod, x=x, size=[2, 3, 4]), want)


def test_a_branch_that_was_not_taken_has_other_extents():
    nodes = [
        helper.make_node("Reshape", ["x", "few"], ["u"]),
        helper.make_node("Reshape", ["w", "many"], ["v"]),
        helper.make_node(
            "If",
            ["c"],
            ["chosen"],
            then_branch=helper.make_graph([helper.make_node("Neg", ["u"], ["t"])], "then", [], [_value("t")]),
            else_branch=helper.make_graph([helper.make_node("Neg", ["v"], ["e"])], "else", [], [_value("e")]),
        ),
        helper.make_node("Shape", ["chosen"], ["shape"]),
        helper.make_node("Expand", ["u", "shape"], ["y"]),
    ]
    sizes = [_value("few", INT64, [1]), _value("many", INT64, [1])]
    inputs = [_value("x", shape=[1]), _value("w", shape=[3]), _value("c", BOOL, []), *sizes]
    mod, _ = from_onnx(_model(nodes, inputs))
    for taken, want in ((True, [5]), (False, [5, 5, 5])):
        result = _run(mod, x=np.array([5], "float32"), w=X, c=taken, few=[1], many=[3])
        np.testing.assert_array_equal(result, want)


def _branches_by_width(*widths):
    """Return a model whose branches each multiply one input by weights for a width of their own."""

    def branch(n):
        node = helper.make_node("MatMul", ["x", f"w{n}"], [f"y{n}"], name=f"product{n}")
        return helper.make_graph([node], f"b{n}", [], [_value(f"y{n}")])

    weights = [_constant(f"w{n}", np.full((n, 2), n, np.float32)) for n in widths]
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch(widths[0]), else_branch=branch(widths[1]))
    return _model([node], [_value("x", shape=["b", "t"]), _value("c", BOOL, [])], weights=weights)


@pytest.mark.parametrize("executor", ["debug", "vm"])
@pytest.mark.parametrize("width", [4, 8])
@pytest.mark.parametrize("rows", [1, relay.Any()])
def test_a_branch_for_inputs_of_another_width_fails_only_where_it_is_taken(executor, width, rows):
    mod, params = from_onnx(_branches_by_width(4, 8), {"x": (rows, width)})
    run = relay.create_executor(executor, mod=mod).evaluate()
    x = np.ones((1, width), np.float32)
    np.testing.assert_allclose(run(x, np.array(width == 4), **params).numpy(), np.full((1, 2), width * width))
    with pytest.raises(TVMError, match=f"product{12 - width}.* this branch does not fit the shapes"):
        run(x, np.array(width == 8), **params)


def test_a_model_of_which_no_branch_fits_is_refused():
    with pytest.raises(ConversionError, match=r"no branch fits the given shapes.*product4.*product8"):
        from_onnx(_branches_by_width(4, 8), {"x": (1, 5)})
