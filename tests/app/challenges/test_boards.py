"""Challenges over HTTP: what is refused and why, who stands where, and that names are only ever text."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.challenges import OWN
from app.errors import InvalidBody
from app.names import MAX_NAME, chosen_name
from app.services import MAX_ENTRIES, services_of
from tests.app.challenges.contestants import CPU, Contestants

MATMUL = "/api/challenges/matmul"
ADA, BOB = "a" * 32, "b" * 32


@pytest.fixture
def runner() -> Contestants:
    return Contestants()


def events(client: FlaskClient, response: Any) -> list[dict[str, Any]]:
    assert response.status_code == 202, response.text
    text = client.get(response.get_json()["events"]).get_data(as_text=True)
    return [json.loads(line.removeprefix("data: ")) for line in text.splitlines() if line.startswith("data: ")]


def ladder(client: FlaskClient, script: str, challenge: str = MATMUL) -> str:
    started = client.post(f"{challenge}/ladder", json={"script": script})
    assert events(client, started)[-1]["status"] == "ok"
    return str(started.get_json()["id"])


def enter(client: FlaskClient, script: str, name: str = "ada", key: str = ADA, challenge: str = MATMUL) -> str:
    """Enter a script; return why it was refused, or an empty text."""
    body = {"workspace": {"script": script}, "ladder": ladder(client, script, challenge), "name": name, "key": key}
    response = client.post(f"{challenge}/entries", json=body)
    if response.status_code != 202:
        return str(response.get_json()["error"]["message"])
    return str(events(client, response)[-1]["message"])


def board(client: FlaskClient, challenge: str = "matmul") -> list[str]:
    application: Any = client.application
    return [one.name for one in services_of(application).boards.entries(challenge, CPU)]


def test_the_fastest_is_first_and_all_are_measured_in_one_batch(client: FlaskClient, runner: Contestants) -> None:
    runner.seconds = {"slow": 0.4, "fast": 0.2}
    assert enter(client, "slow", "ada", ADA) == ""
    assert enter(client, "fast", "bob", BOB) == ""
    assert board(client) == ["bob", "ada"]
    batches = [asked for asked in runner.requests if asked.mode == "batch"]
    assert [asked.contenders for asked in batches] == [["slow"], ["fast", "slow"]]
    assert all(asked.numpy == "lambda A, B: A @ B" and asked.seed for asked in batches)
    assert "te.reduce_axis" in batches[0].program
    assert [asked.numpy for asked in runner.requests if asked.mode == "measure"] == ["lambda A, B: A @ B"] * 2
    runner.seconds = {"slow": 0.1, "fast": 0.2}
    assert events(client, client.post(f"{MATMUL}/board"))[-1]["status"] == "ok"
    assert board(client) == ["ada", "bob"]
    page = client.get("/challenges").text
    assert "<bdi>ada</bdi>: 100 ms" in page


def test_a_check_says_how_fast_it_is_and_what_that_is_a_share_of(client: FlaskClient, runner: Contestants) -> None:
    runner.seconds = {"s": 0.25}
    body = {"workspace": {"script": "s"}, "ladder": ladder(client, "s")}
    standing = client.post(f"{MATMUL}/check", json=body).get_json()
    assert standing["passed"]
    assert (standing["times_numpy"], standing["numpy"]) == (2.0, "500 ms")
    assert standing["share"] == 0.25
    assert standing["words"] == "250 ms · 2 × as fast as NumPy, 500 ms · 25 % of the processor's arithmetic"
    response = client.post(f"{MATMUL}/check", json={**body, "workspace": {"script": "other"}})
    assert "this ladder is of another script" in response.text


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("another", "its arguments are float32[4], the problem's float32[512, 512]"),
        ("wrong", "The result is right: compared with NumPy: wrong"),
    ],
)
def test_what_is_not_the_problems_computation_is_refused(client: FlaskClient, script: str, words: str) -> None:
    assert words in enter(client, script)
    assert board(client) == []


def test_what_the_batch_finds_wrong_is_refused_and_changes_no_board(client: FlaskClient, runner: Contestants) -> None:
    assert enter(client, "fine") == ""
    runner.refused = {"forged": "its loops do not follow from the definition"}
    assert enter(client, "forged", "bob", BOB) == runner.refused["forged"]
    assert board(client) == ["ada"]


def test_a_disturbed_batch_gives_no_rank(client: FlaskClient, runner: Contestants) -> None:
    runner.seconds = {"slow": 0.4, "fast": 0.2}
    assert enter(client, "slow") == ""
    runner.busy = True
    assert enter(client, "fast", "bob", BOB) == ""
    assert board(client) == ["ada", "bob"]
    fragment = client.get("/challenges/matmul/board").text
    assert "<td>?</td><td><bdi>bob</bdi>" in fragment
    runner.busy = False
    events(client, client.post(f"{MATMUL}/board"))
    assert board(client) == ["bob", "ada"]


def test_an_entry_that_fails_when_it_is_measured_again_says_how(client: FlaskClient, runner: Contestants) -> None:
    assert enter(client, "old") == ""
    runner.refused = {"old": "its result is <wrong>"}
    assert enter(client, "new", "bob", BOB) == ""
    fragment = client.get("/challenges/matmul/board").text
    assert "<td>✗</td><td><bdi>ada</bdi>" in fragment
    assert "failed when it was measured again: its result is &lt;wrong&gt;" in fragment
    assert "thers used the machine" not in fragment
    runner.refused = {}
    events(client, client.post(f"{MATMUL}/board"))
    assert board(client) == ["ada", "bob"]
    assert "failed" not in client.get("/challenges/matmul/board").text


def test_a_board_is_that_of_the_processor_that_measured(client: FlaskClient, runner: Contestants) -> None:
    """The server of a cluster may have another processor than its machines, and these may differ."""
    application: Any = client.application
    boards = services_of(application).boards
    runner.cpu = "That of a cluster"
    assert enter(client, "s") == ""
    assert board(client) == []
    assert [one.name for one in boards.entries("matmul", runner.cpu)] == ["ada"]
    runner.batches_on = [CPU, CPU]
    assert enter(client, "t", "bob", BOB) == ""
    assert runner.requests[-1].contenders == ["t"]
    assert board(client) == ["bob"]
    assert events(client, client.post(f"{MATMUL}/board?cpu={runner.cpu}"))[-1]["status"] == "ok"
    assert runner.requests[-1].contenders == ["s"]
    runner.batches_on = ["1", "2", "3"]
    assert "on another processor each time, last on 3" in enter(client, "u")


HIDDEN = ["a\nb", "a\u202eb", "a\u200bb", "a\x00", "\u00e1\u0301\u0302\u0303", "\ud800"]


@pytest.mark.parametrize("name", ["", " ", "-", "x" * (MAX_NAME + 1), *HIDDEN])
def test_names_that_hide_something_are_refused(name: str) -> None:
    with pytest.raises(InvalidBody, match="a name "):
        chosen_name(name)


def test_names_are_text(client: FlaskClient) -> None:
    assert chosen_name("  Jo\u0065\u0308l   B ") == "Joël B"
    assert chosen_name("山田 太郎") == "山田 太郎"
    assert enter(client, "s", "<b>&amp;</b>") == ""
    for path in ("/challenges", "/challenges/matmul/board"):
        page = client.get(path).text
        assert "&lt;b&gt;&amp;amp;&lt;/b&gt;" in page
        assert "<b>&" not in page
    assert enter(client, "s", "a\u202eb") == "a name has only characters that can be seen"
    assert "is taken on this board" in enter(client, "t", "<B>&amp;</b>", BOB)


def test_an_address_enters_a_few_times_an_hour(client: FlaskClient) -> None:
    said = [enter(client, "s") for _ in range(MAX_ENTRIES + 1)]
    assert "too many entries" not in said[:MAX_ENTRIES]
    assert said[MAX_ENTRIES:] == ["too many entries"]
    assert "too many entries" in client.post(f"{MATMUL}/board").text


def test_a_ladder_is_for_all_and_a_script_for_its_owner(client: FlaskClient) -> None:
    enter(client, "mine")
    fragment = client.get("/challenges/matmul/board").text
    found = re.search('data-entry="([^"]+)"', fragment)
    assert found is not None
    entry = f"{MATMUL}/entries/{found[1]}"
    shown = client.get(entry).get_json()
    assert (shown["name"], shown["script"]) == ("ada", "")
    assert [row["kind"] for row in shown["measurements"]] == ["peak", "prefix", "numpy"]
    assert client.get(entry, headers={"X-Entry-Key": ADA}).get_json()["script"] == "mine"
    for method in (client.get, client.delete):
        assert method(entry, headers={"X-Entry-Key": BOB}).status_code == 403
    assert client.delete(entry, headers={"X-Entry-Key": ADA}).status_code == 204
    assert board(client) == []


def test_a_gpu_problem_has_a_check_and_no_board(client: FlaskClient) -> None:
    gpu = "/api/challenges/gpu-transposition"
    passed = [
        client.post(f"{gpu}/check", json={"workspace": {"script": script}}).get_json()["passed"]
        for script in ("fine", "another")
    ]
    assert passed == [True, False]
    assert client.post(f"{gpu}/board").status_code == 422
    assert "challenge-board" not in client.get("/challenges/gpu-transposition").text


def test_a_visitors_script_becomes_a_problem_and_goes_with_its_link(client: FlaskClient, runner: Contestants) -> None:
    script = '"""Mine <i>\n\nMake it fast.\n"""\nx = 1\n'
    saved = client.post("/api/links", json={"workspace": {"script": script}}).get_json()
    name = f"{OWN}{saved['id']}"
    page = client.get(f"/challenges/{name}").text
    assert "Mine &lt;i&gt;" in page
    assert "Make it fast." in page
    assert enter(client, "s", challenge=f"/api/challenges/{name}") == ""
    assert [asked.program for asked in runner.requests if asked.mode == "batch"] == [script]
    assert board(client, name) == ["ada"]
    client.delete(f"/api/links/{saved['id']}", headers={"X-Delete-Token": saved["delete_token"]})
    assert board(client, name) == []
    assert client.get(f"/challenges/{name}").status_code == 404


def test_all_challenges_have_a_page_and_unknown_ones_none(client: FlaskClient) -> None:
    page = client.get("/challenges").text
    assert page.count('data-challenge="') == 30
    assert client.get("/challenges/none").status_code == 404
    panel = client.get("/challenges/layer-norm").text
    assert "Nobody has entered this board yet" in panel
    assert "/// challenge" not in panel
