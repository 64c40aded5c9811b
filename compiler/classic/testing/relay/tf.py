"""Helpers for tests of graphs of TensorFlow: ``tvm.relay.testing.tf``.

TensorFlow itself is imported by the functions that need a session of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, Protocol

from google.protobuf.message import Message

from compiler.ir.error import UnavailableError
from compiler.relay.interpreter import ConstructorValue
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.container import ADT

__all__ = [
    "AddShapesToGraphDef", "NodeLookup", "ProcessGraphDefParam", "convert_to_list", "get_workload",
    "get_workload_official", "get_workload_ptb", "vmobj_to_list",
]  # fmt: skip

_CLASS = re.compile(r'target_class:\s*(\d+)\s+target_class_string:\s*"([^"]*)"')


class _Session(Protocol):
    graph: Any


def ProcessGraphDefParam(graph_def: Message) -> Any:  # TVM's name
    """Return a copy of a graph, or of a message with the same fields, of TensorFlow's own class.

    Raises TypeError if it is no graph.
    """
    from tensorflow.compat.v1 import GraphDef

    copy = GraphDef()
    copy.CopyFrom(graph_def)
    return copy


def AddShapesToGraphDef(session: _Session, out_node: str | list[str]) -> Any:  # TVM's name
    """Return a session's graph with its variables frozen, and the shape of each result as an attribute."""
    from tensorflow.compat.v1 import graph_util

    graph_def = session.graph.as_graph_def(add_shapes=True)
    return graph_util.convert_variables_to_constants(session, graph_def, convert_to_list(out_node))


def convert_to_list(x: object) -> list[Any]:
    """Return a list as it is, and anything else in a list."""
    return x if isinstance(x, list) else [x]


def vmobj_to_list(o: object) -> list[Any]:
    """Return the elements of an array, a tuple or a value of a data type, nested as they are; lists are flattened.

    Raises RuntimeError if it is none of these.
    """
    return list(_elements(o))


def _elements(o: object) -> Iterator[Any]:
    if isinstance(o, NDArray):
        yield o.numpy().tolist()
    elif isinstance(o, ConstructorValue):
        for field in o.fields:
            yield from _elements(field)
    elif isinstance(o, (ADT, tuple, list)):
        for field in o:
            yield from _elements(field)
    else:
        raise RuntimeError(f"vmobj_to_list: expected an array, a tuple or a value of a data type, got {type(o)}")


class NodeLookup:
    """What the numbers of ImageNet's classes are called.

    The first file has ``target_class`` and ``target_class_string`` of each entry, the second a class string and its
    names on each line.
    """

    def __init__(self, label_lookup_path: str, uid_lookup_path: str) -> None:
        self.node_lookup = self.load(label_lookup_path, uid_lookup_path)

    def load(self, label_lookup_path: str, uid_lookup_path: str) -> dict[int, str]:
        """Return the names by number.

        Raises KeyError if a class string has no names.
        """
        lines = [line.split(None, 1) for line in Path(uid_lookup_path).read_text().splitlines() if line.strip()]
        names = {uid: name.strip() for uid, name in lines}
        return {int(node): names[uid] for node, uid in _CLASS.findall(Path(label_lookup_path).read_text())}

    def id_to_string(self, node_id: int) -> str:
        """Return the names of a class."""
        return self.node_lookup.get(node_id, "")


def get_workload(*args: object, **options: object) -> NoReturn:
    """Say that models are not downloaded; ``get_workload_official`` and ``get_workload_ptb`` are the same function.

    Raises
    ------
    UnavailableError
        Always.
    """
    raise UnavailableError(
        "no TensorFlow models are downloaded; read a graph that you have with relay.frontend.from_tensorflow"
    )


get_workload_official = get_workload_ptb = get_workload
