"""Hash tables whose contents are constants, and arrays of tensors of TensorFlow's first generation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import relay
from compiler.classic.frontend.tensorflow import ConversionError
from compiler.classic.frontend.tensorflow.messages import GraphDef

FLOAT, INT32, INT64, STRING = 1, 3, 9, 7


def constant(graph: Any, name: str, dtype: int, values: Any) -> None:
    node = graph.node.add(name=name, op="Const")
    tensor = node.attr.add(key="value").value.tensor
    tensor.dtype = dtype
    array = np.asarray(values, {FLOAT: "float32", INT32: "int32", INT64: "int64"}.get(dtype, "S1"))
    for extent in array.shape:
        tensor.tensor_shape.dim.add(size=extent)
    if dtype == STRING:
        tensor.string_val.extend(bytes(v) for v in array)
    else:
        tensor.tensor_content = array.tobytes()


def with_table(keys: Any, values: Any, key_dtype: int = INT64, value_dtype: int = INT64) -> Any:
    graph = GraphDef()
    graph.node.add(name="x", op="Placeholder").attr.add(key="dtype").value.type = key_dtype
    constant(graph, "keys", key_dtype, keys)
    constant(graph, "values", value_dtype, values)
    constant(graph, "default", value_dtype, -1)
    graph.node.add(name="table", op="HashTableV2")
    graph.node.add(name="fill", op="LookupTableImportV2", input=["table", "keys", "values"])
    graph.node.add(name="y", op="LookupTableFindV2", input=["table", "x", "default"])
    graph.node.add(name="count", op="LookupTableSizeV2", input=["table"])
    return graph


def run(graph: Any, output: str, **given: Any) -> Any:
    mod, params = relay.frontend.from_tensorflow(graph, shape={n: v.shape for n, v in given.items()}, outputs=[output])
    return relay.create_executor("debug", mod=mod).evaluate()(**given, **params).numpy()


def test_values_are_found_by_their_keys() -> None:
    found = run(with_table([3, 5, 7], [30, 50, 70]), "y", x=np.array([[3, 4], [7, 5]]))
    np.testing.assert_array_equal(found, [[30, -1], [70, 50]])
    assert found.dtype == np.int64
    found = run(with_table([2, 1], [0.5, 0.25], INT32, FLOAT), "y", x=np.array(1, "int32"))
    assert (found, found.dtype) == (0.25, np.float32)
    assert run(with_table([3, 5, 7], [30, 50, 70]), "count") == 3


def test_a_table_may_be_filled_by_a_function() -> None:
    graph = with_table([3, 5], [30, 50])
    filling = next(node for node in graph.node if node.name == "fill")
    function = graph.library.function.add()
    function.signature.name = "initialize"
    for name in ("t", "k", "v"):
        function.signature.input_arg.add(name=name)
    function.node_def.add(name="fill", op="LookupTableImportV2", input=["t", "k", "v"])
    filling.op = "StatefulPartitionedCall"
    filling.attr.add(key="f").value.func.name = "initialize"
    np.testing.assert_array_equal(run(graph, "y", x=np.array([5, 6])), [50, -1])


def test_tables_without_constants_are_refused() -> None:
    empty = with_table([3], [30])
    del empty.node[5]
    with pytest.raises(ConversionError, match=r"node 'table' .*: no node of the graph fills this table with constants"):
        run(empty, "y", x=np.array([3]))
    with pytest.raises(ConversionError, match=r"node 'keys' .*: elements of TensorFlow's data type 7"):
        run(with_table([b"a"], [30], STRING), "y", x=np.array([3]))


def with_array(*nodes: tuple[str, str, list[str]], count: int = 3) -> Any:
    graph = GraphDef()
    graph.node.add(name="x", op="Placeholder")
    constant(graph, "count", INT32, count)
    for i in range(3):
        constant(graph, str(i), INT32, i)
    constant(graph, "all", INT32, range(count))
    array = graph.node.add(name="array", op="TensorArrayV3", input=["count"])
    array.attr.add(key="dtype").value.type = FLOAT
    for name, operator, inputs in nodes:
        graph.node.add(name=name, op=operator, input=inputs)
    return graph


def test_elements_of_an_array_are_written_and_read() -> None:
    x = np.array([1.5, -2], "float32")
    graph = with_array(
        ("a", "TensorArrayWriteV3", ["array", "1", "x", "array:1"]),
        ("b", "TensorArrayReadV3", ["array", "1", "a"]),
        ("c", "TensorArrayGatherV3", ["array", "all", "a"]),
        ("d", "TensorArraySizeV3", ["array", "a"]),
        ("e", "TensorArrayConcatV3", ["array", "a"]),
    )
    np.testing.assert_array_equal(run(graph, "b", x=x), x)
    np.testing.assert_array_equal(run(graph, "c", x=x), [[0, 0], x, [0, 0]])
    assert run(graph, "d", x=x) == 3
    np.testing.assert_array_equal(run(graph, "e", x=x), [0, 0, *x, 0, 0])
    np.testing.assert_array_equal(run(graph, "e:1", x=x), [2, 2, 2])


def test_an_array_is_filled_at_once() -> None:
    x = np.arange(6, dtype="float32").reshape(3, 2)
    graph = with_array(
        ("a", "TensorArrayScatterV3", ["array", "all", "x", "array:1"]), ("b", "TensorArrayReadV3", ["array", "2", "a"])
    )
    np.testing.assert_array_equal(run(graph, "b", x=x), x[2])


def test_an_array_that_nothing_was_stored_in_is_refused() -> None:
    graph = with_array(("y", "TensorArrayGatherV3", ["array", "all", "array:1"]))
    with pytest.raises(ConversionError, match="it reads an array in which nothing was stored"):
        run(graph, "y")
