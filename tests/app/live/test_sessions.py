"""Live workspaces: who writes, what the others hear, and limits of all that clients send."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import event, func, select, update

from app.__main__ import main
from app.artifacts import Options, Workspace
from app.errors import Busy, Forbidden, NotFound, TooLarge
from app.lessons.classes import Classes
from app.live import sessions
from app.live.people import Place
from app.live.sessions import Company, LiveSession, LiveSessions, Setting
from app.services import MAX_CHANGED_BYTES, MAX_CHANGES, services_of
from app.store import following
from app.store.backups import Backups
from app.store.links import SharedState
from app.store.tables import CLASSES, LINKS, LIVE, PEOPLE, create_tables
from app.views.live import LiveStream
from tests.app.runners import wait_until
from tests.app.store.doubles import Store

ANN, BOB, CAT = "a" * 32, "b" * 32, "c" * 32
OTHERS = [f"{number:032x}" for number in range(sessions.MAX_PEOPLE)]


@dataclass
class Clock:
    now: float = 1e9

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def database(tmp_path: Path) -> str:
    """The URL of a new database."""
    return f"sqlite:///{tmp_path / 'strata.sqlite3'}"


@pytest.fixture
def live(database: str, clock: Clock) -> Iterator[LiveSessions]:
    """The live workspaces of a new database."""
    live = LiveSessions(database, clock)
    with live.engine.begin() as connection:
        create_tables(connection)
    yield live
    live.close()


@pytest.fixture
def one(live: LiveSessions) -> LiveSession:
    """A workspace that Ann made."""
    return live.create(ANN, "client", "Ann", "x = 1", Setting())


@pytest.fixture
def there(one: LiveSession, database: str, clock: Clock) -> Iterator[LiveSession]:
    """The workspace as another server sees it."""
    live = LiveSessions(database, clock)
    yield live.get(one.id)
    live.close()


def heard(one: LiveSession) -> dict[str, Any]:
    """What somebody hears who listens from now on."""
    news = one.news(0)
    assert news is not None
    [listener, *_] = news[1].listeners
    told: dict[str, Any] = json.loads((LiveStream(one, listener).read() or b"").removeprefix(b"event: news\ndata: "))
    return told


def company(one: LiveSession) -> Company:
    return msgspec.convert(heard(one)["company"], Company)


def writer(one: LiveSession) -> str:
    return next((person.name for person in company(one).people if person.writes), "")


def text(one: LiveSession) -> str:
    script: str = heard(one)["text"]["script"]
    return script


def version(one: LiveSession) -> int:
    return one.content()[0]


def test_who_makes_a_workspace_holds_the_pen(one: LiveSession) -> None:
    one.attend(BOB, "Bob")
    assert writer(one) == "Ann"
    assert one.write(ANN, version(one), "x = 2", None).accepted
    assert not one.write(BOB, version(one), "x = 3", None).accepted
    assert not one.write(CAT, version(one), "x = 3", None).accepted, "who is not there writes nothing"
    assert text(one) == "x = 2"


def test_a_change_of_an_older_version_is_refused(one: LiveSession) -> None:
    base = version(one)
    first = one.write(ANN, base, "x = 2", None)
    second = one.write(ANN, base, "x = 3", None)
    assert (first.accepted, second.accepted, second.version) == (True, False, first.version)
    assert one.write(ANN, first.version, None, Setting(options=Options(threads=4))).accepted
    assert text(one) == "x = 2"
    assert heard(one)["text"]["setting"]["options"] == {"threads": 4}


def test_a_change_of_nothing_sends_nothing_and_keeps_no_pen(one: LiveSession, clock: Clock) -> None:
    one.attend(BOB, "Bob")
    stream = LiveStream(one, one.attend(ANN).listener)
    stream.read()
    before = version(one)
    clock.now += sessions.RESTING_SECONDS + 1
    assert one.write(ANN, before, None, None).accepted
    assert version(one) == before
    assert stream.read() == b""
    assert one.take_pen(BOB).yours


def test_what_moves_tells_neither_script_nor_setting_again(one: LiveSession) -> None:
    stream = LiveStream(one, one.attend(ANN).listener)
    assert b'"text"' in (stream.read() or b"")
    one.attend(BOB, "Bob", Place(line=3, pin=(1, 2)))
    told = stream.read() or b""
    assert b'"text"' not in told
    assert b'"pin":[1,2]' in told
    one.write(ANN, version(one), "x = 2", None)
    told = stream.read() or b""
    assert b'"script":"x = 2"' in told
    assert b"setting" not in told
    assert stream.read() == b""
    assert BOB.encode() not in told, "what a browser calls itself is nobody's business"


def test_nobody_hears_anything_whom_the_others_do_not_see(one: LiveSession, clock: Clock) -> None:
    listener = one.attend(BOB, "Bob").listener
    stream = LiveStream(one, listener)
    assert b"Bob" in (stream.read() or b"")
    clock.now += sessions.AWAY_SECONDS + 1
    one.write(ANN, version(one), "x = 2", None)
    assert stream.read() is None
    with pytest.raises(Forbidden):
        one.require(listener)
    assert one.attend(BOB, "Bob").listener == listener
    assert b"x = 2" in (LiveStream(one, listener).read() or b"")


def test_the_address_of_events_has_no_key(one: LiveSession) -> None:
    listener = one.attend(BOB).listener
    one.require(listener)
    for other in ("", BOB, listener[:-1], "é"):
        with pytest.raises(Forbidden):
            one.require(other)
    with pytest.raises(Forbidden):
        one.take_pen(listener)


def test_a_report_without_news_wakes_nobody(one: LiveSession) -> None:
    one.attend(BOB, "Bob", Place(line=3))
    woken: list[int] = []
    one.listen("me", lambda: woken.append(1))
    one.attend(BOB, "Bob", Place(line=3))
    one.depart(CAT)
    assert not woken
    one.attend(BOB, "Bob", Place(line=4))
    one.attend(BOB, "Bobby")
    assert len(woken) == 2


def test_the_pen_is_taken_from_who_rests(one: LiveSession, clock: Clock) -> None:
    one.attend(BOB, "Bob")
    assert not one.take_pen(BOB).yours
    assert [person.name for person in company(one).people if person.asks] == ["Bob"]
    clock.now += sessions.RESTING_SECONDS - 1
    one.write(ANN, version(one), "x = 2", None)
    clock.now += sessions.RESTING_SECONDS - 1
    one.attend(ANN)
    assert not one.take_pen(BOB).yours, "who writes keeps it"
    clock.now += 1
    one.attend(ANN)
    assert not one.take_pen(BOB).yours
    clock.now += 1
    assert one.take_pen(BOB).yours
    assert writer(one) == "Bob"
    assert not any(person.asks for person in company(one).people)


def test_the_pen_is_taken_from_who_got_it_and_is_away(one: LiveSession, clock: Clock) -> None:
    seat = one.attend(BOB, "Bob").seat
    one.attend(CAT)
    clock.now += sessions.ABSENT_SECONDS
    one.lay_pen(ANN, seat)
    assert not one.take_pen(CAT).yours
    clock.now += 1
    assert one.take_pen(CAT).yours


def test_who_asks_for_the_pen_is_named_for_a_while(one: LiveSession, clock: Clock) -> None:
    one.attend(BOB, "Bob")
    one.take_pen(BOB)
    for seconds, asks in (
        (sessions.AWAY_SECONDS, True),
        (sessions.ASKED_SECONDS - sessions.AWAY_SECONDS, True),
        (1, False),
    ):
        clock.now += seconds
        one.attend(BOB, place=Place(line=int(clock.now) % 100 + 1))
        assert any(person.asks for person in company(one).people) is asks


def test_the_pen_is_free_when_its_holder_is_gone(one: LiveSession, clock: Clock) -> None:
    one.attend(BOB, "Bob")
    for _ in range(3):
        clock.now += sessions.AWAY_SECONDS / 2
        one.write(BOB, 0, None, None)
        one.attend(BOB)
    assert [person.name for person in company(one).people] == ["Bob"]
    assert writer(one) == ""
    assert not one.write(ANN, version(one), "x = 9", None).accepted, "who comes back finds another version"
    assert one.take_pen(BOB).yours


def test_who_comes_back_before_anybody_missed_them_goes_on(one: LiveSession, clock: Clock) -> None:
    clock.now += 10 * sessions.AWAY_SECONDS
    assert one.attend(ANN).name == "Ann"
    assert one.write(ANN, version(one), "x = 2", None).accepted


def test_the_pen_is_handed_on_and_laid_down(one: LiveSession) -> None:
    seat = one.attend(BOB, "Bob").seat
    one.lay_pen(BOB, 1)
    assert writer(one) == "Ann", "only who holds it hands it on"
    one.take_pen(BOB)
    one.lay_pen(ANN, seat)
    assert writer(one) == "Bob"
    assert not any(person.asks for person in company(one).people)
    one.lay_pen(BOB, 77)
    assert writer(one) == ""
    one.attend(CAT)
    assert one.take_pen(CAT).yours
    one.depart(CAT)
    assert writer(one) == "Ann", "who leaves hands it back to who was there first"
    with pytest.raises(Forbidden):
        one.take_pen(CAT)


def test_of_many_who_take_the_pen_at_once_one_has_it(one: LiveSession, there: LiveSession) -> None:
    for key in OTHERS[:4]:
        one.attend(key)
    one.lay_pen(ANN)
    with ThreadPoolExecutor(4) as pool:
        given = list(pool.map(lambda key: (one, there)[int(key, 16) % 2].take_pen(key).yours, OTHERS[:4]))
    assert sum(given) == 1


def test_a_sixth_person_is_refused_until_somebody_leaves(one: LiveSession, clock: Clock) -> None:
    for key in OTHERS[1:]:
        one.attend(key)
    with pytest.raises(Busy) as refused:
        one.attend(BOB)
    assert refused.value.retry_after
    one.depart(OTHERS[1])
    assert one.attend(BOB).seat == 2, "the seat that became free"
    for seconds, people in ((sessions.AWAY_SECONDS, sessions.MAX_PEOPLE), (1, 1)):
        clock.now += seconds
        one.attend(BOB)
        assert len(company(one).people) == people


def test_two_of_a_name_are_told_apart(one: LiveSession) -> None:
    assert one.attend(BOB, "ANN").name == "ANN 2"
    assert one.attend(CAT, "a" * 24).name == "a" * 24
    assert one.attend(OTHERS[0], "A" * 24).name == "A" * 22 + " 2"
    assert one.attend(BOB, "Bob").name == "Bob"
    assert one.attend(BOB).name == "Bob"


def test_freezing_ends_the_writing(one: LiveSession) -> None:
    written = version(one)
    assert not one.freeze(BOB, written, "abc")
    one.write(ANN, written, "x = 2", None)
    assert not one.freeze(ANN, written, "abc"), "the link would be of another text"
    one.require_pen(ANN)
    with pytest.raises(Forbidden, match="only who holds the pen"):
        one.require_pen(BOB)
    assert one.freeze(ANN, version(one), "abc")
    assert company(one).link == "abc"
    assert not one.take_pen(ANN).yours
    assert not one.write(ANN, version(one), "x = 3", None).accepted


def test_what_is_kept_is_bounded(one: LiveSession, live: LiveSessions, clock: Clock) -> None:
    rest = sessions.MAX_SETTING_BYTES - len(msgspec.json.encode(Setting(files={"": b""})))
    content = bytes(rest // 4 * 3 - 3)  # base64 has four characters for three
    name = "n" * (rest - len(content) // 3 * 4)
    script, setting = "x" * sessions.MAX_SCRIPT, Setting(files={name: content})
    assert one.write(ANN, version(one), script, setting).accepted
    for too_long, too_large in ((f"{script}x", setting), (script, Setting(files={f"{name}n": content}))):
        with pytest.raises(TooLarge):
            one.write(ANN, version(one), too_long, too_large)
        with pytest.raises(TooLarge):
            live.create(ANN, "client", "", too_long, too_large)
    for number in range(sessions.MAX_LISTENERS):
        one.admit()
        one.listen(number, lambda: None)
    with pytest.raises(Busy):
        one.admit()


def test_sessions_end(one: LiveSession, live: LiveSessions, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MAX_SESSIONS_PER_CLIENT", 2)
    live.create(ANN, "client", "", "", Setting())
    with pytest.raises(Busy):
        live.create(ANN, "client", "", "", Setting())
    live.create(ANN, "another", "", "", Setting())
    monkeypatch.setattr(sessions, "MAX_SESSIONS", 3)
    with pytest.raises(Busy):
        live.create(ANN, "a third", "", "", Setting())
    clock.now += sessions.IDLE_SECONDS
    for _ in range(22):
        one = live.get(one.id)
        one.attend(BOB)
        clock.now += sessions.MAX_AGE_SECONDS / 24
    assert live.get(one.id) is one
    clock.now += 1
    with pytest.raises(NotFound):
        live.get(one.id)
    live.create(ANN, "client", "", "", Setting())
    for use in (lambda: one.attend(BOB), one.content):
        with pytest.raises(NotFound):
            use()
    one.refresh()
    assert one.ended


def test_of_many_made_at_once_an_address_keeps_no_more_than_it_may(
    live: LiveSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MAX_SESSIONS_PER_CLIENT", 2)
    event.listen(live.engine, "checkin", lambda *_: time.sleep(0.02))  # after each commit, while others make theirs

    def make(key: str) -> bool:
        try:
            live.create(key, "client", "", "", Setting())
        except Busy:
            return False
        return True

    with ThreadPoolExecutor(len(OTHERS)) as pool:
        assert sum(pool.map(make, OTHERS)) == 2


def test_what_ended_is_deleted_though_nobody_comes(one: LiveSession, live: LiveSessions, clock: Clock) -> None:
    def left() -> list[int]:
        with live.engine.connect() as connection:
            return [connection.scalar(select(func.count()).select_from(table)) or 0 for table in (LIVE, PEOPLE)]

    live.sweep()
    assert left() == [1, 1]
    clock.now += sessions.IDLE_SECONDS + 1
    live.sweep()
    assert left() == [0, 0]


def test_no_backup_has_what_is_deleted_within_hours(
    one: LiveSession, live: LiveSessions, database: str, tmp_path: Path
) -> None:
    script = "said_in_confidence = 1"
    one.write(ANN, version(one), script, None)
    Classes(database).create("first-compute", "client")[0].attend(BOB, 1, chosen="Bob of 7b")
    Store(database).create(SharedState(workspace=Workspace(script="shared = 1")))
    made = Backups(tmp_path / "strata.sqlite3", tmp_path / "backups").make()
    assert made is not None
    with closing(sqlite3.connect(made.path)) as copy:
        assert copy.execute("SELECT count(*) FROM links").fetchone() == (1,)
        for table in ("live_workspaces", "live_people", "classes", "class_students"):
            assert copy.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
    assert b"Bob of 7b" not in made.path.read_bytes()
    assert text(one) == script, "the database itself keeps it"


def test_news_reaches_who_follows_at_another_server(
    one: LiveSession, there: LiveSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.01)
    stream, woken = LiveStream(there, one.attend(ANN).listener), threading.Event()
    there.admit()
    stream.attach(woken.set)
    stream.read()
    one.write(ANN, version(one), "x = 2", None)
    assert woken.wait(10)
    assert b"x = 2" in (stream.read() or b"")
    stream.close()


def test_a_row_that_cannot_be_read_keeps_no_news_from_who_follows_another(
    one: LiveSession, live: LiveSessions, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.01)
    elsewhere = LiveSessions(live.engine.url, clock)
    damaged = elsewhere.get(live.create(BOB, "client", "", "", Setting()).id)
    sound, woken = elsewhere.get(one.id), threading.Event()
    for followed, wake in ((damaged, lambda: None), (sound, woken.set)):
        followed.admit()
        followed.listen("me", wake)
    with live.engine.begin() as connection:
        damage = {"version": 9, "written": 9, "script": b"not compressed"}
        connection.execute(update(LIVE).where(LIVE.c.id == damaged.id).values(damage))
    wait_until(lambda: damaged.ended)
    one.write(ANN, version(one), "x = 2", None)
    assert woken.wait(10)
    threads = [thread for thread in threading.enumerate() if thread.name.startswith("following")]
    assert threads
    elsewhere.close()
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive(), "it would read a database that is closed, again and again"


# Over HTTP


@pytest.fixture
def made(client: FlaskClient) -> str:
    """The id of a workspace that Ann made."""
    made: str = client.post("/api/live", json={"key": ANN, "name": "Ann", "script": "x = 1"}).get_json()["id"]
    return made


def links(app: Flask) -> int:
    with services_of(app).live.engine.connect() as connection:
        return connection.scalar(select(func.count()).select_from(LINKS)) or 0


def test_the_link_opens_the_workspace_and_once_frozen_its_permalink(
    app: Flask, client: FlaskClient, made: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(made) == 24
    page = client.get(f"/live/{made}")
    assert f'data-session="{made}"' in page.text
    assert "x = 1" in page.text
    assert page.headers["Cache-Control"] == "no-store"
    edit = {"key": ANN, "base": 1, "script": "x = 2", "setting": {"options": {"threads": 2}}}
    assert client.put(f"/api/live/{made}/text", json=edit).get_json()["accepted"]
    assert client.post(f"/api/live/{made}/link", json={"key": BOB}).status_code == 403
    client.post(f"/api/live/{made}/people", json={"key": BOB})
    assert client.post(f"/api/live/{made}/link", json={"key": BOB}).status_code == 403
    assert links(app) == 0
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(LiveSession, "freeze", lambda *_: False)
        assert client.post(f"/api/live/{made}/link", json={"key": ANN}).status_code == 403
    assert links(app) == 0, "nobody could delete them"
    frozen = client.post(f"/api/live/{made}/link", json={"key": ANN}).get_json()
    state = client.get(f"/api/links/{frozen['id']}").get_json()["state"]
    assert state["workspace"] == {"script": "x = 2", "options": {"threads": 2}}
    assert client.get(f"/live/{made}").headers["Location"] == f"/z/{frozen['id']}"


REFUSED: list[tuple[str, str, dict[str, Any] | None, int]] = [
    ("post", "people", {"key": "short"}, 422),
    ("post", "people", {"key": BOB, "place": {"line": 0}}, 422),
    ("post", "people", {"key": BOB, "place": {"pin": [1] * 9}}, 422),
    ("post", "people", {"key": BOB, "place": {"pin": [1 << 40]}}, 422),
    ("post", "people", {"key": BOB, "name": "x" * 25}, 422),
    ("post", "people", {"key": BOB, "name": "x\u202ey"}, 422),
    ("post", "people", {"key": BOB, "name": "a\nb"}, 422),
    ("post", "pen", {"key": BOB}, 403),
    ("put", "text", {"key": ANN, "base": 1, "script": "x" * 100_001}, 413),
    ("put", "text", {"key": ANN, "base": 1, "setting": {"uploads": {"m.onnx": "0" * 64}}}, 404),
    ("put", "text", {"key": ANN, "base": 1, "setting": {"files": {"../m": ""}}}, 422),
    ("put", "text", {"key": ANN, "base": 1, "setting": {"view": {"a": "y" * 2001}}}, 422),
    ("put", "text", {"key": ANN, "base": 1, "setting": {"other": 1}}, 422),
    ("put", "text", {"key": ANN, "base": -1}, 422),
    ("get", "events", None, 403),
]


def test_a_server_deletes_classes_and_workspaces_that_ended(
    app: Flask, client: FlaskClient, made: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.post("/api/classes", json={"lesson": "first-compute"})
    services = services_of(app)

    def left() -> int:
        with services.live.engine.connect() as connection:
            return sum(connection.scalar(select(func.count()).select_from(table)) or 0 for table in (LIVE, CLASSES))

    assert left() == 2
    services.live.clock = services.classes.clock = lambda: time.time() + sessions.MAX_AGE_SECONDS
    serving = SimpleNamespace(address="", run=lambda: wait_until(lambda: not left()))
    monkeypatch.setattr("app.serving.server.Server", lambda *_: serving)
    monkeypatch.setattr("app.__main__.make_app", lambda config: app)
    for name in ("app.__main__.prepare", "app.logs.configure", "logging.Logger.setLevel", "signal.signal"):
        monkeypatch.setattr(name, lambda *_: None)
    main(["--data", str(tmp_path)])


def test_what_is_wrong_is_refused(client: FlaskClient, made: str) -> None:
    for method, path, body, status in REFUSED:
        response = client.open(f"/api/live/{made}/{path}", method=method, json=body)
        assert response.status_code == status, (path, body, response.text)


def test_nobody_uses_up_the_changes_of_others(app: Flask, client: FlaskClient, made: str, one_moment: None) -> None:
    def report(key: str, address: str) -> int:
        body, origin = {"key": key}, {"REMOTE_ADDR": address}
        return client.post(f"/api/live/{made}/people", json=body, environ_base=origin).status_code

    services_of(app).editing.charge(f"{made} 10.0.0.66", MAX_CHANGES - 1)
    assert [report(BOB, "10.0.0.66"), report(BOB, "10.0.0.66")] == [200, 429]
    assert report(ANN, "10.0.0.7") == 200


def test_the_bytes_of_changes_are_bounded_and_nobody_uses_up_those_of_others(
    app: Flask, client: FlaskClient, made: str, one_moment: None
) -> None:
    def write(script: str, base: int, address: str) -> int:
        body, origin = {"key": ANN, "base": base, "script": script}, {"REMOTE_ADDR": address}
        return client.put(f"/api/live/{made}/text", json=body, environ_base=origin).status_code

    services_of(app).editing_bytes.charge("10.0.0.66", MAX_CHANGED_BYTES - 10_000)
    assert write("x" * 9000, 1, "10.0.0.66") == 200
    assert write("x" * 9000, 2, "10.0.0.66") == 429
    assert write("x" * 9000, 2, "10.0.0.7") == 200


def test_a_name_is_only_ever_text(client: FlaskClient, made: str) -> None:
    name = "<img src=x>"
    assert client.post(f"/api/live/{made}/people", json={"key": BOB, "name": name}).get_json()["name"] == name
    assert "<img src=x>" not in client.get(f"/live/{made}").text


def test_nothing_happens_in_a_workspace_that_there_is_not(client: FlaskClient) -> None:
    for name in ("none", "x" * 24, "é" * 24):
        assert client.get(f"/live/{name}").status_code == 404
        response = client.post(f"/api/live/{name}/people", json={"key": BOB})
        assert (response.status_code, response.get_json()["error"]["field"]) == (404, "session")
