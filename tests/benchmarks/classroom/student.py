"""A student: joins a class, edits, compiles what others have compiled, and a model, climbs a ladder, shares a link."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from app.gallery import load_gallery
from app.views.explorer import FRAGMENT_HEADER
from tests.benchmarks.model_latency import SCRIPT as MODEL_SCRIPT
from tests.benchmarks.serving.client import JSON, Reply, exchange, form, json_body

MIX = {"edit": 0.79, "cached": 0.10, "model": 0.05, "ladder": 0.04, "link": 0.02}
"""Share of each kind among a student's actions, which follow the page that they load first."""
THINK_SECONDS = 6.0
"""Mean time between an answer and the next action; exponential, from half a second to four times the mean."""
PATIENCE_SECONDS = 60.0
LADDER_PATIENCE_SECONDS = 180.0
EDITED = ("matmul-scheduled", "vector-add", "conv2d", "reduction-rfactor", "softmax", "blur-compute-at", "argmax")
"""Examples that students edit."""
ATTEND_SECONDS = 30.0
"""How often a student's page reports that they are there."""
CLIMBED = "reduction-rfactor"
"""The example whose schedule is measured prefix by prefix."""


class Action(msgspec.Struct, frozen=True):
    """Something that a student did."""

    student: int
    kind: str
    began: float
    seconds: float
    failure: str = ""


class Refused(Exception):
    """The server did not answer as it should."""


class Student:
    """One student, with an address and a tab of their own.

    Parameters
    ----------
    number : int
        From 0; gives the address and the seed of all choices.
    port : int
    model : bytes
        The model that the class looks at.
    school : str
        The path of the class that they join.
    one_address : bool
        Whether all share an address, as behind a school's router.
    """

    def __init__(self, number: int, port: int, model: bytes, school: str, one_address: bool = False) -> None:
        self.number = number
        self.actions: list[Action] = []
        self._port = port
        self._model = model
        self._school = school
        self._left = threading.Event()
        self._address = "127.0.1.1" if one_address else f"127.0.1.{number + 1}"
        self._random = random.Random(number)
        self._edits = 0
        self._upload = ""
        gallery = load_gallery()
        self._scripts = [example.script for example in gallery if example.name in EDITED]
        self._ladder = next(example.script for example in gallery if example.name == CLIMBED)

    def work(self, until: float) -> None:
        """Work until a moment of the monotonic clock, with pauses to think."""
        kinds = {"edit": self._edit, "cached": self._compile_cached, "model": self._compile_model}
        kinds |= {"ladder": self._climb, "link": self._share}
        time.sleep(self._random.uniform(0, THINK_SECONDS))
        self._do("page", self._load)
        page = threading.Thread(target=self._attend)
        page.start()
        while True:
            pause = self._random.expovariate(1 / THINK_SECONDS)
            time.sleep(min(max(pause, 0.5), 4 * THINK_SECONDS))
            if time.monotonic() > until:
                break
            kind = self._random.choices(list(MIX), list(MIX.values()))[0]
            self._do(kind, kinds[kind])
        self._left.set()
        page.join()

    def _attend(self) -> None:
        """Report to the class until the student leaves, as their page does whatever they wait for."""
        while not self._left.is_set():
            self._do("class", self._report)
            self._left.wait(ATTEND_SECONDS)

    def _do(self, kind: str, action: Callable[[], None]) -> None:
        began, failure = time.monotonic(), ""
        try:
            action()
        except (OSError, http.client.HTTPException, Refused) as error:
            failure = f"{type(error).__name__}: {error}"
        self.actions.append(Action(self.number, kind, began, time.monotonic() - began, failure))

    def _load(self) -> None:
        self._expect(200, exchange(self._port, "GET", "/", address=self._address, timeout=PATIENCE_SECONDS))

    def _report(self) -> None:
        body = json_body({"student": f"{self.number:032x}", "step": 1})
        self._ask("POST", f"{self._school}/students", 200, body, JSON)

    def _edit(self) -> None:
        self._edits += 1
        script = self._random.choice(self._scripts)
        self._panes(f"{script}\n# edit {self._edits} of student {self.number}\n")

    def _compile_cached(self) -> None:
        self._panes(self._scripts[0])

    def _compile_model(self) -> None:
        if not self._upload:
            body, headers = form({}, {"file": self._model})
            self._upload = msgspec.json.decode(self._ask("POST", "/api/uploads", 201, body, headers).body)["id"]
        self._edits += 1
        self._panes(f"{MODEL_SCRIPT}# edit {self._edits} of student {self.number}\n", {"model.onnx": self._upload})

    def _panes(self, script: str, uploads: dict[str, str] | None = None) -> None:
        named = msgspec.json.encode(uploads or {}).decode()
        tab = f"tab of student {self.number}"
        fields = {"script": script, "options": "{}", "uploads": named, "tab": tab, "seq": str(self._edits)}
        reply = self._ask("POST", "/panes", 200, *form(fields))
        if any(name.lower() == FRAGMENT_HEADER.lower() for name in reply.headers) or b"</" not in reply.body:
            raise Refused(reply.body[:200].decode(errors="replace"))

    def _climb(self) -> None:
        self._edits += 1
        script = f"{self._ladder}\n# ladder {self._edits} of student {self.number}\n"
        started = self._ask("POST", "/api/ladders", 202, json_body({"script": script}), JSON)
        events = self._ask("GET", msgspec.json.decode(started.body)["events"], 200)
        if b'"status":"ok"' not in events.body:
            raise Refused(events.body[-200:].decode(errors="replace"))

    def _share(self) -> None:
        self._edits += 1
        state = {"workspace": {"script": f"{self._scripts[0]}# link {self._edits} of student {self.number}\n"}}
        saved = self._ask("POST", "/api/links", 201, json_body(state), JSON)
        self._ask("GET", f"/z/{msgspec.json.decode(saved.body)['id']}", 200)

    def _ask(
        self, method: str, path: str, status: int, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        patience = LADDER_PATIENCE_SECONDS if path.endswith("/events") else PATIENCE_SECONDS
        reply = exchange(self._port, method, path, body, headers, address=self._address, timeout=patience)
        return self._expect(status, reply)

    def _expect(self, status: int, reply: Reply) -> Reply:
        if reply.status != status:
            raise Refused(f"HTTP {reply.status}: {reply.body[:200].decode(errors='replace')}")
        return reply


def read_model(path: Path | None) -> bytes:
    """Return a model file's content, or a MobileNetV2 with random weights."""
    if path is not None:
        return path.read_bytes()
    from tests import models

    content: bytes = models.build("mobilenetv2").SerializeToString()
    return content
