"""Canonical encoding: equal values have equal bytes, even after fields with defaults are added."""

from __future__ import annotations

import msgspec


def without_defaults(value: object) -> object:
    """Return a struct as a dict of the fields that differ from their defaults; other values as they are.

    ``omit_defaults`` does not suffice: msgspec compares with the default by identity, so an equal string from a request
    would be encoded.
    """
    if not isinstance(value, msgspec.Struct):
        return value
    fields: dict[str, object] = {}
    for field in msgspec.structs.fields(value):
        current, default = getattr(value, field.name), field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        if current != default:
            fields[field.encode_name] = without_defaults(current)
    return fields


def canonical_bytes(value: msgspec.Struct) -> bytes:
    """Return the canonical encoding of a struct; msgspec's MessagePack decoder reads it back."""
    return msgspec.msgpack.encode(without_defaults(value), order="sorted")
