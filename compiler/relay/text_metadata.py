"""The ``#[metadata]`` section of Relay's text format: the constants that are too large for the text itself.

It is JSON in the form that TVM 0.19 reads and writes: a list of nodes that name each other by position, and the
arrays in base 64, each with the header of TVM's array format.  TVM puts other nodes there too, such as the variables
of shapes, which are read and never written here.
"""

from __future__ import annotations

import base64
import json
import re
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError
from compiler.ir.serialization.tvm_json import load_tvm_json
from compiler.runtime.arrays.ndarray import NDArray, array, numpy_dtype

MARK = "#[metadata]"

_MAGIC = 0xDD5E40F096B4A13F
_HEAD = struct.Struct("<QQiiiBBH")
_CODES = {"int": 0, "uint": 1, "bool": 1, "float": 2, "handle": 3, "bfloat": 4}
_CPU = 1
_NO_DEVICE = {"device_type_int": "-1", "memory_scope": "5", "target": "0", "virtual_device_id": "-1"}
_FIRST = 6
"""Nodes 0 to 5 are the empty one, the table, its list, the first constant, its device and an empty string."""


def metadata_text(constants: Sequence[NDArray]) -> str:
    """Return the section for some constants, in the order of their numbers; the empty string if there are none."""
    if not constants:
        return ""
    places = [3, *range(_FIRST, _FIRST + len(constants) - 1)]
    nodes: list[dict[str, Any]] = [
        {"type_key": ""},
        {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
        {"type_key": "Array", "data": places},
        _constant_node(0),
        {"type_key": "VirtualDevice", "attrs": _NO_DEVICE},
        {"type_key": "runtime.String"},
        *(_constant_node(index) for index in range(1, len(constants))),
    ]
    arrays = [base64.b64encode(_packed(c)).decode() for c in constants]
    content = {"root": 1, "nodes": nodes, "b64ndarrays": arrays, "attrs": {"tvm_version": "0.19.0"}}
    return f"{MARK}\n{json.dumps(content, indent=2)}"


def read_metadata(text: str) -> dict[str, list[Any]]:
    """Return what a section holds by the kind of node: e.g. ``relay.Constant``, ``tir.SizeVar``, ``runtime.BoxInt``."""
    try:
        table = load_tvm_json(json.loads(text))
        return {str(kind): list(column) for kind, column in table.items()}
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, struct.error) as exc:
        raise ArgumentError(f"parse: the {MARK} section cannot be read: {type(exc).__name__}: {exc}") from None


def _constant_node(index: int) -> dict[str, Any]:
    attrs = {"_checked_type_": "0", "data": str(index), "span": "0", "virtual_device_": "4"}
    return {"type_key": "relay.Constant", "attrs": attrs}


def _packed(value: NDArray) -> bytes:
    kind = dt.parse(value.dtype)
    head = _HEAD.pack(_MAGIC, 0, _CPU, 0, value.ndim, _CODES[kind.code], kind.bits, kind.lanes)
    data = np.ascontiguousarray(value.view()).tobytes()
    return head + struct.pack(f"<{value.ndim}qq", *value.shape, len(data)) + data


def unpacked(data: bytes) -> NDArray:
    """Return the array that bytes in TVM's array format are."""
    magic, _, _, _, rank, code, bits, lanes = _HEAD.unpack_from(data)
    if magic != _MAGIC or lanes != 1:
        raise ValueError("an array has no valid header")
    *shape, size = struct.unpack_from(f"<{rank}qq", data, _HEAD.size)
    name = "bool" if (code, bits) == (1, 1) else {0: "int", 1: "uint", 2: "float", 4: "bfloat"}[code] + str(bits)
    start = _HEAD.size + 8 * (rank + 1)
    if len(data) != start + size:
        raise ValueError(f"an array of {size} bytes has {len(data) - start}")
    return array(np.frombuffer(data, numpy_dtype(name), offset=start).reshape(shape))


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_UNESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def quoted(text: str) -> str:
    """Return a string as the text format writes it."""
    return '"' + "".join(_ESCAPES.get(c, c) for c in text) + '"'


def unquoted(text: str) -> str:
    """Return the string that :func:`quoted` wrote."""
    return re.sub(r"\\(.)", lambda m: _UNESCAPES.get(m[1], m[1]), text[1:-1], flags=re.DOTALL)
