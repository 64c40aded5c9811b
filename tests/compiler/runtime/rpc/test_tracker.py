"""A tracker lends servers by key and priority, and knows those that vanish and come back."""

from __future__ import annotations

import errno
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from compiler.ir.error import RPCError
from compiler.runtime.rpc import listening
from compiler.runtime.rpc import tracker as trackers
from compiler.runtime.rpc.client import session_on as connect
from compiler.runtime.rpc.handshake import listen
from compiler.runtime.rpc.tracker import Tracker, TrackerSession
from tests.compiler.runtime.rpc.servers import serving

HOST = "127.0.0.1"
SECRET = b"sixteen characters"


@contextmanager
def tracking(port: int = 0, secret: bytes = b"") -> Iterator[int]:
    """Yield the port of a tracker, which ends with the block."""
    listener = listen(HOST, [port], secret)
    tracker = Tracker(listener, secret)
    tracker.start()
    yield listener.getsockname()[1]
    tracker.end()


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(200):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it does not come to hold")


def _free(session: TrackerSession, key: str) -> int:
    return int(session.summary()["queue_info"].get(key, {"free": 0})["free"])


def test_servers_of_two_keys_are_lent_and_come_back() -> None:
    with tracking() as port, serving("fast", tracker=(HOST, port)) as fast, serving("slow", tracker=(HOST, port)):
        tracker = TrackerSession(HOST, port)
        session = tracker.request("fast", session_timeout=60)
        assert session.peer == f"{HOST}:{fast}"
        assert session.listdir(".") == []
        _until(lambda: _free(tracker, "slow") == 1)
        assert tracker.summary()["queue_info"] == {"fast": {"free": 0, "pending": 0}, "slow": {"free": 1, "pending": 0}}
        text = tracker.text_summary()
        assert f"{HOST}:{fast}    server:fast" in text
        assert "key    total  free  pending" in text
        assert "slow   1      1     0      " in text
        session.close()
        _until(lambda: _free(tracker, "fast") == 1)
        with pytest.raises(RPCError, match=f"^{HOST}:{fast}: .*it is lent by its tracker: ask there"):
            connect(HOST, fast, "fast")
        assert tracker.request_and_run("slow", lambda remote: remote.listdir(".")) == []
        tracker.close()


def test_who_has_the_highest_priority_is_served_first() -> None:
    with tracking() as port, serving("one", tracker=(HOST, port)):
        tracker = TrackerSession(HOST, port)
        held = tracker.request("one")
        served: list[int] = []

        def ask(priority: int) -> None:
            TrackerSession(HOST, port).request_and_run("one", lambda remote: served.append(priority), priority)

        threads = []
        for count, priority in enumerate((1, 5, 3), 1):
            threads.append(threading.Thread(target=ask, args=(priority,)))
            threads[-1].start()
            _until(lambda count=count: tracker.summary()["queue_info"]["one"]["pending"] == count)  # type: ignore[misc]
        held.close()
        for thread in threads:
            thread.join(30)
        assert served == [5, 3, 1]


def test_servers_find_a_tracker_that_was_restarted() -> None:
    with tracking() as port, serving("here", tracker=(HOST, port), secret=SECRET) as other:
        # Without the secret the tracker and the server do not know each other.
        assert _free(TrackerSession(HOST, port), "here") == 0
        assert other
    with tracking(port, SECRET) as same, serving("here", tracker=(HOST, port), secret=SECRET):
        tracker = TrackerSession(HOST, same, SECRET)
        _until(lambda: _free(tracker, "here") == 1)
    with tracking(port, SECRET):
        assert _free(tracker, "here") == 0
    with serving("here", tracker=(HOST, port), secret=SECRET), tracking(port, SECRET):
        _until(lambda: _free(tracker, "here") == 1)
        with tracker.request("here") as session:
            assert session.listdir(".") == []
        with pytest.raises(RPCError, match="asks for a secret"):
            TrackerSession(HOST, port)


def test_connections_that_are_too_many_or_silent_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "_MOST", 1)
    with tracking() as port:
        first = TrackerSession(HOST, port)
        assert not _is_served(port)
        first.close()
        _until(lambda: _is_served(port))
    monkeypatch.setattr(listening, "GREETING", 0.2)
    with tracking() as port, socket.create_connection((HOST, port)) as silent:
        silent.settimeout(10)
        assert silent.recv(100) == b""


def _is_served(port: int) -> bool:
    try:
        session = TrackerSession(HOST, port)
    except RPCError:  # the last one is not forgotten yet
        return False
    session.close()
    return True


def test_a_tracker_goes_on_when_a_connection_cannot_be_accepted() -> None:
    class Short(socket.socket):
        left = 1

        def accept(self) -> tuple[socket.socket, object]:
            if self.left:
                Short.left -= 1
                raise OSError(errno.EMFILE, "Too many open files")
            return super().accept()

    tracker = Tracker(Short(fileno=listen(HOST, [0], b"").detach()))
    tracker.start()
    assert TrackerSession(HOST, tracker.port).summary()["server_info"] == []
    tracker.end()


def test_servers_that_vanish_are_lent_no_more() -> None:
    with tracking() as port:
        tracker = TrackerSession(HOST, port)
        with serving("gone", tracker=(HOST, port)):
            _until(lambda: _free(tracker, "gone") == 1)
        _until(lambda: tracker.summary()["server_info"] == [])
        with socket.create_server((HOST, 0)) as listener:
            closed = listener.getsockname()[1]
        liar = TrackerSession(HOST, port)
        liar.ask("offer", "gone", closed, "", "ticket")
        asked = f"request of 'gone': 1 times no session: {HOST}:{closed}: session for 'gone'"
        with pytest.raises(RPCError, match=f"^{HOST}:{port}: {asked}"):
            tracker.request("gone", max_retry=1)
        with pytest.raises(RPCError, match="a tracker has no operation 'nothing'"):
            liar.ask("nothing")
        with pytest.raises(RPCError, match="Expected `int`"):
            liar.ask("offer", "key", "port", "", "ticket")
        liar.close()
    with pytest.raises(RPCError, match="this is a server of sessions"), serving() as other:
        TrackerSession(HOST, other)


def test_a_key_that_no_server_offers_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trackers, "_UNKNOWN", 0.5)
    with tracking() as port:
        tracker = TrackerSession(HOST, port)
        with pytest.raises(RPCError, match=r"'rasp'; the keys of the tracker: none$"):
            tracker.request("rasp")
        with serving("raspi", tracker=(HOST, port)):
            _until(lambda: _free(tracker, "raspi") == 1)
            with pytest.raises(RPCError, match=r"'rasp'; .*: 'raspi'; did you mean 'raspi'\?$"):
                tracker.request("rasp")
            with tracker.request("raspi"):
                waiting = threading.Thread(target=lambda: TrackerSession(HOST, port).request("raspi").close())
                waiting.start()
                time.sleep(1.0)
                assert waiting.is_alive(), "a server that is lent is waited for"
            waiting.join(timeout=20)
            assert not waiting.is_alive()
        _until(lambda: _free(tracker, "raspi") == 0)
        waiting = threading.Thread(target=lambda: tracker.request("raspi").close())
        waiting.start()
        time.sleep(1.0)
        assert waiting.is_alive(), "a server that is gone may come back"
        with serving("raspi", tracker=(HOST, port)):
            waiting.join(timeout=20)
            assert not waiting.is_alive()
