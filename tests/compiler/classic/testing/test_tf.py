"""Helpers for tests of graphs of TensorFlow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.classic.testing.relay import tf
from compiler.ir.error import UnavailableError


def test_results_of_machines_become_lists() -> None:
    x = relay.var("x", shape=(2,))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([x, relay.Tuple([relay.sum(x)])])))
    result = relay.create_executor("vm", mod).evaluate()(np.array([1, 2], "float32"))
    assert tf.vmobj_to_list(result) == [[1.0, 2.0], 3.0]
    with pytest.raises(RuntimeError, match="expected an array, a tuple"):
        tf.vmobj_to_list("x")


def test_lists_of_the_prelude_are_flattened() -> None:
    mod = tvm.IRModule()
    prelude = relay.prelude.Prelude(mod)
    _, cons, nil = mod.get_type("List")
    mod["main"] = relay.Function([], cons(relay.const(3), cons(relay.const(4), nil())))
    assert prelude.mod is mod
    result = relay.create_executor("debug", mod).evaluate()()
    assert tf.vmobj_to_list(result) == [3, 4]


def test_classes_are_called_by_their_names(tmp_path: Path) -> None:
    labels, names = tmp_path / "labels.pbtxt", tmp_path / "names.txt"
    labels.write_text('entry {\n  target_class: 7\n  target_class_string: "n01"\n}\n')
    names.write_text("n01\tcock, rooster\nn02\then\n")
    lookup = tf.NodeLookup(str(labels), str(names))
    assert (lookup.id_to_string(7), lookup.id_to_string(8)) == ("cock, rooster", "")


def test_nothing_is_downloaded() -> None:
    with pytest.raises(UnavailableError, match="no TensorFlow models are downloaded"):
        tf.get_workload("mobilenet.pb")


def test_a_session_is_frozen_with_its_shapes() -> None:
    tensorflow = pytest.importorskip("tensorflow")
    v1 = tensorflow.compat.v1
    with tensorflow.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder("float32", (2, 3), name="x")
        v1.add(x, v1.get_variable("w", initializer=np.ones((2, 3), "float32"), use_resource=False), name="y")
        session.run(v1.global_variables_initializer())
        graph = tf.ProcessGraphDefParam(tf.AddShapesToGraphDef(session, "y"))
    mod, params = relay.frontend.from_tensorflow(graph, shape={"x": (2, 3)}, outputs=["y"])
    result = relay.create_executor("graph", mod).evaluate()(np.zeros((2, 3), "float32"), **params)
    np.testing.assert_array_equal(result.numpy(), np.ones((2, 3)))
    assert all("_output_shapes" in node.attr for node in graph.node if node.name in ("x", "y"))
