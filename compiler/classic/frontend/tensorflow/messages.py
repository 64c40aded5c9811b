"""The protobuf messages of TensorFlow's files, as a table of field names, numbers and types.

References
----------
tensorflow/core/framework/{graph,node_def,function,op_def,attr_value,tensor,tensor_shape}.proto,
tensorflow/core/protobuf/{saved_model,meta_graph,saved_object_graph,trackable_object_graph,tensor_bundle}.proto
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import Message

_FIELDS = {
    "Dim": "size 1 int64, name 2 string",
    "TensorShape": "dim 2 *Dim, unknown_rank 3 bool",
    "Tensor": "dtype 1 int32, tensor_shape 2 TensorShape, tensor_content 4 bytes, float_val 5 *float, "
    "double_val 6 *double, int_val 7 *int32, string_val 8 *bytes, int64_val 10 *int64, bool_val 11 *bool, "
    "half_val 13 *int32, uint32_val 16 *uint32, uint64_val 17 *uint64",
    "List": "s 2 *bytes, i 3 *int64, f 4 *float, b 5 *bool, type 6 *int32, shape 7 *TensorShape, tensor 8 *Tensor, "
    "func 9 *Function",
    "Function": "name 1 string",
    "Attribute": "list 1 List, s 2 bytes, i 3 int64, f 4 float, b 5 bool, type 6 int32, shape 7 TensorShape, "
    "tensor 8 Tensor, placeholder 9 string, func 10 Function",
    "AttributeEntry": "key 1 string, value 2 Attribute",
    "Node": "name 1 string, op 2 string, input 3 *string, device 4 string, attr 5 *AttributeEntry",
    "Argument": "name 1 string, type 3 int32",
    "Signature": "name 1 string, input_arg 2 *Argument, output_arg 3 *Argument",
    "Result": "key 1 string, value 2 string",
    "FunctionBody": "signature 1 Signature, node_def 3 *Node, ret 4 *Result",
    "Library": "function 1 *FunctionBody",
    "GraphDef": "node 1 *Node, library 2 Library",
    "MetaInfo": "tags 4 *string",
    "TensorInfo": "name 1 string",
    "TensorInfoEntry": "key 1 string, value 2 TensorInfo",
    "SignatureDef": "inputs 1 *TensorInfoEntry, outputs 2 *TensorInfoEntry",
    "SignatureEntry": "key 1 string, value 2 SignatureDef",
    "Child": "node_id 1 int32, local_name 2 string",
    "Object": "children 1 *Child",
    "BoundFunction": "bound_inputs 2 *int32",
    "BoundFunctionEntry": "key 1 string, value 2 BoundFunction",
    "ObjectGraph": "nodes 1 *Object, concrete_functions 2 *BoundFunctionEntry",
    "MetaGraph": "meta_info_def 1 MetaInfo, graph_def 2 GraphDef, signature_def 5 *SignatureEntry, "
    "object_graph_def 7 ObjectGraph",
    "SavedModel": "saved_model_schema_version 1 int64, meta_graphs 2 *MetaGraph",
    "BundleHeader": "num_shards 1 int32",
    "BundleSlice": "length 1 int64",
    "BundleEntry": "dtype 1 int32, shape 2 TensorShape, shard_id 3 int32, offset 4 int64, size 5 int64, "
    "slices 7 *BundleSlice",
}
"""Fields by message; a star marks repeated fields, and maps are repeated key-value entries."""

_PACKAGE = "strata.tensorflow"
_FIELD = descriptor_pb2.FieldDescriptorProto


def _definition() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="strata/tensorflow.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for text in fields.split(", "):
            field, number, kind = text.split()
            repeated, kind = kind.startswith("*"), kind.removeprefix("*")
            entry = message.field.add(name=field, number=int(number))
            entry.label = _FIELD.LABEL_REPEATED if repeated else _FIELD.LABEL_OPTIONAL
            if kind in _FIELDS:
                entry.type, entry.type_name = _FIELD.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            else:
                entry.type = getattr(_FIELD, f"TYPE_{kind.upper()}")
    _choose_one(file.message_type[list(_FIELDS).index("Attribute")])
    return file


def _choose_one(message: descriptor_pb2.DescriptorProto) -> None:
    """Put all fields of a message into a oneof."""
    message.oneof_decl.add(name="value")
    for field in message.field:
        field.oneof_index = 0


_POOL = descriptor_pool.DescriptorPool()
_POOL.Add(_definition())


def _class(name: str) -> Any:
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"{_PACKAGE}.{name}"))


GraphDef: Any = _class("GraphDef")
SavedModel: Any = _class("SavedModel")
BundleHeader: Any = _class("BundleHeader")
BundleEntry: Any = _class("BundleEntry")


def calls_of(graph: Message) -> Iterator[tuple[Message, dict[str, str]]]:
    """Return the functions that nodes of a graph call, each with the nodes that its parameters come from."""
    functions = {function.signature.name: function for function in graph.library.function}
    for node in graph.node:
        called = next((entry.value.func.name for entry in node.attr if entry.key == "f"), "")
        if called in functions:
            parameters = [argument.name for argument in functions[called].signature.input_arg]
            sources = [name.split(":")[0] for name in node.input if not name.startswith("^")]
            yield functions[called], dict(zip(parameters, sources, strict=False))
