"""What is wrong with a script is told in its own lines; nobody else notices, and nothing that is stored is lost."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass
from typing import Any

import pytest
from flask.testing import FlaskClient

MATMUL = """\
import tvm
from tvm import te
n = 64
A = te.placeholder((n, n), name="A")
B = te.placeholder((n, n), name="B")
k = te.reduce_axis((0, n), name="k")
C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
D = te.compute((n, n), lambda i, j: C[i, j] + 1.0, name="D")
s = te.create_schedule(D.op)
"""
"""Nine lines that are right."""


@dataclass(frozen=True)
class BadScript:
    """A script, and what is said about it."""

    name: str
    script: str
    kind: str
    words: str
    """A regular expression that the message contains."""
    line: int | None
    status: str = "error"
    endless: bool = False

    def __str__(self) -> str:
        return self.name


BAD = [
    BadScript("syntax", "x = (1,\ny = 2\n", "SyntaxError", "was never closed", 1),
    BadScript("indentation", "def f():\nreturn 1\n", "IndentationError|SyntaxError", "expected an indented block", 2),
    BadScript("null byte", "x = 1\0", "SyntaxError|ValueError", "null", None),
    BadScript("exception", "def f():\n    return 1 / 0\n\nf()\n", "ZeroDivisionError", "division", 2),
    BadScript("unknown name", "import tvm\ntvm.te.tensor_product()\n", "UnknownNameError", "tensor_product", 2),
    BadScript("unknown module", "import tvm.nothing_like_this\n", "ModuleNotFoundError", "nothing_like_this", 1),
    BadScript("other package", "import tensorrt\n", "ModuleNotFoundError", "tensorrt", 1),
    BadScript(
        "foreign axes",
        MATMUL + "s[D].reorder(C.op.axis[0], D.op.axis[1])\n",
        "ScheduleError",
        "axis 'i' of stage 'C' is not an axis of 'D'",
        10,
    ),
    BadScript(
        "misspelt primitive",
        MATMUL + "s[D].vectorise(D.op.axis[1])\n",
        "UnknownNameError",
        "did you mean 'vectorize'",
        10,
    ),
    BadScript(
        "factor", MATMUL + "s[D].split(D.op.axis[0], factor=-4)\n", "ArgumentError", r"split: factor .*got -4", 10
    ),
    BadScript(
        "vectorize a size",
        "from tvm import te\nimport tvm\nn = te.var('n')\nA = te.placeholder((n,), name='A')\n"
        "B = te.compute((n,), lambda i: A[i], name='B')\ns = te.create_schedule(B.op)\n"
        "s[B].vectorize(B.op.axis[0])\ntvm.lower(s, [A, B])\n",
        "ScheduleError",
        "vectorize: axis 'i' of stage 'B' must have a constant extent, got n",
        8,
    ),
    BadScript(
        "output elsewhere",
        MATMUL + "s[D].compute_at(s[C], C.op.axis[0])\ntvm.lower(s, [A, B, D])\n",
        "ScheduleError",
        "compute_at: stage 'D' is an output, which must be computed as a whole \\(line 10\\)",
        11,
    ),
    BadScript(
        "compute_at outside the consumer",
        MATMUL + "E = te.compute((n, n), lambda i, j: A[i, j], name='E')\ns = te.create_schedule([D.op, E.op])\n"
        "s[C].compute_at(s[E], E.op.axis[0])\ntvm.lower(s, [A, B, D, E])\n",
        "ScheduleError",
        "compute_at: .*'C'.*'E'",
        None,
    ),
    BadScript(
        "too many indices",
        MATMUL + "te.compute((n,), lambda i: A[i, 0, 0])\n",
        "BoundError",
        "expected 2 indices, got 3",
        10,
    ),
    BadScript(
        "truth of an expression",
        MATMUL + "te.compute((n,), lambda i: A[i, 0] if i < 3 else 0)\n",
        "ArgumentError",
        "if_then_else",
        10,
    ),
    BadScript("unknown target", MATMUL + "tvm.build(s, [A, B, D], target='lvm')\n", "TargetError", "lvm", 10),
    BadScript(
        "unknown processor", MATMUL + "tvm.build(s, [A, B, D], target='llvm -mcpu=z80')\n", "TargetError", "z80", 10
    ),
    BadScript(
        "wrong array",
        MATMUL + "f = tvm.build(s, [A, B, D])\nx = tvm.nd.empty((n, n - 1))\nf(x, x, x)\n",
        "ArgumentError",
        "'A' must have dimension 1 equal to 64, got 63",
        12,
    ),
    BadScript(
        "part of TVM that is not provided",
        "import tvm\ntvm.autotvm.feature.get_itervar_feature()\n",
        "UnavailableError",
        "cost models learn from the values of knobs",
        2,
    ),
    BadScript(
        "hostile exception", "raise type('E', (Exception,), {'__str__': lambda e: 1 / 0})\n", "E", "cannot be shown", 1
    ),
    BadScript("endless", "while True: pass\n", "Timeout", "stopped", 1, "timeout", True),
    BadScript(
        "endless and stubborn",
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass\n",
        "Timeout",
        "stopped",
        None,
        "timeout",
        True,
    ),
    BadScript(
        "memory in Python",
        "x = []\nwhile True:\n    x.append(bytearray(1 << 24))\n",
        "Memory.*",
        "memory",
        None,
        "error|limit",
    ),
    BadScript(
        "memory in NumPy", "import numpy as np\nx = np.ones((1 << 40,))\n", ".*Memory.*", "(?i)memory|allocate", 2
    ),
    BadScript("exit", "import os\nos._exit(3)\n", "Exit", r"left by os\._exit\(3\)", 2),
    BadScript("abort", "import os\nos.abort()\n", "Crash", "SIG|exit code", None, "crash"),
    BadScript("deep", "def f():\n    f()\nf()\n", "RecursionError", "nested too deeply", 2),
    BadScript(
        "deep nesting",
        "x = " + "(" * 500 + ")" * 500 + "\n",
        "SyntaxError|MemoryError|RecursionError",
        "nest|too",
        None,
    ),
]


def compile_(explorer: FlaskClient, script: str) -> Any:
    """Return the answer for a script."""
    response = explorer.post("/api/compile", json={"script": script})
    assert response.status_code == 200, response.text
    return response.get_json()


@pytest.mark.sample(2)
@pytest.mark.parametrize("bad", BAD, ids=str)
def test_a_mistake_is_told(explorer: FlaskClient, hurried: FlaskClient, bad: BadScript) -> None:
    answer = compile_(hurried if bad.endless else explorer, bad.script)
    assert re.fullmatch(bad.status, answer["status"]), answer["problems"]
    [problem] = answer["problems"]
    assert re.fullmatch(bad.kind, problem["kind"]), problem
    assert re.search(bad.words, problem["message"]), problem
    if bad.line is not None:
        assert problem["line"] == bad.line
    said = problem["message"] + "".join(problem["trace"]) + "".join(entry["text"] for entry in answer["console"])
    assert "Traceback" not in said
    assert "site-packages" not in said
    assert "/app/" not in said


def test_what_was_seen_before_a_mistake_is_shown(explorer: FlaskClient) -> None:
    answer = compile_(explorer, MATMUL + "tvm.lower(s, [A, B, D])\nraise ValueError('enough')\n")
    assert [(problem["kind"], problem["line"]) for problem in answer["problems"]] == [("ValueError", 11)]
    assert answer["units"]
    assert answer["listings"]


UNROLLED = """\
import tvm
from tvm import te
A = te.placeholder((16, 16), name="A")
k = te.reduce_axis((0, 16), name="k")
B = te.compute((16, 16), lambda i, j: te.sum(A[i, k] * A[k, j], axis=k), name="B")
s = te.create_schedule(B.op)
for axis in (*B.op.axis, k):
    s[B].unroll(axis)
print("begins")
tvm.build(s, [A, B])
"""


def test_a_script_that_hangs_in_the_compiler_shows_what_it_did(hurried: FlaskClient, enough: FlaskClient) -> None:
    answer = compile_(hurried, UNROLLED)
    if not answer["console"]:  # a busy machine had not begun
        answer = compile_(enough, UNROLLED)
    assert answer["status"] == "timeout"
    [problem] = answer["problems"]
    assert (problem["kind"], problem["line"]) == ("Timeout", 10)
    assert re.search(r"stopped at line 10 after \d+ s", problem["message"])
    assert answer["console"][0]["text"] == "begins\n"
    assert [step["name"] for step in answer["units"][0]["steps"][:3]] == ["default", "unroll", "unroll"]


def test_characters_that_cannot_be_encoded_are_written_out(explorer: FlaskClient) -> None:
    answer = compile_(explorer, "print('\\ud800')\nraise ValueError('\\udfff')\n")
    assert answer["console"][0]["text"] == "\\ud800\n"
    assert answer["problems"][0]["message"] == "\\udfff"


def test_an_output_flood_is_cut(explorer: FlaskClient) -> None:
    answer = compile_(explorer, "for _ in range(100_000):\n    print('x' * 99)\n")
    assert answer["status"] == "ok"
    assert sum(len(entry["text"]) for entry in answer["console"]) < 300_000
    assert "dropped" in answer["console"][-1]["text"]


def test_attached_files_can_be_read_by_their_names_and_nothing_else(explorer: FlaskClient) -> None:
    script = "print(open('ä b.txt').read())\nimport os\nprint(sorted(os.listdir('.')))\nopen('/etc/hostname')\n"
    answer = explorer.post("/api/compile", json={"script": script, "files": {"ä b.txt": "aGVsbG8="}}).get_json()
    assert answer["console"][0]["text"] == "hello\n['ä b.txt']\n"
    [problem] = answer["problems"]
    assert problem["line"] == 4


HOSTILE_NAMES = ["", ".", "..", "../x", "/etc/passwd", "a/b", "a\0b", "x" * 121, "a\nb"]


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_names_of_files_that_are_not_plain(explorer: FlaskClient, name: str) -> None:
    response = explorer.post("/api/compile", json={"script": "", "files": {name: ""}})
    assert response.status_code == 422
    assert response.get_json()["error"]["field"].startswith("$.files")


def test_files_that_are_too_large(explorer: FlaskClient) -> None:
    files = {f"{number}": "A" * (15 << 20) for number in range(3)}
    response = explorer.post("/api/compile", json={"script": "", "files": files})
    error = response.get_json()["error"]
    assert (response.status_code, error["code"], error["field"]) == (413, "too_large", "$.files")


def test_others_notice_nothing(explorer: FlaskClient, hurried: FlaskClient) -> None:
    link = explorer.post("/api/links", json={"workspace": {"script": "print(1)"}}).get_json()["id"]
    bombs = [bad.script for bad in BAD if bad.name in ("endless", "memory in Python", "abort")]
    threads = [threading.Thread(target=compile_, args=(hurried.application.test_client(), bomb)) for bomb in bombs]
    for thread in threads:
        thread.start()
    answers = [compile_(explorer, f"print({number})") for number in range(5)]
    assert [answer["console"][0]["text"] for answer in answers] == [f"{number}\n" for number in range(5)]
    for thread in threads:
        thread.join(60)
    assert explorer.get(f"/api/links/{link}").get_json()["state"]["workspace"]["script"] == "print(1)"
    assert explorer.get("/healthz").get_json()["status"] == "ok"
