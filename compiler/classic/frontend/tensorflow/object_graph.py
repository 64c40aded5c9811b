"""The object graph of a SavedModel, which maps variables of functions to checkpoint keys.

References
----------
tensorflow/core/protobuf/{saved_object_graph,trackable_object_graph}.proto
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from google.protobuf.message import Message

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
"""The suffix of a variable's key, after its path from the root."""


def bound_variables(meta: Message, keys: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Map the nodes of variables to their checkpoint keys."""
    objects = meta.object_graph_def
    key_of: dict[int, str] = {}
    for key in keys:
        place = _object_at(objects, key)
        if place is not None:
            key_of.setdefault(place, key)
    bound = {entry.key: list(entry.value.bound_inputs) for entry in objects.concrete_functions}
    for node in meta.graph_def.node:
        called = next((entry.value.func.name for entry in node.attr if entry.key == "f"), "")
        given = [name for name in node.input if not name.startswith("^")]
        places = bound.get(called, [])
        if places and len(places) <= len(given):
            for name, place in zip(given[-len(places) :], places, strict=True):
                if place in key_of:
                    yield name.split(":")[0], key_of[place]


def _object_at(objects: Message, key: str) -> int | None:
    if not key.endswith(_VALUE) or not objects.nodes:
        return None
    place = 0
    for name in key.removesuffix(_VALUE).split("/"):
        wanted = name.replace(".S", "/").replace("..", ".")
        place = next((c.node_id for c in objects.nodes[place].children if c.local_name == wanted), -1)
        if not 0 <= place < len(objects.nodes):
            return None
    return place
