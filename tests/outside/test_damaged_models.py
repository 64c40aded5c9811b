"""Models of the backend tests with something changed at random: they are imported, or the error is one for users."""

from __future__ import annotations

import random

import onnx
from onnx import AttributeProto

from compiler.ir.error import TVMError
from compiler.relay.frontend import from_onnx
from tests.outside.onnx_backend.cases import freeze, load

ROUNDS = 300


def _change_attribute(pick, graph):
    node = pick.choice(list(graph.node))
    if not node.attribute:
        return
    attr = pick.choice(list(node.attribute))
    if attr.type == AttributeProto.INT:
        attr.i = pick.choice([-1, 0, 1, 2, 7, -100, 2**31, 2**62])
    elif attr.type == AttributeProto.INTS and attr.ints:
        attr.ints[pick.randrange(len(attr.ints))] = pick.choice([-1, 0, 1, 5, 2**40])
    elif attr.type == AttributeProto.FLOAT:
        attr.f = pick.choice([0, -1, float("nan"), float("inf"), 1e30])
    elif attr.type == AttributeProto.STRING:
        attr.s = pick.choice([b"", b"xyz", b"\xff"])
    else:
        node.attribute.remove(attr)


def _change_shape(pick, graph):
    if not graph.input:
        return
    tensor = pick.choice(list(graph.input)).type.tensor_type
    if pick.random() < 0.3:
        tensor.elem_type = pick.choice([1, 2, 3, 6, 7, 8, 9, 10, 11, 16, 17, 99])
    elif pick.random() < 0.3 or not tensor.shape.dim:
        tensor.shape.dim.add(dim_value=2)
    elif pick.random() < 0.3:
        del tensor.shape.dim[-1]
    else:
        tensor.shape.dim[pick.randrange(len(tensor.shape.dim))].dim_value = pick.choice([0, 1, 2, 5, 2**20])


def _change_inputs(pick, graph):
    node = pick.choice(list(graph.node))
    if node.input:
        names = ["", "nothing", *(item.name for item in graph.input)]
        node.input[pick.randrange(len(node.input))] = pick.choice(names)


def _change_constant(pick, graph):
    if not graph.initializer:
        return
    tensor = pick.choice(list(graph.initializer))
    values = onnx.numpy_helper.to_array(tensor).copy()
    if values.dtype.kind in "iu" and values.size:
        values.reshape(-1)[pick.randrange(values.size)] = pick.choice([0, 1, 3, 100])
        tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))


def test_damaged_models_are_imported_or_refused():
    pick = random.Random(0)
    cases = [case for case in load(("node",), every=5) if case.compared and case.direct]
    refused = 0
    for _ in range(ROUNDS):
        model = onnx.ModelProto()
        model.CopyFrom(freeze(pick.choice(cases))[0])
        change = pick.choice([_change_attribute, _change_shape, _change_inputs, _change_constant])
        change(pick, model.graph)
        try:
            from_onnx(model)
        except TVMError:
            refused += 1
    assert ROUNDS / 10 < refused < ROUNDS
