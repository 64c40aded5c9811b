"""Programs written as JSON and read back."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest

from compiler import relay, te, tir
from compiler.classic.testing.relay import mlp
from compiler.ir import load_json, make_node, save_json
from compiler.ir.error import ArgumentError, AttrsError, TVMError
from compiler.ir.node import Node
from compiler.ir.op import Op
from compiler.ir.structural import assert_structural_equal, structural_equal, structural_hash
from compiler.runtime.arrays.ndarray import NDArray, array
from compiler.runtime.modules.packed_func import register_func
from compiler.target.target import Target


def _same_after_reading(thing: object) -> object:
    read = load_json(save_json(thing))
    assert_structural_equal(read, thing, map_free_vars=True)
    assert structural_hash(read, map_free_vars=True) == structural_hash(thing, map_free_vars=True)
    return read


def test_what_is_used_twice_stays_one_thing() -> None:
    x = te.var("x")
    product = x * x
    read = load_json(save_json([product, product, x]))
    assert read[0] is read[1]
    assert read[0].a is read[0].b is read[2]
    assert read[2] is not x


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan, -0.0, 1e-45, 3.4e38])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_constants_keep_their_bits(value: float, dtype: str) -> None:
    read = _same_after_reading(tir.const(value, dtype))
    assert np.float64(read.value).tobytes() == np.float64(value).tobytes()  # type: ignore[attr-defined]


def test_texts_of_any_sort() -> None:
    text = 'tab\t, control \x01, quote ", backslash \\, ünï, \U0001f600'
    assert load_json(save_json(text)) == text
    assert load_json(save_json({"key": [text, 1, None, True]})) == {"key": [text, 1, None, True]}


def _matmul() -> te.Schedule:
    a, b = (te.placeholder((16, 16), name=name) for name in "AB")
    k = te.reduce_axis((0, 16), "k")
    c = te.compute((16, 16), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_schedule(c.op)


def test_tensors_keep_their_operations() -> None:
    c = _matmul().outputs[0].output(0)
    read = load_json(save_json([c, c.op.input_tensors[0]]))
    assert read[0].op.body[0].source[0].a.producer is read[1]
    assert read[0].op.output(0) is read[0]


def test_lowered_functions_and_graphs() -> None:
    from compiler.driver.lower import lower

    schedule = _matmul()
    c = schedule.outputs[0].output(0)
    _, xi = schedule[c].split(c.op.axis[1], 8)
    schedule[c].vectorize(xi)
    _same_after_reading(lower(schedule, [*c.op.input_tensors, c]))
    module, params = mlp.get_workload(2)
    read = _same_after_reading(relay.transform.InferType()(module))
    assert read["main"].body.checked_type == module["main"].checked_type.ret_type  # type: ignore[index]
    some = next(iter(params.values()))
    assert (load_json(save_json(some)).numpy() == some.numpy()).all()


def test_long_chains_need_no_recursion() -> None:
    e: tir.PrimExpr = te.var("x")
    for _ in range(3_000):
        e = tir.Add(e, tir.const(1))
    assert save_json(load_json(save_json(e))) == save_json(e)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float64"])
def test_arrays(dtype: str) -> None:
    values = (np.arange(12).reshape(3, 4) % 5).astype(dtype)
    read = load_json(save_json(array(values)))
    assert isinstance(read, NDArray)
    assert read.dtype == dtype
    np.testing.assert_array_equal(read.numpy(), values)


def test_operators_functions_and_targets_are_known_by_name() -> None:
    register_func("test.json.twice", lambda x: 2 * x, override=True)
    function = make_node("attrs.TestAttrs", name="a", func=_env_func("test.json.twice"))
    read = load_json(save_json([tir.exp(te.var("x", "float32")), function, Target("llvm -mcpu=haswell")]))
    assert read[0].op is Op.get("tir.exp")
    assert read[1].func(21) == 42
    assert read[2] == Target("llvm -mcpu=haswell")
    for copied in (copy.deepcopy(read[0]), pickle.loads(pickle.dumps(read[0]))):
        assert copied.op is Op.get("tir.exp")


def _env_func(name: str) -> object:
    from compiler.ir.env_func import EnvFunc

    return EnvFunc.get(name)


def test_nodes_are_made_by_type_key() -> None:
    assert structural_equal(make_node("IntImm", dtype="int32", value=10, span=None), tir.const(10))
    tensor = te.placeholder((10,), name="A")
    made = make_node("Tensor", shape=tensor.shape, dtype=tensor.dtype, op=tensor.op, value_index=0)
    assert made.op is tensor.op
    assert isinstance(make_node("relay.Tuple", fields=()), relay.Tuple)
    attrs = make_node("attrs.TestAttrs", name="xx", padding=(3, 4))
    assert (attrs.axis, attrs.padding[1].value, attrs.func) == (10, 4, None)
    assert make_node("DictAttrs", x=1)["x"] == 1


@pytest.mark.parametrize(
    ("type_key", "fields", "error", "message"),
    [
        ("tir.Addd", {}, TVMError, "did you mean 'tir.Add'"),
        ("tir.Add", {"a": 1, "c": 2}, ArgumentError, "has no field 'c'; it has a, b"),
        ("tir.Add", {"a": 1}, ArgumentError, "is made from a, b"),
        ("IntImm", {"dtype": "int8", "value": 300}, ArgumentError, "does not fit"),
        ("attrs.TestAttrs", {"name": "x", "axis": 11}, AttrsError, "axis must be an int from 1 to 10, got 11"),
        ("attrs.TestAttrs", {"nam": "x"}, AttrsError, "there is no attribute 'nam'"),
        ("attrs.TestAttrs", {}, AttrsError, "'name' must be given"),
    ],
)
def test_fields_that_do_not_fit(type_key: str, fields: dict[str, object], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        make_node(type_key, **fields)


_TEXT = save_json(tir.const(1) + te.var("x"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1"),
        (_TEXT[:-9], "line 1, column "),
        ("[1, 2]", "expected text written by tvm.ir.save_json"),
        ("[" * 100_000, "nests too deeply"),
        (_TEXT.replace("tir.Var", "tir.Vra"), "did you mean 'tir.Var'"),
        (_TEXT.replace('"name"', '"nome"'), r"node \d: invalid fields for tir.Var: 'name'"),
        (_TEXT.replace('{"node": 0}', '{"node": 9}'), "expected the number of an earlier node"),
        (_TEXT.replace('"attrs"', '"attr"'), "node 0: expected a type_key and attrs"),
    ],
)
def test_damaged_texts_say_where(text: str, message: str) -> None:
    with pytest.raises(TVMError, match=message):
        load_json(text)


def test_what_cannot_be_written() -> None:
    with pytest.raises(ArgumentError, match="a value of type function cannot be written"):
        save_json([test_arrays])
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ArgumentError, match="contains itself"):
        save_json(loop)


def test_the_table_is_plain_json() -> None:
    table = json.loads(_TEXT)
    keys = [entry["type_key"] for entry in table["nodes"]]
    assert sorted(keys) == ["IntImm", "tir.Add", "tir.Var"]
    assert table["nodes"][table["root"]["node"]]["type_key"] == "tir.Add"
    assert issubclass(tir.Add, Node)


def test_the_state_of_a_node_shares_nothing_with_it() -> None:
    x = te.var("x")
    loop = tir.For(tir.Var("i", "int32"), 0, x, tir.ForKind.SERIAL, tir.Evaluate(x + 1))
    body = loop.body
    loop.__setstate__(loop.__getstate__())
    assert loop.body is not body
    assert loop.extent is loop.body.value.a
    assert loop.extent is not x
    assert_structural_equal(loop.body, body, map_free_vars=True)
    assert copy.copy(loop).body is loop.body
