"""What happens to kernels: once and for a moment while the user types, in full when asked to run."""

from __future__ import annotations

import json

from flask.testing import FlaskClient

HEADER = """\
import numpy as np
import tvm
from tvm import te
n = {size}
A = te.placeholder((n,), name="A")
k = te.reduce_axis((0, {repeats}), name="k")
B = te.compute((n,), lambda i: te.max(te.sin(A[i] + k), axis=k), name="B")
s = te.create_schedule(B.op)
f = tvm.build(s, [A, B], target="llvm", name="waves")
a, b = tvm.nd.array(np.zeros(n, "float32")), tvm.nd.empty((n,), "float32")
"""
TIMED = "t = f.time_evaluator('waves', tvm.cpu(0), number=3, repeat=4)(a, b)\nprint(len(t.results), t.mean > 0)\n"
QUICK = HEADER.format(size=16, repeats=16)
ENDLESS = HEADER.format(size=1 << 16, repeats=1 << 30)


def test_a_kernel_that_takes_too_long_is_given_up_while_typing(explorer: FlaskClient) -> None:
    for call in ("f(a, b)\n", TIMED):
        answer = explorer.post("/api/compile", json={"script": ENDLESS + call}).get_json()
        assert answer["status"] == "timeout"
        [problem] = answer["problems"]
        assert problem["line"] == 11
        assert "runs a kernel for more than 2 s" in problem["message"]
        assert {listing["level"] for listing in answer["listings"].values()} == {"loop", "llvm", "asm"}


def test_measurements_are_answered_from_a_few_calls_while_typing(explorer: FlaskClient) -> None:
    answer = explorer.post("/api/compile", json={"script": QUICK + TIMED}).get_json()
    assert (answer["status"], answer["measurements"]) == ("ok", [])
    streams = {entry["stream"]: entry["text"] for entry in answer["console"]}
    assert streams["stdout"] == "4 True\n"
    assert "press Run to benchmark" in streams["note"]


def test_a_run_measures_in_full(explorer: FlaskClient) -> None:
    answer = explorer.post("/api/run", json={"script": QUICK + TIMED}).get_json()
    assert answer["status"] == "ok"
    [measured] = answer["measurements"]
    assert (measured["kind"], measured["number"], measured["repeats"], measured["line"]) == ("kernel", 3, 4, 9)
    assert measured["seconds"] > 0
    assert measured["cpu"]
    assert [entry["stream"] for entry in answer["console"]] == ["stdout"]


MATMUL = """\
import tvm
from tvm import te
n = 64
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)
i, j = C.op.axis
s[C].reorder(i, k, j)
s[C].vectorize(j)
"""


def test_a_ladder_measures_every_prefix_and_checks_it(explorer: FlaskClient) -> None:
    started = explorer.post("/api/ladders", json={"script": MATMUL}).get_json()
    stream = explorer.get(started["events"]).text.splitlines()
    events = [json.loads(line.removeprefix("data: ")) for line in stream if line.startswith("data: ")]
    assert events[-1] == {"type": "ended", "status": "ok", "message": ""}
    rows = [event["measurement"] for event in events if event["type"] == "measured"]
    kinds = [row["kind"] for row in rows]
    assert kinds.count("bandwidth") == 1, "for the roofline"
    assert [kind for kind in kinds if kind != "bandwidth"] == ["numpy", "peak", *["prefix"] * 3, "numpy", "peak"]
    prefixes = [row for row in rows if row["kind"] == "prefix"]
    assert [row["step"] for row in prefixes] == [0, 1, 2]
    assert [row["name"].partition("(")[0] for row in prefixes] == ["default", "reorder", "vectorize"]
    assert {row["checked"] for row in prefixes} == {"ok"}
    assert all(row["gflops"] > 0 for row in rows if row["kind"] != "bandwidth")


def test_a_ladder_measures_although_the_script_fails_later(explorer: FlaskClient) -> None:
    started = explorer.post("/api/ladders", json={"script": MATMUL + "assert 1 > 2, 'never'\n"}).get_json()
    stream = explorer.get(started["events"]).text
    assert stream.count('"kind":"prefix"') == 3
    assert '"message":"never"' in stream
    assert '{"type":"ended","status":"ok","message":""}' in stream


def test_a_ladder_needs_a_schedule(explorer: FlaskClient) -> None:
    started = explorer.post("/api/ladders", json={"script": "print(1)"}).get_json()
    stream = explorer.get(started["events"]).text
    assert "this script creates none" in stream
