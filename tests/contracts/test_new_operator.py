"""One file is all that an operator needs: a toy in a temporary package, from ONNX to machine code."""

from __future__ import annotations

import importlib
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import compiler
from compiler import relay, te, topi
from compiler.classic.contrib import graph_executor
from compiler.ir import op as op_table
from compiler.ir.error import TVMError
from compiler.ir.extension import extension_point
from compiler.ir.module import IRModule
from compiler.ir.structural import structural_equal
from compiler.relay import op_registry
from compiler.relay.frontend.onnx import from_onnx
from compiler.relay.operator import RelayOp

_FILE = '''
"""A toy: x times its absolute value times a factor."""

from compiler import te, tir
from compiler.ir.attrs.kinds import FLOAT
from compiler.ir.attrs import Attrs, attr_field
from compiler.relay.op.layout_rules import same_layout
from compiler.relay.op.type_relations import identity
from compiler.relay.op_registry import register
from compiler.relay.operator import OpPattern, call_op
from compiler.topi.tag import Tag


class SignedSquareAttrs(Attrs):
    """Attributes of ``signed_square``."""

    factor: float = attr_field(FLOAT, "What the square is multiplied by.", 1.0)


def definition(x, factor):
    """x * abs(x) * factor."""
    return te.compute(
        x.shape, lambda *i: x(*i) * tir.abs(x(*i)) * tir.const(factor, x.dtype), name="toy", tag=Tag.ELEMWISE
    )


signed_square = register(
    "signed_square",
    doc="Return x * abs(x) * factor of each element x.",
    inputs={"data": "The tensor to apply it to."},
    attrs=SignedSquareAttrs,
    relation=identity,
    pattern=OpPattern.ELEMWISE,
    compute=lambda attrs, inputs, out_type: [definition(inputs[0], attrs.factor)],
    topi=definition,
    reference=lambda attrs, x: x * abs(x) * x.dtype.type(attrs.factor),
    gradient=lambda call, grad: [call_op("multiply", grad, call_op("abs", call.args[0]))],
    layout=same_layout,
    onnx="SignedSquare",
)
'''


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module, imported from a temporary package; nothing of it is left afterwards."""
    package = tmp_path / "toy_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "signed_square.py").write_text(_FILE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("toy_package.signed_square")
    for table, name in (
        (op_table._REGISTRY, "signed_square"),
        (op_registry._PUBLIC, "signed_square"),
        (op_registry._ONNX, "SignedSquare"),
        (extension_point("tvm.relay")._names, "signed_square"),
        (extension_point("tvm.topi")._names, "signed_square"),
        (sys.modules, "toy_package.signed_square"),
        (sys.modules, "toy_package"),
    ):
        table.pop(name)


def test_names_signature_and_documentation(toy: ModuleType) -> None:
    function = op_registry.find_public("", "signed_square")
    assert function is toy.signed_square
    assert isinstance(function.op, RelayOp)
    assert str(inspect.signature(function)) == "(data, factor=1.0)"
    for line in ("factor : float, default 1.0", "    What the square is multiplied by.", "Returns", "Raises"):
        assert line in function.__doc__.splitlines()
    assert relay.signed_square is function
    assert "signed_square" in dir(relay)
    assert topi.signed_square is toy.definition


def test_text_round_trip(toy: ModuleType) -> None:
    x = relay.var("x", shape=(2, 3))
    module = IRModule.from_expr(relay.Function([x], toy.signed_square(x, factor=2)))
    assert "signed_square(%x, factor=2f)" in str(module)
    assert structural_equal(relay.parse(module.astext()), relay.transform.InferType()(module))


def test_from_onnx_to_one_kernel(toy: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = onnx.defs.OpSchema(
        "SignedSquare",
        "",
        1,
        inputs=[onnx.defs.OpSchema.FormalParameter("X", "T")],
        outputs=[onnx.defs.OpSchema.FormalParameter("Y", "T")],
        type_constraints=[("T", ["tensor(float)"], "")],
        attributes=[onnx.defs.OpSchema.Attribute("factor", onnx.defs.OpSchema.AttrType.FLOAT, required=False)],
    )
    onnx.defs.register_schema(schema)
    try:
        node = helper.make_node("SignedSquare", ["x"], ["s"], factor=3.0)
        relu = helper.make_node("Relu", ["s"], ["y"])
        value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, (4, 5)) for n in ("x", "y")]
        graph = helper.make_graph([node, relu], "toy", value[:1], value[1:])
        module, params = from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))
    finally:
        onnx.defs.deregister_schema("SignedSquare", 1, "")
    library = relay.build(module, "llvm", params=params)
    data = np.linspace(-2, 2, 20, dtype="float32").reshape(4, 5)
    executor = graph_executor.GraphModule(library["default"](compiler.cpu()))
    executor.set_input("x", data)
    executor.run()
    expected = np.maximum(data * abs(data) * 3, 0)
    np.testing.assert_allclose(executor.get_output(0).numpy(), expected, rtol=1e-6)
    kernels = [node["name"] for node in json.loads(library.graph_json)["nodes"] if node["op"] == "tvm_op"]
    assert len(kernels) == 1, "it is fused with relu"


def test_a_mistake_says_what_is_near(toy: ModuleType) -> None:
    x = relay.var("x", shape=(2,))
    with pytest.raises(TVMError, match=r"signed_square: there is no attribute 'factors'"):
        toy.signed_square(x, factors=2)
    with pytest.raises(AttributeError, match=r"did you mean 'signed_square'"):
        op_registry.find_public("", "signed_sqare")


def test_softsign_is_one_file() -> None:
    """The real one: no other file of the compiler names it, but for the importers of models that have it too."""
    root = Path(compiler.__file__).parent
    named = [p.relative_to(root).as_posix() for p in root.rglob("*.py") if "softsign" in p.read_text().lower()]
    files = [name for name in named if not name.startswith(("relay/frontend/", "classic/frontend/"))]
    assert files == ["relay/op/nn/softsign.py"]
    assert topi.nn.softsign(te.placeholder((3,), name="x")).dtype == "float32"
    assert relay.nn.softsign(relay.var("x", shape=(3,))).op.name == "nn.softsign"
