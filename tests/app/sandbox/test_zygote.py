"""What the zygote holds: the compiler, and nothing of the server."""

from __future__ import annotations

import json

import pytest

from app.sandbox import Sandbox, SandboxError, Tier
from tests.app.sandbox.conftest import HANDLERS, TESTS

IMPORTED = b"import json, sys; emit(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})).encode())"
THE_SERVERS = {"flask", "werkzeug", "sqlalchemy", "sqlite3", "waitress", "gunicorn", "jinja2", "ssl"}


def test_it_holds_nothing_of_the_server() -> None:
    with Sandbox(f"{HANDLERS}:run_script", preload=["app.recorder", "json"], readable=[TESTS]) as sandbox:
        (message,) = sandbox.start(IMPORTED).messages()
    imported = set(json.loads(message))
    assert {"numpy", "llvmlite", "compiler"} <= imported
    assert not imported & THE_SERVERS


@pytest.mark.parametrize(
    ("handler", "message"),
    [
        ("tests.nothing:run", r"No module named 'tests\.nothing'"),
        (f"{HANDLERS}:nothing", "has no attribute 'nothing'"),
        ("tests.app.sandbox.threaded:run", "expected to be single-threaded after the imports"),
    ],
)
def test_a_zygote_that_cannot_work_says_why(handler: str, message: str) -> None:
    with pytest.raises(SandboxError, match=message):
        Sandbox(handler, tier=Tier())
