"""The image's command, run as it stands there but on a free port of this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[2]


def dockerfile() -> str:
    """Return the Dockerfile with its continued lines joined."""
    return (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")


def test_the_command_serves(tmp_path: Path) -> None:
    [command] = re.findall(r"^CMD (\[.*\])$", dockerfile(), re.MULTILINE)
    program, *arguments = json.loads(command)
    assert program.endswith("/python")
    assert re.search(r"STRATA_HOST=0\.0\.0\.0 STRATA_PORT=8000 STRATA_DATA_DIR=/data ", dockerfile())
    places = {"STRATA_HOST": "127.0.0.1", "STRATA_PORT": "0", "STRATA_DATA_DIR": str(tmp_path), "STRATA_POOL": "1"}
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, **places}
    ) as server:
        assert server.stdout is not None
        try:
            [address] = re.findall(r"http://127\.0\.0\.1:\d+/", server.stdout.readline())
            with urllib.request.urlopen(f"{address}healthz", timeout=60) as response:
                assert json.load(response)["status"] == "ok"
        finally:
            server.terminate()
    assert server.returncode == 0


def test_it_runs_as_nobody_special_and_is_watched() -> None:
    text = dockerfile()
    assert re.search(r"^USER (?!root)", text, re.MULTILINE)
    assert "/healthz" in text[text.index("HEALTHCHECK") :]
    assert "libgomp1" in text
    assert re.search(r"^FROM python:3\.\d+-slim$", text, re.MULTILINE)
