"""TensorFlow checkpoints: an index with sorted keys, and data files.

References
----------
tensorflow/core/protobuf/tensor_bundle.proto; the format of the index is LevelDB's,
https://github.com/google/leveldb/blob/main/doc/table_format.md
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import DecodeError, Message

from compiler.classic.frontend.tensorflow.messages import BundleEntry, BundleHeader
from compiler.relay.frontend.shared.errors import ModelError

_FOOTER_BYTES = 48
_MAGIC = 0xDB4775248B80FB57
_TRAILER_BYTES = 5
"""The size of a block trailer: the compression type and a checksum."""
MAX_KEY_BYTES = 1 << 26
"""The maximum total size of keys, which are prefix-compressed and may expand far beyond the file size."""


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor in a checkpoint."""

    dtype: int
    shape: tuple[int, ...]
    content: bytes


class Checkpoint:
    """A checkpoint: tensors by key.  ``shard`` returns a data file, given its index and the number of files."""

    def __init__(self, index: bytes, shard: Callable[[int, int], bytes]) -> None:
        entries = dict(_entries(index))
        self._count = max(_message(BundleHeader(), entries.pop(b"", b""), "its header").num_shards, 1)
        self._entries = {key.decode("utf-8", "replace"): value for key, value in entries.items()}
        self._shard = shard
        self._shards: dict[int, bytes] = {}

    def keys(self) -> list[str]:
        """Return the keys of all tensors."""
        return list(self._entries)

    def tensor(self, key: str) -> StoredTensor | None:
        """Look up a tensor by key; None if there is none."""
        if key not in self._entries:
            return None
        entry = _message(BundleEntry(), self._entries[key], f"variable {key!r}")
        shape = tuple(int(dim.size) for dim in entry.shape.dim)
        if entry.slices or any(extent < 0 for extent in shape):
            raise ModelError(f"from_tensorflow: variable {key!r} is stored in slices, which is not supported")
        number = entry.shard_id
        if number not in self._shards:
            if not 0 <= number < self._count:
                raise ModelError(f"from_tensorflow: variable {key!r} is in file {number} of {self._count}")
            self._shards[number] = self._shard(number, self._count)
        content = self._shards[number][entry.offset : entry.offset + entry.size] if entry.offset >= 0 else b""
        if len(content) != entry.size:
            raise ModelError(
                f"from_tensorflow: variable {key!r} of shape {shape} claims {entry.size:,} bytes at byte "
                f"{entry.offset:,} of its file, which holds {len(self._shards[number]):,} in all"
            )
        return StoredTensor(int(entry.dtype), shape, content)


def _message(message: Message, data: bytes, what: str) -> Any:
    try:
        message.ParseFromString(data)
    except (DecodeError, RecursionError, RuntimeError):
        raise ModelError(f"from_tensorflow: the index of the checkpoint is damaged at {what}") from None
    return message


def _entries(index: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a table."""
    if len(index) < _FOOTER_BYTES or struct.unpack("<Q", index[-8:])[0] != _MAGIC:
        raise ModelError(
            f"from_tensorflow: the index of the checkpoint ({len(index):,} bytes) is not one, or is truncated"
        )
    footer = index[-_FOOTER_BYTES:]
    _, at = _handle(footer, 0)
    blocks, _ = _handle(footer, at)
    free, keys = 0, 0
    for _, place in _block(index, *blocks):
        (offset, size), _ = _handle(place, 0)
        if offset < free:
            raise ModelError(
                f"from_tensorflow: the index of the checkpoint is damaged: blocks overlap at byte {offset:,}"
            )
        free = offset + size
        for key, value in _block(index, offset, size):
            keys += len(key)
            if keys > MAX_KEY_BYTES:
                raise ModelError(f"from_tensorflow: the keys of the checkpoint take more than {MAX_KEY_BYTES:,} bytes")
            yield key, value


def _handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    """Parse a block handle: offset, size, and the position after it."""
    offset, at = _varint(data, at)
    size, at = _varint(data, at)
    return (offset, size), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 64, 7):
        if at >= len(data):
            break
        value |= (data[at] & 127) << shift
        at += 1
        if data[at - 1] < 128:
            return value, at
    raise ModelError(f"from_tensorflow: the index of the checkpoint is damaged: no number ends at byte {at}")


def _block(index: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Parse the prefix-compressed entries of a block."""
    if offset + size + _TRAILER_BYTES > len(index) or size < 4:
        raise ModelError(
            f"from_tensorflow: the index of the checkpoint is damaged: a block of {size:,} bytes at byte {offset:,}"
        )
    if index[offset + size]:
        raise ModelError("from_tensorflow: the index of the checkpoint is compressed, which TensorFlow never does")
    data = index[offset : offset + size]
    end = size - 4 - 4 * struct.unpack("<I", data[-4:])[0]
    at, key = 0, b""
    while at < end:
        shared, at = _varint(data, at)
        more, at = _varint(data, at)
        length, at = _varint(data, at)
        if shared > len(key) or at + more + length > end:
            raise ModelError(f"from_tensorflow: the index of the checkpoint is damaged at byte {offset + at:,}")
        key = key[:shared] + data[at : at + more]
        at += more + length
        yield key, data[at - length : at]
