"""What one client does leaves the others their share; whoever goes is waited for no more."""

from __future__ import annotations

import json
import socket
import threading

import pytest
from flask import Flask

from app.protocol import Progress
from app.serving.bounds import Bounds
from tests.app.runners import Script, ScriptedRunner, wait_until
from tests.app.serving.served import ANY, Client, served


def compile_(client: Client, script: str) -> Client:
    return client.post_later("/api/compile", {"script": script})


def test_forty_requests_that_wait_leave_threads_to_others(app: Flask, runner: ScriptedRunner) -> None:
    end = threading.Event()
    runner.scripts.update({f"slow {n}": Script(until=end) for n in range(40)})
    with served(app) as server:
        waiting = [compile_(Client(server), f"slow {n}") for n in range(40)]
        with Client(server) as client:
            wait_until(lambda: sum(client.get("/healthz").json["compiling"].values()) == 40)
            assert client.get("/static/any/js/compile.js").status == 200
            assert client.get("/api/openapi.json").status == 200
        end.set()
        assert {one.read().status for one in waiting} == {200}


def test_requests_that_work_leave_threads_to_another_client(app: Flask) -> None:
    end, began = threading.Event(), threading.Semaphore(0)

    @app.get("/works")
    def works() -> str:
        began.release()
        end.wait(30)
        return "done"

    with served(app, Bounds(working=3, working_per_client=2), proxies=1) as server:
        greedy = [
            Client(server).send("GET /works HTTP/1.1", "Host: localhost", "X-Forwarded-For: 6.6.6.6") for _ in range(9)
        ]
        for _ in range(2):
            assert began.acquire(timeout=20)
        with Client(server) as client:
            client.send("GET /api/openapi.json HTTP/1.1", "Host: localhost", "X-Forwarded-For: 7.7.7.7")
            assert client.read().status == 200
        assert not began.acquire(blocking=False), "two of nine work"
        with Client(server) as client:
            assert client.get(ANY).status == 200
        end.set()
        assert {one.read().body for one in greedy} == {b"done"}


def test_one_client_waits_for_so_many_jobs_and_no_more(app: Flask, runner: ScriptedRunner) -> None:
    end = threading.Event()
    runner.scripts["slow"] = Script(until=end)
    with served(app, Bounds(waiting_per_client=3)) as server:
        waiting = [compile_(Client(server), "slow") for _ in range(4)]
        refused = next(one for one in iter(lambda: _first(waiting), None))
        got = refused.read()
        assert got.status == 429
        assert got.headers["retry-after"] == "5"
        end.set()
        assert {one.read().status for one in waiting if one is not refused} == {200}


def _first(clients: list[Client]) -> Client:
    import select

    [ready, *_] = select.select([one.socket for one in clients], [], [], 20)[0]
    return next(one for one in clients if one.socket is ready)


@pytest.mark.parametrize("path", ["/api/compile", "/api/run"])
@pytest.mark.parametrize("waits", [True, False])
def test_a_client_that_goes_is_waited_for_no_more(app: Flask, runner: ScriptedRunner, path: str, waits: bool) -> None:
    for name in ("holds", "waits"):
        runner.scripts[name] = Script(until=threading.Event())
    queue = "compiling" if path == "/api/compile" else "measuring"
    slots = max(1, app.extensions["strata"].compiling.capacity - 1) if path == "/api/compile" else 1
    with served(app) as server, Client(server) as watch:
        for n in range(slots):
            runner.scripts[f"holds {n}"] = Script(until=threading.Event())
        holding = [Client(server).post_later(path, {"script": f"holds {n}"}) for n in range(slots)]
        wait_until(lambda: watch.get("/healthz").json[queue] == {"running": slots, "waiting": 0})
        wait_until(lambda: len(runner.jobs) == slots)  # whoever has a slot begins a moment later
        if waits:
            client = Client(server).post_later(path, {"script": "waits"})
            wait_until(lambda: watch.get("/healthz").json[queue]["waiting"] == 1)
            client.socket.close()
            wait_until(lambda: watch.get("/healthz").json[queue] == {"running": slots, "waiting": 0})
        for one in holding:
            one.socket.close()
        wait_until(lambda: watch.get("/healthz").json[queue] == {"running": 0, "waiting": 0})
    assert all(job.cancelled.is_set() for job in runner.jobs)
    assert len(runner.jobs) == slots


def test_who_goes_leaves_the_work_to_those_who_wait_for_the_same(app: Flask, runner: ScriptedRunner) -> None:
    end = threading.Event()
    runner.scripts["same"] = Script(until=end)
    with served(app) as server:
        first = compile_(Client(server), "same")
        wait_until(lambda: len(runner.jobs) == 1)
        second, third = compile_(Client(server), "same"), compile_(Client(server), "same")
        first.socket.close()
        wait_until(lambda: len(runner.jobs) == 2)
        third.socket.close()
        end.set()
        assert second.read().json["status"] == "ok"


def test_a_run_whose_reader_goes_is_cancelled(app: Flask, runner: ScriptedRunner) -> None:
    runner.scripts["endless"] = Script(until=threading.Event())
    with served(app) as server:
        client = run(Client(server), "endless")
        wait_until(lambda: len(runner.jobs) == 1)
        client.socket.shutdown(socket.SHUT_RDWR)
        wait_until(lambda: runner.jobs[0].cancelled.is_set())


def run(client: Client, script: str) -> Client:
    form = f"script={script}".encode()
    kind = "Content-Type: application/x-www-form-urlencoded"
    return client.send("POST /run HTTP/1.1", "Host: localhost", kind, f"Content-Length: {len(form)}", body=form)


def test_a_run_sends_its_last_message_to_the_end(app: Flask, runner: ScriptedRunner) -> None:
    with served(app) as server, Client(server) as client:
        lines = run(client, "print").read().body.splitlines()
        assert json.loads(lines[-1])["kind"] == "answer"
        assert client.get(ANY).status == 200, "the connection is kept"


def test_streams_are_counted(app: Flask, runner: ScriptedRunner) -> None:
    end = threading.Event()
    runner.scripts["ladder"] = Script([Progress(done=0, total=1, label="x")], until=end)
    with served(app, Bounds(streams_per_client=2)) as server, Client(server) as client:
        events = client.post("/api/ladders", {"script": "ladder"}).json["events"]
        listening = [Client(server).send(f"GET {events} HTTP/1.1", "Host: localhost") for _ in range(2)]
        for one in listening:
            assert one.socket.recv(1000).startswith(b"HTTP/1.1 200")
        refused = client.get(events)
        assert refused.status == 429
        assert "at most 2 of an address" in refused.json["error"]["expected"]
        listening[0].socket.close()
        wait_until(lambda: _listens(server, events))
        end.set()


def _listens(server: object, events: str) -> bool:
    with Client(server) as client:  # type: ignore[arg-type]
        client.send(f"GET {events} HTTP/1.1", "Host: localhost")
        return client.socket.recv(1000).startswith(b"HTTP/1.1 200")


def test_who_listens_holds_no_thread(app: Flask, runner: ScriptedRunner) -> None:
    end = threading.Event()
    runner.scripts["ladder"] = Script(until=end)
    with served(app) as server, Client(server) as client:
        ladders = [client.post("/api/ladders", {"script": "ladder"}).json["events"] for _ in range(2)]
        before = threading.active_count()
        listening = [Client(server).send(f"GET {ladders[n % 2]} HTTP/1.1", "Host: localhost") for n in range(24)]
        for one in listening:
            assert one.socket.recv(1000).startswith(b"HTTP/1.1 200")
        assert threading.active_count() <= before + Bounds().working
        end.set()
        for one in listening:
            assert b"event: ended" in one.socket.makefile("rb").read()
