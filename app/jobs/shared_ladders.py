"""Ladders shared by several servers: one measures, and listeners may be connected to any.

The server that measures writes the events of a ladder to the store every second; another that is asked for it reads
them from there, and leaves word that somebody listens, or wants it stopped.
"""

from __future__ import annotations

import threading
import time
from typing import Protocol

import msgspec

from app.store.shared_results import SharedResults

PERIOD_SECONDS = 1.0
"""How often a ladder is written and read."""
MISSED_SECONDS = 60.0
"""How long a ladder that has not ended may stay silent: its server has gone then."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """A ladder as it is shared."""

    workspace: bytes
    """Hash of what is measured."""
    entries: list[tuple[str, bytes]]
    """Kind and JSON of each event until now."""
    ended: bool
    beat: int = 0
    """Grows while the ladder's server lives."""


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What those want who are asked for a ladder of another server's."""

    beat: int
    """Grows while somebody listens."""
    stop: bool = False


class Climbed(Protocol):
    """A ladder of this server's."""

    id: str

    def state(self, beat: int) -> State:
        """Return what is shared."""

    def heard(self) -> None:
        """Note that somebody listens elsewhere."""

    def stop(self) -> None:
        """Stop it."""


class Followed(Protocol):
    """A copy of another server's ladder."""

    id: str

    @property
    def stopped(self) -> bool:
        """Whether it was stopped here."""

    @property
    def listened(self) -> bool:
        """Whether somebody listens here."""

    def update(self, state: State) -> None:
        """Take the events that are new."""

    def give_up(self) -> None:
        """End it, as its server has gone."""


_decode_state = msgspec.msgpack.Decoder(State).decode
_decode_wish = msgspec.msgpack.Decoder(Wish).decode


class SharedLadders:
    """Writes and reads ladders.

    Parameters
    ----------
    results : SharedResults
    """

    def __init__(self, results: SharedResults) -> None:
        self._results = results

    def publish(self, ladder: Climbed) -> None:
        """Write a ladder again and again, until it has ended."""
        threading.Thread(target=self._publish, args=(ladder,), name="ladder sharing", daemon=True).start()

    def find(self, name: str) -> State | None:
        """Return a ladder of any server's, or None."""
        encoded = self._results.read(f"ladders/{name}") if _plain(name) else None
        return _decode_state(encoded) if encoded is not None else None

    def follow(self, ladder: Followed) -> None:
        """Read a ladder again and again, until it has ended."""
        threading.Thread(target=self._follow, args=(ladder,), name="ladder sharing", daemon=True).start()

    def _publish(self, ladder: Climbed) -> None:
        beat, wished = 0, -1
        while True:
            state = ladder.state(beat)
            self._results.write({f"ladders/{ladder.id}": msgspec.msgpack.encode(state)})
            if state.ended:
                return
            time.sleep(PERIOD_SECONDS)
            beat += 1
            encoded = self._results.read(f"wishes/{ladder.id}")
            wish = _decode_wish(encoded) if encoded is not None else Wish(beat=-1)
            if wish.stop:
                ladder.stop()
            if wish.beat != wished:
                ladder.heard()
            wished = wish.beat

    def _follow(self, ladder: Followed) -> None:
        beat, last, news = 0, -1, time.monotonic()
        while True:
            state = self.find(ladder.id)
            if state is not None and (state.beat != last or state.ended):
                ladder.update(state)
                last, news = state.beat, time.monotonic()
                if state.ended:
                    return
            if time.monotonic() - news > MISSED_SECONDS:
                ladder.give_up()
                return
            if ladder.listened or ladder.stopped:
                beat += 1
                self._results.write(
                    {f"wishes/{ladder.id}": msgspec.msgpack.encode(Wish(beat=beat, stop=ladder.stopped))}
                )
            time.sleep(PERIOD_SECONDS)


def _plain(name: str) -> bool:
    """Whether a name is one that a ladder could have, and no path."""
    return bool(name) and len(name) <= 64 and all(letter.isalnum() or letter in "-_" for letter in name)
