"""Scripts that break what they run on, or raise what cannot be read: each ends in a sentence about the script."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import msgspec
import pytest

from app.artifacts import Answer
from app.jobs.assembly import assemble
from app.protocol import Request
from app.sandbox import Limits, Sandbox
from app.sandbox.handler import EXIT_RAISED

PATIENCE = 120.0
"""How many seconds a script may take on a busy machine; none of these is about that."""
RAISED = {
    "__str__ interrupts": (
        "class E(BaseException):\n    def __str__(self): raise KeyboardInterrupt\nraise E()",
        "E",
        3,
    ),
    "__str__ raises itself": ("class E(BaseException):\n    def __str__(self): raise self\nraise E()", "E", 3),
    "__str__ is not text": ("class E(Exception):\n    def __str__(self): return 3\nraise E()", "E", 3),
    "text that exits": (
        "class S(str):\n    def strip(self): raise SystemExit(70)\n"
        "class E(Exception):\n    def __str__(self): return S('x')\nraise E()",
        "E",
        5,
    ),
    "class without a name": (
        "class M(type):\n    @property\n    def __name__(c): raise ValueError\n    def __repr__(c): raise ValueError\n"
        "class E(Exception, metaclass=M): pass\nraise E()",
        "E",
        6,
    ),
    "__class__ raises": (
        "class E(Exception):\n    @property\n    def __class__(self): raise BaseException('c')\nraise E()",
        "E",
        4,
    ),
    "every attribute raises": (
        "class E(Exception):\n    def __getattribute__(self, n): raise BaseException(n)\nraise E()",
        "E",
        3,
    ),
    "__dir__ interrupts": (
        "class D:\n    def __dir__(self): raise KeyboardInterrupt\nraise AttributeError('x', name='abc', obj=D())",
        "AttributeError",
        3,
    ),
    "syntax error of one's own": (
        "e = SyntaxError('x'); e.offset = 'a'; e.lineno = 10**30; e.filename = 'script.py'; e.msg = None\nraise e",
        "SyntaxError",
        None,
    ),
    "syntax error at no line": (
        "e = SyntaxError('x'); e.offset = -7; e.end_offset = -5; e.lineno = 'q'; e.filename = 'script.py'\nraise e",
        "SyntaxError",
        None,
    ),
    "in a thread": (
        "import threading\nclass E(BaseException):\n    def __str__(self): raise KeyboardInterrupt\n"
        "def f(): raise E()\nt = threading.Thread(target=f); t.start(); t.join()",
        "E",
        4,
    ),
    "exit": ("import os\nprint('a')\nos._exit(0)", "Exit", 3),
    "exit with a code of ours": (f"import os\nos._exit({EXIT_RAISED})", "Exit", 2),
}
DAMAGE = {
    "no modules": "import sys\nsys.modules.clear()",
    "modules that cannot be imported": "import sys\nfor n in list(sys.modules): sys.modules[n] = None",
    "closed descriptors": "import os\nfor i in range(64):\n    try: os.close(i)\n    except OSError: pass",
    "closed output": "import os\nos.close(3)",
    "built-in functions": (
        "import builtins\nfor n in 'len isinstance dict list str sum any all type range set getattr print'.split():\n"
        "    setattr(builtins, n, None)"
    ),
    "built-in exceptions": (
        "import builtins as b\nb.Exception = b.BaseException = b.MemoryError = b.SystemExit = 3\nraise ValueError('x')"
    ),
    "patched explorer": "import app.recorder.answers as a\na.AnswerBuilder.snapshot = lambda *_: 1 / 0",
}
EXITS = {
    "sys.exit(-1)": "-1",
    "sys.exit('x' * 10**6)": "xxx",
    "sys.exit(10**5000)": "int, which cannot be shown",
    "sys.exit(type('E', (), {'__repr__': lambda s: 1 / 0})())": "E, which cannot be shown",
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox("app.recorder.handler:handle", preload=["app.recorder.handler"]) as sandbox:
        yield sandbox


def answer_of(sandbox: Sandbox, script: str) -> Answer:
    request = Request(mode="compile", script=script, budget_seconds=PATIENCE)
    job = sandbox.start(msgspec.json.encode(request), limits=Limits(wall_seconds=PATIENCE))
    return assemble(list(job.messages()), job.outcome)


@pytest.mark.parametrize(("script", "kind", "line"), RAISED.values(), ids=RAISED)
def test_what_cannot_be_read_is_said_to_be_so(sandbox: Sandbox, script: str, kind: str, line: int | None) -> None:
    answer = answer_of(sandbox, script)
    assert [(problem.kind, problem.line) for problem in answer.problems] == [(kind, line)]
    assert answer.status == "error"
    assert len(answer.problems[0].message) < 5000


@pytest.mark.parametrize("script", DAMAGE.values(), ids=DAMAGE)
def test_a_script_that_breaks_its_process_is_told_so(sandbox: Sandbox, script: str) -> None:
    answer = answer_of(sandbox, script)
    assert answer.status == "crash"
    assert [problem.kind for problem in answer.problems] == ["Crash"]
    assert "the script changed Python itself or closed" in answer.problems[0].message
    assert "Traceback" not in "".join(entry.text for entry in answer.console)
    assert answer_of(sandbox, "print(1)").status == "ok"


@pytest.mark.parametrize(("call", "words"), EXITS.items(), ids=EXITS)
def test_any_argument_of_exit_is_shown_short(sandbox: Sandbox, call: str, words: str) -> None:
    answer = answer_of(sandbox, f"import sys\n{call}\n")
    assert answer.status == "error"
    [problem] = answer.problems
    assert words in problem.message
    assert len(problem.message) < 5000


def test_a_script_that_leaves_in_the_middle_is_marked(sandbox: Sandbox) -> None:
    script = (
        "import ctypes, tvm\nfrom tvm import te\nA = te.placeholder((8,), name='A')\n"
        "B = te.compute((8,), lambda i: A[i] + 1.0)\nf = tvm.build(te.create_schedule(B.op), [A, B])\n"
        "f(tvm.nd.empty((8,)), tvm.nd.empty((8,)))\nctypes.CDLL(None)._exit(0)\n"
    )
    answer = answer_of(sandbox, script)
    assert (answer.status, answer.problems[-1].line) == ("crash", 6)
    assert "ended its own process" in answer.problems[-1].message
    assert answer.listings


def test_a_script_cannot_forge_lines_of_the_log(sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    script = (
        f"import ctypes, os\nos.write(2, b'x\\nINFO app.server: FORGED\\n')\nctypes.CDLL(None)._exit({EXIT_RAISED})"
    )
    with caplog.at_level(logging.INFO):
        answer_of(sandbox, script)
    [message] = [record.getMessage() for record in caplog.records if "FORGED" in record.getMessage()]
    assert "\n" not in message


def test_the_panes_of_a_model_that_is_too_large_to_check(sandbox: Sandbox) -> None:
    script = (
        "import tvm\nfrom tvm import relay\nx = relay.var('x', shape=(1 << 40, 1 << 40))\n"
        "m = tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x + relay.const(1.0))))\n"
        "m = relay.transform.FuseOps()(relay.transform.InferType()(m))\n"
    )
    answer = answer_of(sandbox, script)
    assert (answer.status, answer.problems) == ("ok", [])
    assert answer.units
