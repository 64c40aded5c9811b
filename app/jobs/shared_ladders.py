"""Ladders shared by several servers: one measures, and listeners may be connected to any.

The measuring server writes the events of a ladder to the store every second; other servers read them from there, and
write back whether anyone listens, or wants to stop it.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

import msgspec

from app.store.shared_results import SharedResults

PERIOD_SECONDS = 1.0
"""Interval between writes, and between reads."""
MISSED_SECONDS = 60.0
"""How long a running ladder may go without updates before its server is assumed to be gone."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The shared state of a ladder."""

    workspace: bytes
    """Hash of the measured workspace."""
    entries: list[tuple[str, bytes]]
    """Kind and JSON of the events so far."""
    ended: bool
    beat: int = 0
    """Heartbeat counter of the ladder's server."""


class FollowerFeedback(msgspec.Struct, frozen=True, kw_only=True):
    """Feedback of a server that follows a ladder of another server."""

    beat: int
    """Heartbeat counter while anyone listens."""
    stop: bool = False


class LocalLadder(Protocol):
    """A ladder of this server."""

    id: str

    def state(self, beat: int) -> State:
        """Return the state to share."""

    def heard(self) -> None:
        """Note that someone listens on another server."""

    def stop(self) -> None:
        """Stop the ladder."""


class RemoteLadder(Protocol):
    """A copy of another server's ladder."""

    id: str

    @property
    def stopped(self) -> bool:
        """Whether it was stopped on this server."""

    @property
    def listened(self) -> bool:
        """Whether anyone listens on this server."""

    def update(self, state: State) -> None:
        """Add new events."""

    def give_up(self) -> None:
        """End the copy, because the ladder's server is gone."""


_decode_state = msgspec.msgpack.Decoder(State).decode
_decode_feedback = msgspec.msgpack.Decoder(FollowerFeedback).decode


class SharedLadders:
    """Publishes and follows ladders in the shared store."""

    def __init__(self, results: SharedResults) -> None:
        self._results = results

    def publish(self, ladder: LocalLadder) -> None:
        """Write a ladder periodically until it ends."""
        threading.Thread(target=self._publish, args=(ladder,), name="ladder sharing", daemon=True).start()

    def find(self, name: str) -> State | None:
        """Return the state of a ladder of any server, or None."""
        encoded = self._results.read(f"ladders/{name}") if _plain(name) else None
        return _decode_state(encoded) if encoded is not None else None

    def follow(self, ladder: RemoteLadder) -> None:
        """Read a ladder periodically until it ends."""
        threading.Thread(target=self._follow, args=(ladder,), name="ladder sharing", daemon=True).start()

    def _publish(self, ladder: LocalLadder) -> None:
        beat, last_beat = 0, -1
        while True:
            state = ladder.state(beat)
            self._results.write({f"ladders/{ladder.id}": msgspec.msgpack.encode(state)})
            if state.ended:
                return
            time.sleep(PERIOD_SECONDS)
            beat += 1
            encoded = self._results.read(f"wishes/{ladder.id}")
            feedback = _decode_feedback(encoded) if encoded is not None else FollowerFeedback(beat=-1)
            if feedback.stop:
                ladder.stop()
            if feedback.beat != last_beat:
                ladder.heard()
            last_beat = feedback.beat

    def _follow(self, ladder: RemoteLadder) -> None:
        beat, last, heard_at = 0, -1, time.monotonic()
        while True:
            state = self.find(ladder.id)
            if state is not None and (state.beat != last or state.ended):
                ladder.update(state)
                last, heard_at = state.beat, time.monotonic()
                if state.ended:
                    return
            if time.monotonic() - heard_at > MISSED_SECONDS:
                ladder.give_up()
                return
            if ladder.listened or ladder.stopped:
                beat += 1
                self._results.write(
                    {f"wishes/{ladder.id}": msgspec.msgpack.encode(FollowerFeedback(beat=beat, stop=ladder.stopped))}
                )
            time.sleep(PERIOD_SECONDS)


def _plain(name: str) -> bool:
    """Return whether a name is a valid ladder id, and not a path."""
    return bool(name) and len(name) <= 64 and all(letter.isalnum() or letter in "-_" for letter in name)
