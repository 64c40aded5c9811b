"""Types of operator calls: weights without a type, symbolic extents, and what is said where types do not fit."""

from __future__ import annotations

from typing import Any

import pytest

import compiler.relay
from compiler import tir
from compiler.ir import IRModule
from compiler.ir.origin import OriginTable, recording
from compiler.relay.inference import TypeInferenceError, infer_expr, infer_module
from compiler.relay.ty import TensorType, TupleType

relay: Any = compiler.relay


def _infer(expr: Any) -> tuple[dict[str, Any], Any]:
    """Return the types of the parameters by name, and that of the result."""
    func = infer_module(IRModule.from_expr(expr))["main"]
    return {p.name_hint: p.type_annotation for p in func.params}, func.ret_type


def test_weights_without_a_type() -> None:
    x, w = relay.var("x", shape=(1, 8)), relay.var("w")
    params, result = _infer(relay.nn.dense(x, w, units=4))
    assert params["w"] == TensorType((4, 8))
    assert result == TensorType((1, 4))

    image = relay.var("x", shape=(1, 3, 8, 8))
    params, result = _infer(relay.nn.conv2d(image, w, channels=6, kernel_size=(3, 3), padding=(1, 1), groups=3))
    assert params["w"] == TensorType((6, 1, 3, 3))
    assert result == TensorType((1, 6, 8, 8))


def test_statistics_of_batch_norm_without_a_type() -> None:
    x = relay.var("x", shape=(1, 3, 4, 4))
    stats = [relay.var(name) for name in ("gamma", "beta", "mean", "var")]
    out = relay.nn.batch_norm(x, *stats)
    params, result = _infer(out[0])
    assert {name: params[name] for name in ("gamma", "beta", "mean", "var")} == dict.fromkeys(
        ("gamma", "beta", "mean", "var"), TensorType((3,))
    )
    assert result == TensorType((1, 3, 4, 4))


def test_weights_whose_type_is_known_later() -> None:
    f, x, w = relay.var("f"), relay.var("x"), relay.var("w")
    layer = relay.Function([x, w], relay.nn.relu(relay.nn.dense(x, w, units=4)))
    data, weight = relay.var("data", shape=(2, 8)), relay.var("weight")
    params, result = _infer(relay.Function([data, weight], relay.Let(f, layer, f(data, weight))))
    assert params["weight"] == TensorType((4, 8))
    assert result == TensorType((2, 4))


def test_elements_of_what_is_known_later() -> None:
    f, x = relay.var("f"), relay.var("x")
    halves = relay.split(x, 2, axis=1)
    first = relay.Function([x], relay.nn.relu(halves[1]))
    program = relay.Let(f, first, f(relay.var("data", shape=(2, 8))))
    assert infer_expr(program) == TensorType((2, 4))


def test_unknown_and_symbolic_extents() -> None:
    n, w = tir.Var("n", "int64"), relay.var("w")
    for extent in (relay.Any(), n):
        x = relay.var("x", shape=(extent, 8))
        params, result = _infer(relay.nn.dense(x, w, units=4) + relay.const(1.0))
        assert params["w"] == TensorType((4, 8))
        assert result == TensorType((extent, 4))


def test_a_symbolic_extent_is_what_the_call_gives_it() -> None:
    n = tir.Var("n", "int64")
    a, b = relay.var("a", shape=(n, 8)), relay.var("b", shape=(n,))
    f = relay.GlobalVar("f")
    mod = IRModule({f: relay.Function([a, b], relay.Tuple([a, relay.nn.relu(b)]))})
    two, five = relay.var("two", shape=(2, 8)), relay.var("five", shape=(5,))
    same = relay.var("same", shape=(2,))
    assert infer_expr(f(two, same), mod) == TupleType((TensorType((2, 8)), TensorType((2,))))
    with pytest.raises(TypeInferenceError, match="call of @f: extent n is both 2 and 5"):
        infer_expr(f(two, five), mod)


def test_branches_that_agree_as_far_as_is_known() -> None:
    c, a = relay.var("c", "bool"), relay.var("a", shape=(3, 4))
    b = relay.var("b", shape=(relay.Any(), 4))
    assert infer_expr(relay.If(c, a, b)) == TensorType((relay.Any(), 4))
    with pytest.raises(TypeInferenceError, match="extents 3 and 5 differ"):
        infer_expr(relay.If(c, a, relay.var("d", shape=(5, 4))))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda v: relay.nn.dense(v(1, 8), v(4, 9)), ["nn.dense", "(1, 8)", "(4, 9)", "8 and 9 differ"]),
        (
            lambda v: relay.add(v(3, 4), v(5)),
            ["add", "(3, 4)", "(5", "cannot be broadcast: extents 4 and 5 differ and neither is 1"],
        ),
        (
            lambda v: relay.nn.conv2d(v(1, 3, 8, 8), v(4, 2, 3, 3)),
            ["nn.conv2d", "(1, 3, 8, 8)", "(4, 2, 3, 3)", "3 channels, the weight takes 2"],
        ),
        (
            lambda v: relay.concatenate([v(1, 8), v(1, 9)], axis=0),
            ["concatenate", "(1, 8)", "(1, 9)", "8 and 9 differ"],
        ),
        (lambda v: relay.add(v(3), relay.const(1)), ["add", "float32", "int32", "same data type"]),
        (lambda v: relay.add(v(3), relay.var("unknown")), ["add", "the type of rhs is unknown; annotate its variable"]),
    ],
)
def test_a_mismatch_names_operator_shapes_and_rule(call: Any, words: list[str]) -> None:
    with pytest.raises(TypeInferenceError) as caught:
        infer_expr(call(lambda *shape: relay.var("v", shape=shape)))
    for word in words:
        assert word in str(caught.value)


def test_a_mismatch_is_at_the_users_line() -> None:
    with recording(OriginTable()):
        x = relay.var("x", shape=(3, 4))
        wrong = relay.add(relay.nn.relu(x), relay.var("y", shape=(5,)))  # this line
        with pytest.raises(TypeInferenceError) as caught:
            infer_expr(relay.nn.relu(wrong))
    (found,) = caught.value.diagnostics
    assert found.location is not None
    with open(found.location.file, encoding="utf-8") as source:
        assert source.readlines()[found.location.line - 1].endswith("# this line\n")
    assert str(caught.value).startswith(f"type inference: {__file__}:{found.location.line}: add(")


def test_what_follows_from_an_error_is_no_error() -> None:
    x = relay.var("x", shape=(3,))
    wrong = relay.add(x, relay.var("y", shape=(5,)))
    more = relay.nn.relu(relay.concatenate([wrong, x], axis=0))
    with pytest.raises(TypeInferenceError) as caught:
        infer_expr(relay.Tuple([more, relay.add(x, relay.var("z", shape=(7,)))]))
    assert [d.message.split(":")[0] for d in caught.value.diagnostics] == ["add(lhs", "add(lhs"]


def test_types_are_found_node_by_node() -> None:
    value = relay.var("x", shape=(2, 3))
    for _ in range(2_000):
        value = relay.nn.relu(relay.transpose(value))
        infer_expr(value)
    assert infer_expr(value) == TensorType((2, 3))


def test_ten_thousand_operators() -> None:
    value = x = relay.var("x", shape=(2, 3))
    for _ in range(5_000):
        value = relay.nn.relu(relay.add(value, x))
    done = infer_module(IRModule.from_expr(value))
    assert done["main"].ret_type == TensorType((2, 3))
