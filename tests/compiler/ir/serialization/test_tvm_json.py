"""Files that TVM wrote: nodes that name each other by position, in any order."""

import base64
import json
import struct

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.ir.error import ArgumentError


def _packed(values):
    data = np.asarray(values, "float32")
    head = struct.pack("<QQiiiBBH", 0xDD5E40F096B4A13F, 0, 1, 0, data.ndim, 2, 32, 1)
    return base64.b64encode(head + struct.pack(f"<{data.ndim}qq", *data.shape, data.nbytes) + data.tobytes()).decode()


def _load(*nodes, root=1, arrays=()):
    table = {"root": root, "nodes": [{"type_key": ""}, *nodes], "b64ndarrays": list(arrays), "attrs": {}}
    return tvm.ir.load_json(json.dumps(table))


def _node(type_key, **attrs):
    return {"type_key": type_key, "attrs": attrs}


def _string(text):
    return {"type_key": "runtime.String", "repr_str": text}


def _int(value):
    return _node("IntImm", dtype="int32", value=str(value), span="0")


GRAPH = (
    _node("IRModule", functions="2", type_definitions="9", attrs="0", source_map="0"),
    {"type_key": "Map", "data": [3, 5]},
    _node("GlobalVar", name_hint="4", _checked_type_="0", span="0"),
    _string("main"),
    _node("relay.Function", params="6", body="10", ret_type="0", type_params="16", attrs="0", span="0"),
    {"type_key": "Array", "data": [7]},
    _node("relay.Var", vid="8", type_annotation="17", _checked_type_="0", span="0"),
    _node("relay.Id", name_hint="15"),
    {"type_key": "Map"},
    _node("relay.Call", op="11", args="12", attrs="14", type_args="0", span="0"),
    {"type_key": "Op", "repr_str": "nn.dense"},
    {"type_key": "Array", "data": [7, 13]},
    _node("relay.Constant", data="0", span="0"),
    _node("relay.attrs.DenseAttrs", units="20", out_dtype=""),
    _string("x"),
    {"type_key": "Array"},
    _node("relay.TensorType", shape="18", dtype="float32", span="0"),
    {"type_key": "Array", "data": [19, 20]},
    _int(1),
    _int(2),
)


def test_a_graph_with_a_constant():
    mod = _load(*GRAPH, arrays=[_packed([[1, 2], [3, 4]])])
    expected = relay.parse(
        '#[version = "0.0.5"]\n'
        "def @main(%x: Tensor[(1, 2), float32]) { nn.dense(%x, meta[relay.Constant][0], units=2) }",
        "from_string",
        None,
        {"relay.Constant": [relay.const(np.array([[1, 2], [3, 4]], "float32"))]},
    )
    tvm.ir.assert_structural_equal(relay.transform.InferType()(mod), expected)


def test_what_is_named_twice_is_one_node():
    body = _load(*GRAPH, arrays=[_packed([[1, 2], [3, 4]])])["main"]
    assert body.body.args[0] is body.params[0]


def test_expressions_of_0_6_and_of_later_releases():
    old = _load(_node("Add", a="2", b="3", dtype="int32"), _node("Variable", name="n", dtype="int32"), _int(1))
    variable = _node("tir.Var", name="3", dtype="int32")
    new = _load(_node("tir.Add", a="2", b="4", dtype="int32"), variable, _string("n"), _int(1))
    assert str(old) == str(new) == "n + 1"


def test_types_of_0_6():
    variable = _load(_node("relay.TypeVar", kind="0", span="0", var="2"), _node("Variable", dtype="int32", name="t"))
    assert isinstance(variable, tvm.ir.TypeVar)
    assert variable.name_hint == "t"
    function = _load(
        _node("relay.FuncType", arg_types="2", ret_type="3", type_params="2", type_constraints="2", span="0"),
        {"type_key": "Array"},
        _node("relay.TupleType", fields="2", span="0"),
    )
    assert function == tvm.ir.FuncType([], tvm.ir.TupleType([]))


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([_node("relay.TensorType", shape="9", dtype="float32")], "TensorType"),
        ([_node("relay.Tuple", fields="2", span="0"), {"type_key": "Array", "data": [1]}], "contains itself"),
        ([_node("relay.Nothing", a="0")], "no node of type 'relay.Nothing'"),
        ([{"type_key": "Array", "data": [7]}], "node 1: expected the position of a node, got 7"),
    ],
)
def test_damaged_files_say_where(nodes, message):
    with pytest.raises(tvm.error.TVMError, match=message):
        _load(*nodes)


def test_an_array_that_is_cut_off_is_refused():
    with pytest.raises(ArgumentError, match="node 13"):
        _load(*GRAPH, arrays=[_packed([[1, 2], [3, 4]])[:40]])


def test_ranges_functions_of_loop_ir_and_targets() -> None:
    """What returns nothing returns a tuple without fields; all fields of a target are nodes, its kind too."""
    loaded = _load(_node("Range", min="2", extent="3", span="0"), _int(2), _int(5))
    assert (loaded.min.value, loaded.extent.value) == (2, 5)
    func = _load(
        _node("tir.PrimFunc", params="2", body="4", ret_type="6", buffer_map="7", attrs="8", span="0"),
        {"type_key": "Array", "data": [3]},
        _node("tir.Var", name="9", dtype="int32", span="0", type_annotation="0"),
        _node("tir.Evaluate", value="3", span="0"),
        {"type_key": "Array"},
        _node("TupleType", fields="5", span="0"),
        {"type_key": "Map"},
        _node("DictAttrs", __dict__="7"),
        _string("n"),
    )
    assert func.ret_type is None
    assert "def main(n: T.int32):" in func.script()
    target = _load(
        _node("Target", kind="2", tag="3", keys="4", attrs="6", host="0", features="8"),
        {"type_key": "TargetKind", "repr_str": "llvm"},
        _string(""),
        {"type_key": "Array", "data": [5]},
        _string("cpu"),
        {"type_key": "Map", "keys": ["mcpu"], "data": [7]},
        _string("haswell"),
        {"type_key": "Map"},
    )
    assert (target.kind.name, target.mcpu, list(target.keys)) == ("llvm", "haswell", ["cpu"])


def test_an_axis_of_threads_has_no_domain() -> None:
    """Loops that are bound to threads name one."""
    axis = _load(
        _node("tir.IterVar", dom="0", var="2", iter_type="1", thread_tag="3", span="0"),
        _node("tir.Var", name="4", dtype="int32", type_annotation="0", span="0"),
        _string("threadIdx.x"),
        _string("tx"),
    )
    assert (axis.dom, axis.var.name, axis.iter_type, axis.thread_tag) == (None, "tx", 1, "threadIdx.x")
