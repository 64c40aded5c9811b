"""Classes: who may do what, what everybody hears, and limits of all that clients send."""

from __future__ import annotations

import csv
import itertools
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask.testing import FlaskClient

from app.artifacts import Measurement
from app.errors import Busy, Forbidden, InvalidBody, NotFound
from app.jobs.fair_queue import FairQueue
from app.lessons import classes
from app.lessons.classes import Classes, LessonClass, News, Presented
from app.protocol import Measured, ProgramDefinition, RecordedFunction
from app.services import MAX_NAMES, services_of
from app.store import following
from app.store.tables import create_tables
from app.views.classes import ClassStream
from tests.app.runners import Script, ScriptedRunner, snapshot

MARY, JOHN = "a" * 32, "b" * 32


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
def school(database: str, clock: Clock) -> Iterator[Classes]:
    """The classes of a new database."""
    school = Classes(database, clock)
    with school.engine.begin() as connection:
        create_tables(connection)
    yield school
    school.close()


@pytest.fixture
def one(school: Classes) -> LessonClass:
    return school.create("split", "client")[0]


@pytest.fixture
def there(one: LessonClass, database: str, clock: Clock) -> Iterator[LessonClass]:
    """The class as another server sees it."""
    school = Classes(database, clock)
    yield school.get(one.id)
    school.close()


def news_of(one: LessonClass) -> News:
    latest = one.news(0)
    assert latest is not None
    return msgspec.json.decode(latest[1], type=News)


def test_only_the_secret_makes_a_teacher(school: Classes, database: str) -> None:
    one, secret = school.create("split", "client")
    one.require(secret)
    assert secret.encode() not in Path(database.removeprefix("sqlite:///")).read_bytes()
    for wrong in ("", one.id, secret[:-1], "ü"):
        with pytest.raises(Forbidden):
            one.require(wrong)


def test_a_student_keeps_his_name_and_the_teacher_sees_his_step(one: LessonClass, clock: Clock) -> None:
    name = one.attend(MARY, 1)
    assert one.attend(MARY, 3) == name
    assert one.attend(JOHN, 1) != name
    one.credit(MARY, 1, None, None)
    assert [(row.step, row.done) for row in one.students if row.name == name] == [(3, 1)]
    clock.now += classes.AWAY_SECONDS + 1
    one.attend(JOHN, 2)
    assert [(row.name, row.away) for row in one.students] == [(one.attend(JOHN, 2), False), (name, True)]
    assert MARY.encode() not in one.news(0)[1], "what a browser calls itself is nobody's business"  # type: ignore[index]


def test_the_board_has_the_best_of_each(one: LessonClass) -> None:
    mary, john = one.attend(MARY, 1), one.attend(JOHN, 1)
    for key, seconds in ((MARY, 3e-3), (MARY, 1e-3), (MARY, 2e-3), (JOHN, 0.5e-3)):
        one.credit(key, 2, seconds, 2.0)
    assert [(row.name, row.milliseconds) for row in news_of(one).board] == [(john, 0.5), (mary, 1.0)]
    one.credit(MARY, 2, 0.25e-3, 2.0, disturbed=True)
    assert [(row.name, row.disturbed) for row in news_of(one).board] == [(mary, True), (john, False)]
    with pytest.raises(NotFound):
        one.credit("c" * 32, 2, 1e-9, None)


def test_what_is_presented_replaces_what_was(one: LessonClass) -> None:
    woken: list[int] = []
    one.listen("me", lambda: woken.append(1))
    for number in range(20):
        one.present(Presented(step=1, script=f"x = {number}"))
    stream = ClassStream(one)
    assert stream.read() == b"event: news\ndata: " + one.news(0)[1] + b"\n\n"  # type: ignore[index]
    assert b"x = 19" in one.news(0)[1]  # type: ignore[index]
    assert stream.read() == b"", "older states are kept nowhere"
    assert len(woken) == 20
    one.present(None)
    assert b"x = 19" not in (stream.read() or b"")
    with pytest.raises(InvalidBody):
        one.present(Presented(step=1, script="x" * 50_000, view={f"{n}": "y" * 400 for n in range(100)}))


def test_a_class_is_bounded(one: LessonClass, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "MAX_STUDENTS", 5)
    monkeypatch.setattr(one, "most_listeners", 4)
    for number in range(classes.MAX_STUDENTS):
        one.attend(f"{number:032x}", 1)
    with pytest.raises(Busy):
        one.attend(MARY, 1)
    assert len({row.name for row in one.students}) == classes.MAX_STUDENTS
    for number in range(classes.MAX_STUDENTS - 1):
        one.credit(f"{number:032x}", 1, 1.0, None)
    clock.now += classes.AWAY_SECONDS + 1
    one.attend(MARY, 1)
    assert len(one.students) == classes.MAX_STUDENTS
    one.credit(MARY, 1, 1.0, None)
    clock.now += 100 * classes.AWAY_SECONDS
    with pytest.raises(Busy):
        one.attend(JOHN, 1)
    assert min(row.done for row in one.students) == 1, "whoever did something keeps their place"
    for number in range(one.most_listeners):
        one.admit()
        one.listen(number, lambda: None)
    with pytest.raises(Busy):
        one.admit()
    one.leave(3)
    one.admit()


SCHOOL, HOME = "192.0.2.1", "198.51.100.7"


def many(count: int, first: int = 0) -> list[str]:
    return [f"{number:032x}" for number in range(first, first + count)]


def test_a_hundred_students_behind_one_address_join(one: LessonClass, there: LessonClass) -> None:
    names = [(one, there)[number % 2].attend(key, 1, SCHOOL) for number, key in enumerate(many(100))]
    assert len(set(names)) == 100
    assert not one.admission.waiting


def test_one_address_cannot_fill_a_class_unless_its_teacher_lets_it(
    one: LessonClass, there: LessonClass, clock: Clock
) -> None:
    most = classes.MAX_PER_ADDRESS
    for number, key in enumerate(many(most)):
        (one, there)[number % 2].attend(key, 1, SCHOOL)
    for late in (one, there):
        with pytest.raises(Busy, match=f"{most} students have joined from your address"):
            late.attend(MARY, 1, SCHOOL)
        assert late.admission.waiting
    one.attend(JOHN, 1, HOME)
    assert one.attend(many(1)[0], 2, SCHOOL), "who is in the class stays"
    there.admit_crowds()
    assert not one.admission.waiting
    assert one.admission.per_address == classes.MAX_STUDENTS
    one.attend(MARY, 1, SCHOOL)
    assert len(one.students) == most + 2


def test_the_teacher_hears_of_who_waits_for_a_while(one: LessonClass, clock: Clock) -> None:
    for key in many(classes.MAX_PER_ADDRESS):
        one.attend(key, 1, SCHOOL)
    with pytest.raises(Busy):
        one.attend(MARY, 1, SCHOOL)
    clock.now += classes.TURNED_AWAY_SECONDS + 1
    assert not one.admission.waiting


def test_a_renewed_link_shuts_out_who_has_the_old_one(one: LessonClass, there: LessonClass) -> None:
    mary = one.attend(MARY, 1, SCHOOL)
    one.renew_entry(clear=False)
    assert there.attend(MARY, 2, SCHOOL) == mary, "who is in the class stays"
    for old in ("", "wrong", "ü"):
        with pytest.raises(Forbidden, match="was renewed"):
            there.attend(JOHN, 1, HOME, old)
    first = there.admission.entry
    there.attend(JOHN, 1, HOME, first)
    there.renew_entry(clear=False)
    with pytest.raises(Forbidden):
        one.attend("c" * 32, 1, HOME, first)
    assert one.students == there.students
    assert len(one.students) == 2


def test_a_class_full_of_strangers_is_cleared_and_results_stay(one: LessonClass, there: LessonClass) -> None:
    mary = one.attend(MARY, 1, SCHOOL)
    one.credit(MARY, 1, 2e-3, None)
    for number, key in enumerate(many(classes.MAX_STUDENTS - 1)):
        one.attend(key, 1, f"203.0.113.{number % 4}")
    with pytest.raises(Busy):
        one.attend(JOHN, 1, HOME)
    there.renew_entry(clear=True)
    assert [row.name for row in one.students] == [mary]
    assert [row.name for row in news_of(one).board] == [mary]
    assert news_of(one).students == 1
    for key in many(3):
        with pytest.raises(Forbidden):
            one.attend(key, 1, "203.0.113.1")
    one.attend(JOHN, 1, HOME, there.admission.entry)


def test_room_is_made_where_most_come_from(one: LessonClass, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "MAX_STUDENTS", 5)
    quiet = one.attend(MARY, 1, HOME)
    for key in many(4):
        one.attend(key, 1, SCHOOL)
    clock.now += classes.AWAY_SECONDS + 1
    one.attend(JOHN, 1, "198.51.100.8")
    assert quiet in [row.name for row in one.students]


def test_addresses_are_not_stored(one: LessonClass, database: str) -> None:
    one.attend(MARY, 1, SCHOOL)
    files = Path(database.removeprefix("sqlite:///")).parent.glob("strata.sqlite3*")
    assert all(SCHOOL.encode() not in file.read_bytes() for file in files)


def test_classes_are_bounded_and_idle_ones_go(school: Classes, clock: Clock) -> None:
    first, _ = school.create("split", "me")
    for _ in range(classes.MAX_CLASSES_PER_CLIENT - 1):
        school.create("split", "me")
    with pytest.raises(Busy):
        school.create("split", "me")
    other, _ = school.create("split", "another")
    clock.now += classes.IDLE_SECONDS - 1
    other.attend(MARY, 1)
    clock.now += 2
    school.create("split", "me")
    assert school.get(other.id) is other
    for name in (first.id, "x" * 12, "\0", "", other.id + "x"):
        with pytest.raises(NotFound):
            school.get(name)


# at several servers


def test_two_servers_have_one_class(one: LessonClass, there: LessonClass) -> None:
    name = one.attend(MARY, 1)
    assert there.attend(MARY, 2) == name
    john = there.attend(JOHN, 1)
    one.credit(MARY, 1, 2e-3, None)
    there.credit(JOHN, 1, 1e-3, 3.0)
    assert [(row.name, row.milliseconds) for row in news_of(one).board] == [(john, 1.0), (name, 2.0)]
    assert news_of(one) == news_of(there)
    assert one.students == there.students
    assert {row.name: row.step for row in one.students} == {name: 2, john: 1}


def test_news_reaches_who_follows_at_another_server(
    one: LessonClass, there: LessonClass, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.01)
    stream, woken = ClassStream(there), threading.Event()
    there.admit()
    stream.attach(woken.set)
    assert b'"presented":null' in (stream.read() or b"")
    one.present(Presented(step=3, script="x = 1"))
    assert woken.wait(10)
    assert b'"script":"x = 1"' in (stream.read() or b"")
    stream.close()


def test_who_follows_a_class_that_ends_is_told(
    one: LessonClass, there: LessonClass, school: Classes, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "LOOK_SECONDS", 0.01)
    stream, woken = ClassStream(there), threading.Event()
    there.admit()
    stream.attach(woken.set)
    clock.now += classes.IDLE_SECONDS + 1
    school.create("split", "another")
    assert woken.wait(10)
    assert [stream.read(), stream.read()] == [ClassStream.last, None]
    stream.close()
    with pytest.raises(NotFound):
        one.attend(MARY, 1)


def test_students_who_come_at_once_have_different_names(one: LessonClass, there: LessonClass) -> None:
    keys = [f"{number:032x}" for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda key: (one, there)[int(key, 16) % 2].attend(key, 1), keys))
    assert len(set(names)) == len(keys)
    assert news_of(one).students == news_of(there).students == len(keys)


# over HTTP


def make(client: FlaskClient, lesson: str = "cache-write") -> tuple[str, dict[str, str]]:
    made = client.post("/api/classes", json={"lesson": lesson}).get_json()
    return f"/api/classes/{made['id']}", {"X-Class-Secret": made["secret"]}


def waiting_at_most(queue: FairQueue) -> int:
    """Return how many requests of one address a queue lets wait."""
    tickets = []
    with suppress(Busy):
        for number in itertools.count():
            tickets.append(queue.enter("127.0.0.1", str(number)))
    waiting = queue.waiting
    for ticket in tickets:
        ticket.end()
    return waiting


def test_every_student_of_an_address_may_have_a_request_more_waiting(client: FlaskClient) -> None:
    address, _ = make(client)
    services = services_of(client.application)
    queues = (services.compiling, services.measuring)
    before = [waiting_at_most(queue) for queue in queues]
    for student in (MARY, JOHN, MARY):
        client.post(f"{address}/students", json={"student": student, "step": 1})
    refused = client.post(f"{address}/students", json={"student": "c" * 32, "step": 1, "join": "an old link"})
    assert refused.status_code == 403
    assert [waiting_at_most(queue) for queue in queues] == [count + 2 for count in before]


def test_only_the_teacher_presents_and_sees_the_list(client: FlaskClient) -> None:
    address, teacher = make(client)
    state = {"step": 2, "script": "x = 1"}
    for headers, status in (({}, 403), ({"X-Class-Secret": "guess"}, 403), (teacher, 204)):
        assert client.put(f"{address}/presented", json=state, headers=headers).status_code == status
        assert client.delete(f"{address}/presented", headers=headers).status_code == status
        assert client.get(f"{address}/students", headers=headers).status_code in (200, status)
        assert client.get(f"{address}/admission", headers=headers).status_code in (200, status)
        assert client.post(f"{address}/admission", json={}, headers=headers).status_code in (200, status)
        assert client.post(f"{address}/admission/crowds", headers=headers).status_code in (200, status)
    assert client.get(f"{address}/students").status_code == 403
    assert client.get(f"{address}/admission").status_code == 403
    assert client.post(f"{address}/admission", json={"clear": True}).status_code == 403
    assert client.post(f"{address}/admission/crowds").status_code == 403


def test_one_client_s_network_is_one_address(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classes, "MAX_PER_ADDRESS", 2)
    address, teacher = make(client)

    def join(key: str, source: str, **more: str) -> int:
        body = {"student": key, "step": 1, **more}
        return client.post(f"{address}/students", json=body, environ_base={"REMOTE_ADDR": source}).status_code

    near = [join(key, f"2001:db8::{number + 1}") for number, key in enumerate(many(3))]
    assert near == [200, 200, 429]
    assert join(MARY, "2001:db8:0:1::1") == 200
    assert client.get(f"{address}/admission", headers=teacher).get_json()["waiting"]
    entry = client.post(f"{address}/admission", json={"clear": True}, headers=teacher).get_json()["entry"]
    assert [join(key, "2001:db8::1") for key in (MARY, JOHN)] == [403, 403]
    assert join(JOHN, "2001:db8::1", join=entry) == 200


def test_only_the_teacher_ends_a_class_and_nothing_is_kept_of_it(client: FlaskClient) -> None:
    address, teacher = make(client)
    client.post(f"{address}/students", json={"student": MARY, "step": 2})
    following = client.get(f"{address}/events")
    assert client.delete(address).status_code == 403
    assert client.post(f"{address}/students", json={"student": MARY, "step": 3}).status_code == 200
    assert client.delete(address, headers=teacher).status_code == 204
    assert following.get_data().endswith(ClassStream.last)
    for asked in (client.delete(address, headers=teacher), client.get(f"{address}/events")):
        assert (asked.status_code, asked.get_json()["error"]["field"]) == (404, "class")


@pytest.mark.parametrize(
    "body",
    [
        {"student": "me", "step": 1},
        {"student": MARY.upper(), "step": 1},
        {"student": MARY + "\n", "step": 1},
        {"student": MARY, "step": 0},
        {"student": MARY, "step": 10**9},
        {"student": MARY, "step": 1, "name": "x" * 25},
        {"student": MARY, "step": 1, "name": "a\nb"},
        {"student": MARY, "step": 1, "name": "x\u202ey"},
    ],
)
def test_students_cannot_call_themselves_what_they_like(client: FlaskClient, body: dict[str, Any]) -> None:
    address, _ = make(client)
    assert client.post(f"{address}/students", json=body).status_code == 422


def test_names_are_chosen_and_hidden(one: LessonClass) -> None:
    given = one.attend(MARY, 1)
    assert one.attend(MARY, 1, chosen="Mary") == "Mary"
    assert one.attend(MARY, 2) == "Mary"
    other = one.attend(JOHN, 1)
    for taken in ("MARY", given.upper()):
        with pytest.raises(Forbidden, match="is taken in this class"):
            one.attend(JOHN, 1, chosen=taken)
    one.attend(JOHN, 1, chosen="=1+1")
    one.credit(MARY, 2, 1e-3, 2.0)
    one.credit(JOHN, 1, None, None)
    assert [row.name for row in news_of(one).board] == ["Mary"]
    one.hide_names(given, hidden=True)
    assert [row.name for row in news_of(one).board] == [given]
    assert (one.seat(MARY).name, one.seat(MARY).chosen, one.seat(JOHN).name) == (given, "Mary", "=1+1")
    one.hide_names(given, hidden=False)
    one.hide_names("", hidden=True)
    assert one.admission.anonymous
    assert {row.name for row in one.students} == {given, other}
    assert [row.name for row in news_of(one).board] == [given]
    table = list(csv.reader(one.results().splitlines()[1:]))
    assert sorted(table) == [["'=1+1", other, "1", "", "", "no"], ["Mary", given, "2", "1", "2", "no"]]
    one.hide_names("", hidden=False)
    assert one.attend(MARY, 1, chosen="") == given
    with pytest.raises(NotFound):
        one.hide_names("nobody", hidden=True)


def test_a_new_name_wakes_the_class_only_if_the_board_has_it(one: LessonClass) -> None:
    one.attend(MARY, 1)
    woken: list[int] = []
    one.admit()
    one.listen("me", lambda: woken.append(1))
    one.attend(MARY, 1, chosen="Mary")
    assert not woken
    one.credit(MARY, 1, 1e-3, None)
    one.attend(MARY, 1, chosen="Mary")
    assert len(woken) == 1
    one.attend(MARY, 1, chosen="Marie")
    assert len(woken) == 2


def test_a_student_chooses_few_names_a_minute(client: FlaskClient, one_moment: None) -> None:
    address, _ = make(client)
    body = {"student": MARY, "step": 1}
    for number in range(MAX_NAMES):
        assert client.post(f"{address}/students", json=body | {"name": f"Mary {number}"}).status_code == 200
    assert client.post(f"{address}/students", json=body | {"name": "Mary"}).status_code == 429
    assert client.post(f"{address}/students", json=body).get_json()["chosen"] == f"Mary {MAX_NAMES - 1}"
    assert client.post(f"{address}/students", json=body | {"student": JOHN, "name": "John"}).status_code == 200


@pytest.mark.parametrize(
    ("name", "cell"),
    [("x;=1+1", '"x;=1+1"'), ("＝1+1", '"\'＝1+1"'), ('="x"', '"\'=""x"""'), ("Ann-Marie", '"Ann-Marie"')],
)
def test_no_name_is_a_formula_of_a_spreadsheet(one: LessonClass, name: str, cell: str) -> None:
    one.attend(MARY, 1, chosen=name)
    one.credit(MARY, 1, None, None)
    assert one.results().splitlines()[1].startswith(cell + ',"')


def test_the_teacher_looks_into_a_workspace_if_the_student_lets_them(one: LessonClass) -> None:
    given, session = one.attend(MARY, 1), "x" * 24
    with pytest.raises(Forbidden):
        one.answer_look(MARY, session)
    one.ask_to_look(given)
    assert news_of(one).looks == [one.seat(MARY).token]
    with pytest.raises(NotFound):
        one.answer_look(JOHN, session)
    one.answer_look(MARY, "")
    assert (news_of(one).looks, one.students[0].look) == ([], classes.DECLINED)
    one.ask_to_look(given)
    one.answer_look(MARY, session)
    assert one.students[0].look == session
    one.ask_to_look(given, ask=False)
    assert one.students[0].look == ""
    with pytest.raises(NotFound):
        one.ask_to_look("nobody")


def test_only_the_teacher_hides_names_looks_and_has_the_results(client: FlaskClient) -> None:
    address, teacher = make(client)
    given = client.post(f"{address}/students", json={"student": MARY, "step": 1}).get_json()["name"]
    for path, body in (("names", {"given": given, "hidden": True}), ("looks", {"given": given})):
        assert client.post(f"{address}/{path}", json=body).status_code == 403
        assert client.post(f"{address}/{path}", json=body, headers=teacher).status_code == 204
    wrong = {"student": MARY, "session": "../../x"}
    assert client.post(f"{address}/looks/answers", json=wrong).status_code == 422
    assert client.post(f"{address}/looks/answers", json={"student": MARY}).status_code == 204
    assert client.get(f"{address}/results.csv").status_code == 403
    assert client.get(f"{address}/results.csv", headers=teacher).text.startswith('"name","given name","step",')


def measuring(runner: ScriptedRunner, script: str, *sent: Any) -> None:
    runner.scripts[script] = Script([snapshot(None), *sent])


def test_only_what_the_server_measured_counts(client: FlaskClient, runner: ScriptedRunner) -> None:
    """The script reports a time of its own; the board has none of it."""
    address, _ = make(client, "measuring")
    client.post(f"{address}/students", json={"student": MARY, "step": 2})
    forged = Measured(measurement=Measurement(name="f", kind="kernel", seconds=1e-9, checked="ok", source="server"))
    measuring(runner, "forged", forged)
    ladder = measured(client, "forged")
    result = hand_in(client, address, "forged", ladder)
    assert not result["passed"]
    answer = services_of(client.application).lessons.find("measuring").steps[1].answer or ""  # type: ignore[union-attr]
    runner.scripts[answer] = Script([snapshot(None), RecordedFunction(name="f", program="program")])
    one = services_of(client.application).classes.get(address.rpartition("/")[2])
    for script, definition, passes in (("another", "float32[9]: b", False), ("honest", "float32[8]: a", True)):
        row = Measurement(name="f", kind="kernel", seconds=2e-3, checked="ok", definition=definition)
        runner.scripts[script] = Script([snapshot(None), RecordedFunction(name="f", program="program")])
        runner.scripts[""] = Script(
            [Measured(measurement=row), ProgramDefinition(definition="float32[8]: a"), snapshot(None)]
        )
        ladder = measured(client, script)
        assert news_of(one).board == []
        assert hand_in(client, address, script, ladder)["passed"] == passes
    assert [(row.step, row.milliseconds) for row in news_of(one).board] == [(2, 2.0)]
    assert [row.done for row in one.students] == [1]
    other = client.post(
        f"{address}/results", json={"student": MARY, "number": 2, "workspace": {"script": "forged"}, "ladder": ladder}
    )
    assert other.status_code == 422, "a measurement of another script"


def measured(client: FlaskClient, script: str) -> str:
    started = client.post("/api/measure", json={"script": script}).get_json()
    assert b"ended" in client.get(started["events"]).data
    return str(started["id"])


def hand_in(client: FlaskClient, address: str, script: str, ladder: str) -> dict[str, Any]:
    body = {
        "student": MARY,
        "number": 2,
        "workspace": {"script": script},
        "ladder": ladder,
        "predictions": {"milliseconds": 2.0},
    }
    answer: dict[str, Any] = json.loads(client.post(f"{address}/results", json=body).data)
    return answer
