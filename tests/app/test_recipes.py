"""The recipes of app/README.md are followed word for word, on toys that leave nothing behind."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from jinja2 import ChoiceLoader, DictLoader

from app import create_app
from app.artifacts import Answer, Step, Unit
from app.challenges import Problems
from app.gallery import load_gallery
from app.lessons.lesson import read_lesson
from app.panes import table
from app.panes.buttons import by_step
from app.panes.listing_pane import produce_listing
from app.panes.pane import LISTING_TEMPLATE, Pane
from app.protocol import Snapshot
from app.sandbox import Runner
from app.workers import rendering, templates
from app.workers.in_process import InProcess
from tests.app.fixtures import AnswerRunner, FixedRunner, full_answer, listing

README = (Path(__file__).resolve().parents[2] / "app" / "README.md").read_text()


def recipe(title: str) -> list[str]:
    """Return the code blocks under a heading of the README."""
    [section] = re.findall(rf"^### {re.escape(title)}\n(.*?)(?=^##|\Z)", README, re.MULTILINE | re.DOTALL)
    return re.findall(r"^```\w+\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)


@pytest.fixture
def make_module(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], ModuleType]:
    """Make a module of the text of a file, for the time of a test."""

    def make(name: str, text: str) -> ModuleType:
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(text, name, "exec"), module.__dict__)
        return module

    return make


def row_of(text: str, **names: Any) -> Pane:
    """Return the row that a recipe writes; ``names`` are the imports of the table's file."""
    row = eval(text, {"Pane": Pane, **names})
    assert isinstance(row, Pane)
    return row


def page_data(html: str) -> Any:
    [block] = re.findall(r'id="page-data">(.*?)</script>', html)
    return json.loads(block)


@pytest.fixture
def memory_pane(make_module: Callable[[str, str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> str:
    """Follow the recipe for a pane; returns its template."""
    producer, template, row = recipe("A pane")
    module = make_module("app.panes.memory", producer)
    monkeypatch.setattr(table, "PANES", (*table.PANES, row_of(row, **vars(module))))
    return template


@pytest.fixture
def in_process(memory_pane: str, monkeypatch: pytest.MonkeyPatch) -> InProcess:
    """Return a renderer that knows the recipe's row and template, which no process of its own could."""
    environment = templates.environment()
    environment.loader = ChoiceLoader([DictLoader({"panes/_memory.html": memory_pane}), environment.loader])
    monkeypatch.setattr(rendering, "_environment", lambda: environment)
    return InProcess()


def test_a_new_pane_is_on_the_page_and_in_every_list(in_process: InProcess, tmp_path: Path) -> None:
    graph = Unit(name="main", kind="graph", memory=["12 KB <shared>"])
    runner = AnswerRunner(Answer(units=[graph]))
    client = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, runner, in_process).test_client()
    html = client.get("/").text
    dock = html.partition('id="graph-lower"')[2].partition('class="row')[0]
    assert 'id="pane-memory"' in dock
    assert "12 KB &lt;shared&gt;" in dock
    [served] = [pane for pane in page_data(html)["table"]["panes"] if pane["name"] == "memory"]
    assert served["title"] == "Memory"
    assert (served["level"], served["compiled"], served["listing"]) == ("graph", True, False)
    fragment = client.post("/panes", data={"script": "x"}).text
    assert "12 KB &lt;shared&gt;" in fragment
    refused = client.post("/panes", data={"script": "x", "options": "{"}).text
    assert re.search(r'data-stale="[^"]*\bmemory\b', refused)


def test_a_new_pane_without_content_says_so_or_stays(in_process: InProcess, tmp_path: Path) -> None:
    client = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, FixedRunner(), in_process).test_client()
    assert "appears here when relay.build plans memory" in client.get("/").text
    failed = client.post("/panes", data={"script": "raise X"}).text
    assert 'id="pane-memory"' not in failed
    assert re.search(r'data-stale="[^"]*\bmemory\b', failed)


def cuda_row() -> Pane:
    """Return the row of the recipe for a listing."""
    [row] = recipe("A pane for a listing")
    names = {"LISTING_TEMPLATE": LISTING_TEMPLATE, "produce_listing": produce_listing, "by_step": by_step}
    return row_of(row, **names)


def cuda_answer() -> Answer:
    """Return an answer with a step of a group that no row of the real table shows."""
    source = listing("asm", "cuda", "__global__ void k() {\n  x = 1 < 2;\n}", {2: [3]})
    answer = full_answer()
    [unit] = answer.units
    step = Step(group="cuda", name="source", listing=source.key)
    unit = msgspec.structs.replace(unit, steps=[*unit.steps, step])
    return msgspec.structs.replace(answer, units=[unit], listings={**answer.listings, source.key: source})


def test_a_pane_for_a_text_is_one_row(make_client: Callable[[Runner], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "PANES", (*table.PANES, cuda_row()))
    answer = cuda_answer()
    assert msgspec.json.decode(msgspec.json.encode(Snapshot(answer=answer)), type=Snapshot).answer == answer
    html = make_client(AnswerRunner(answer)).get("/").text
    body = html.partition('id="body-cuda"')[2].partition("</section>")[0]
    assert "x = 1 &lt; 2;" in re.sub("<[^>]*>", "", body)
    assert json.loads(re.findall(r'id="links-cuda">(.*?)</script>', body)[0])["lines"] == [0, 1, 0]
    assert 'data-group="cuda"' in html


@pytest.fixture
def make_client(tmp_path: Path) -> Callable[[Runner], Any]:
    """Return a client of an application over a runner."""
    return lambda runner: create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, runner, InProcess()).test_client()


def test_an_example_is_one_file(tmp_path: Path) -> None:
    [script] = recipe("An example")
    (tmp_path / "90_scale.py").write_text(script, encoding="utf-8")
    [example] = load_gallery(tmp_path)
    assert (example.name, example.title) == ("scale", "Scale a vector")
    assert example.words.startswith("One loop")
    from compiler.classic import alias

    alias.install()
    scope: dict[str, Any] = {}
    exec(compile(example.script, "90_scale.py", "exec"), scope)
    assert "mul" in scope["f"].get_source()


def test_a_route_is_described_by_its_view(make_module: Callable[[str, str], ModuleType], tmp_path: Path) -> None:
    [view] = recipe("A route")
    app = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, FixedRunner())
    app.register_blueprint(make_module("app.views.about", view).bp)
    client = app.test_client()
    assert client.get("/api/about").get_json() == {"version": "0.1.0"}
    described = client.get("/api/openapi.json").get_json()["paths"]["/api/about"]["get"]
    assert described["summary"] == "Say which version of the explorer answers."
    assert "About" in json.dumps(described["responses"]["200"])


def test_the_readme_names_files_that_exist() -> None:
    root = Path(__file__).resolve().parents[2]
    told = README.partition("## How to add")[0]
    places_named = re.findall(r"`((?:[a-z_]+/)*[a-z_]+(?:\.py|\.js|\.html|/))`", told)
    assert len(places_named) > 25
    places = (root, root / "app", root / "static" / "js", root / "templates")
    assert [path for path in places_named if not any((place / path).exists() for place in places)] == []


def test_a_lesson_is_read_from_its_file(tmp_path: Path) -> None:
    [name, text] = re.findall(
        r"^### A lesson\n.*?`app/lessons/texts/(\S+)`:\n\n````markdown\n(.*?)^````$", README, re.M | re.S
    )[0]
    (tmp_path / name).write_text(text, encoding="utf-8")
    lesson = read_lesson(tmp_path / name)
    [step] = lesson.steps
    assert (lesson.name, step.title, len(step.hints)) == ("scale", "Split it", 1)
    assert [check.sentence for check in step.checks] == ["The loops of B nest in the order i.outer, i.inner"]


def test_a_challenge_is_read_from_its_file(tmp_path: Path) -> None:
    [script] = recipe("A challenge")
    (tmp_path / "90_scale.py").write_text(script)
    problem = Problems(tmp_path).find("scale")
    assert problem is not None
    assert (problem.title, problem.settings.small) == ("Scale a vector", {"n": 999})
    assert "# ///" not in problem.script
