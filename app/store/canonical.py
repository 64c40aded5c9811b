"""The one encoding of a value: equal values have equal bytes, and fields added later change nothing."""

from __future__ import annotations

from typing import Any

import msgspec


def essence(value: Any) -> Any:
    """Return a struct as a dict of the fields that are not as by default.

    ``omit_defaults`` does not do: msgspec leaves a field out when it holds the very object that is the default, so
    that a string which arrived in a request stays although it is equal.
    """
    if not isinstance(value, msgspec.Struct):
        return value
    out = {}
    for field in msgspec.structs.fields(value):
        held, default = getattr(value, field.name), field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        if held != default:
            out[field.encode_name] = essence(held)
    return out


def canonical_bytes(value: msgspec.Struct) -> bytes:
    """Return the canonical encoding, which msgspec's MessagePack decoder reads back."""
    return msgspec.msgpack.encode(essence(value), order="sorted")
