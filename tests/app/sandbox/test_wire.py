"""The stream of a hostile child, cut into messages."""

from __future__ import annotations

import os
import struct
import tempfile

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.protocol import Message
from app.sandbox import Limits, Sandbox, wire

SMALL = Limits(message_bytes=100, output_bytes=300)


def read(stream: bytes, sizes: list[int], limits: Limits) -> tuple[list[bytes], bool]:
    """The messages of a stream that comes in pieces of these sizes, and whether it went too far."""
    reader, messages = wire.FrameReader(limits), []
    while stream:
        size = sizes.pop(0) if sizes else len(stream)
        reader.feed(stream[:size])
        stream = stream[size:]
        try:
            while (message := reader.next()) is not None:
                messages.append(message)
        except wire.OutputLimit:
            return messages, True
    return messages, False


PIECES = st.lists(st.integers(1, 50))


@given(st.lists(st.binary(max_size=60)), PIECES)
def test_messages_come_out_as_they_went_in(messages: list[bytes], sizes: list[int]) -> None:
    stream = b"".join(map(wire.frame, messages))
    assert read(stream, sizes, Limits()) == (messages, False)


@given(st.binary(max_size=2000), PIECES)
def test_whatever_a_child_sends_stays_within_the_limits(stream: bytes, sizes: list[int]) -> None:
    messages, _ = read(stream, sizes, SMALL)
    assert all(len(message) <= 100 for message in messages)
    assert sum(map(len, messages)) <= 300


def test_a_message_that_is_too_long_is_refused_before_it_comes() -> None:
    reader = wire.FrameReader(SMALL)
    reader.feed(struct.pack("<I", 101))
    with pytest.raises(wire.OutputLimit, match="a message of 101 bytes; at most 100 are allowed"):
        reader.next()


@pytest.mark.parametrize(("size", "fit"), [(0, 75), (96, 3), (100, 2), (101, 0)])
def test_messages_are_too_long_together(size: int, fit: int) -> None:
    messages, too_far = read(wire.frame(b"x" * size) * 100, [], SMALL)
    assert len(messages) == fit
    assert too_far


def test_a_job_is_read_as_it_was_written() -> None:
    files = {"a": b"1", "b": b"", "c": b"22"}
    with tempfile.TemporaryFile() as file:
        wire.write_job(file.fileno(), b"request", files, SMALL)
        header = wire.read_header(file.fileno())
        assert header.limits == SMALL
        assert wire.read_exactly(file.fileno(), header.request) == b"request"
        for name, size in header.files:
            assert wire.read_exactly(file.fileno(), size) == files[name]
        with pytest.raises(EOFError, match="ends early"):
            wire.read_exactly(file.fileno(), 1)


def test_everything_is_written_through_a_narrow_pipe() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, True)
    content = bytes(range(256)) * 4096
    pid = os.fork()
    if pid == 0:
        wire.write_all(writing, content)
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        assert pipe.read() == content
    assert os.waitpid(pid, 0)[1] == 0


FORGED = {
    "nothing": b"",
    "no JSON": b"\xff\xfe\x00",
    "deep arrays": b"[" * 1_000_000,
    "deep objects": b'{"answer":' * 200_000,
    "deep where a value is skipped": b'{"type":"snapshot","extra":' + b"[" * 200_000,
    "a status message": b'{"type":"exited","exit_code":0}',
    "wrong types": b'{"type":"snapshot","answer":{"units":{"a":1}}}',
    "a huge number": b'{"type":"progress","done":' + b"9" * 100_000 + b',"total":1,"label":""}',
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_message_is_refused_by_its_reader(name: str, scripts: Sandbox) -> None:
    job = scripts.start(b"import sys\nemit(open('forged', 'rb').read())", {"forged": FORGED[name]})
    (message,) = job.messages()
    assert message == FORGED[name]
    with pytest.raises((msgspec.DecodeError, RecursionError)):
        msgspec.json.decode(message, type=Message)
