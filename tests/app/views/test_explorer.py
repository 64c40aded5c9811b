"""The page and its fragments over HTTP: complete, escaped, and cached where they never change."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from markupsafe import escape

from app import create_app
from app.artifacts import Answer, Problem, Unit
from app.config import Config
from app.errors import Busy
from app.gallery import load_gallery
from app.jobs.answers import StoredAnswer
from app.services import EXTENSION, Services
from app.views.explorer import title_of
from tests.app.fixtures import AnswerRunner, FixedRunner, full_answer

HX = {"HX-Request": "true"}


@pytest.fixture
def page_client(tmp_path: Path) -> FlaskClient:
    return create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, FixedRunner()).test_client()


def keys() -> dict[str, str]:
    return {step.name: step.listing or "" for step in full_answer().units[0].steps}


def test_the_first_page_is_compiled_already(page_client: FlaskClient) -> None:
    response = page_client.get("/")
    assert response.status_code == 200
    html = response.text
    for shown in ("compiled in 96 ms", "vfmadd231ps", "llvm.fmuladd", "i_outer", "Clean-up", "12.5"):
        assert shown in html, shown


def test_what_a_script_printed_is_text(page_client: FlaskClient) -> None:
    for html in (page_client.get("/").text, page_client.post("/panes", data={"script": "x"}, headers=HX).text):
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert(1)" in html


def test_what_stands_in_the_editor_is_text(page_client: FlaskClient) -> None:
    script = "x = '</textarea><script>alert(1)</script>'"
    link = page_client.post("/api/links", json={"workspace": {"script": script}}).get_json()["id"]
    html = page_client.get(f"/z/{link}").text
    assert "</textarea><script>alert" not in html
    assert page_client.get(f"/z/{link}/code").text == script


@pytest.mark.parametrize(
    ("added", "options", "measured"), [("", {}, True), ("\n", {}, False), ("", {"threads": 2}, False)]
)
def test_an_examples_link_shows_the_ladder_that_came_with_it(
    page_client: FlaskClient, added: str, options: dict[str, object], measured: bool
) -> None:
    workspace = {"script": load_gallery().first.script + added, "options": options}
    link = page_client.post("/api/links", json={"workspace": workspace}).get_json()["id"]
    assert ('id="stored-ladder"' in page_client.get(f"/z/{link}").text) == measured


@pytest.mark.parametrize(
    ("script", "title"),
    [
        ('"""My matmul\n\nwords\n"""', "My matmul"),
        ('r"""Ada\'s "fast" matmul"""', 'Ada\'s "fast" matmul'),
        ("'''Not at its end", "Not at its end"),
        ("import tvm", ""),
        ('"""<b>"""', "<b>"),
        ("", ""),
        ('""""""', ""),
    ],
)
def test_a_links_page_is_called_what_its_script_says(page_client: FlaskClient, script: str, title: str) -> None:
    assert title_of(script) == title
    link = page_client.post("/api/links", json={"workspace": {"script": script}}).get_json()["id"]
    page = page_client.get(f"/z/{link}").text
    assert f"<title>{escape(title)} · Strata</title>" in page if title else "<title>Strata</title>" in page
    assert "Compiling …" in page


def test_every_script_is_announced_to_the_browser(page_client: FlaskClient) -> None:
    html = page_client.get("/").text
    for path in re.findall(r'<link rel="modulepreload" href="([^"]+)"', html):
        assert page_client.get(path).status_code == 200
    assert html.count("modulepreload") > 10


def test_the_limit_of_saved_models_stands_beside_their_buttons(page_client: FlaskClient) -> None:
    assert f"{Config().built_file_bytes >> 20} MB, its weights included" in page_client.get("/").text


def test_the_page_has_no_inline_script_or_style(page_client: FlaskClient) -> None:
    html = page_client.get("/").text
    assert " style=" not in html
    assert " onclick=" not in html
    assert all("src=" in tag or "application/json" in tag for tag in html.split("<script")[1:])


def test_an_answer_swaps_every_pane(page_client: FlaskClient) -> None:
    response = page_client.post("/panes", data={"script": "x", "seq": "7", "tab": "t"}, headers=HX)
    for target in ("state", "answer", "strip", "pane-schedule", "pane-console", "body-loops", "body-llvm", "body-asm"):
        assert f'id="{target}"' in response.text, target


def test_a_request_that_a_newer_one_overtook_is_no_error(page_client: FlaskClient) -> None:
    form = {"script": "x", "tab": "t"}
    page_client.post("/panes", data={**form, "seq": "2"}, headers=HX)
    response = page_client.post("/panes", data={**form, "seq": "1"}, headers=HX)
    assert (response.status_code, response.data) == (204, b"")


def test_the_lines_that_a_page_shows_already_do_not_come_again(page_client: FlaskClient) -> None:
    whole = page_client.post("/panes", data={"script": "x"}, headers=HX).text
    [key] = re.findall(r'id="body-asm"[^>]* data-key="([^"]+)"', whole)
    form = {"script": "x", "shown": json.dumps(["loops:other", unescape(key)])}
    html = page_client.post("/panes", data=form, headers=HX).text
    assert re.search(rf'id="body-asm"[^>]* data-key="{re.escape(key)}"[^>]* data-omitted[^>]*></div>', html)
    assert "vfmadd231ps" not in html
    assert "llvm.fmuladd" in html, "of the other panes nothing is left out"


def test_a_run_sends_updates_and_ends_with_the_answer(page_client: FlaskClient) -> None:
    response = page_client.post("/run", data={"script": "x", "seq": "7", "tab": "t"}, headers=HX)
    pieces = [json.loads(line) for line in response.text.splitlines()]
    assert [piece["kind"] for piece in pieces][-1] == "answer"
    assert {piece["kind"] for piece in pieces[:-1]} <= {"update"}
    assert "ran in 96 ms" in pieces[-1]["html"]
    assert 'id="body-asm"' in pieces[-1]["html"]


def test_a_run_that_is_refused_says_why(page_client: FlaskClient) -> None:
    response = page_client.post("/run", data={"script": "x", "options": '{"threads": 0}'}, headers=HX)
    [piece] = [json.loads(line) for line in response.text.splitlines()]
    assert piece["kind"] == "refused"
    assert "threads" in piece["html"]


def test_a_failing_script_leaves_the_panes_it_does_not_reach(page_client: FlaskClient) -> None:
    html = page_client.post("/panes", data={"script": "raise X"}, headers=HX).text
    assert "split: factor must be positive" in html
    assert "body-loops" not in html
    copies = "loops-2 loops-3 llvm-2 llvm-3 asm-2 asm-3 graph-2 graph-3"
    stale = f"loops llvm asm flow gpu schedule graph drawing kernels changes kernel ptx sass tvm {copies} strip"
    assert f'data-stale="{stale}"' in html


def test_panes_without_a_text_say_that_the_script_did_not_get_there(page_client: FlaskClient) -> None:
    form = {"script": "raise X", "shown": json.dumps(["loops:earlier", "No LLVM IR: no function was built for a CPU."])}
    html = page_client.post("/panes", data=form, headers=HX).text
    assert "No assembly: the script ended with ValueError at line 1 before it made any." in html
    assert "No LLVM IR: the script ended with ValueError at line 1 before it made any." in html
    assert "no function was built" not in html
    assert 'id="body-loops"' not in html, "it shows an earlier text"
    assert 'data-stale="loops flow gpu' in html


def test_panes_without_a_text_say_that_the_script_had_no_time(tmp_path: Path) -> None:
    late = Problem(kind="Timeout", message="the server is busy", cut_short=True, severity="info")
    runner = AnswerRunner(Answer(status="timeout", problems=[late]))
    client = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, runner).test_client()
    form = {"script": "x", "shown": json.dumps(["No assembly: no function was built for a CPU."])}
    html = client.post("/panes", data=form, headers=HX).text
    assert "No assembly: the script was stopped before it made any." in html


def test_a_view_chooses_the_step(page_client: FlaskClient) -> None:
    view = json.dumps({"loops": "lowering:Loops:0"})
    html = page_client.post("/panes", data={"script": "x", "view": view}, headers=HX).text
    assert "T.parallel" not in html


@pytest.mark.parametrize(
    "form", [{"options": "{"}, {"options": '{"threads": 0}'}, {"options": '{"unknown": 1}'}, {"options": "[]"}]
)
def test_bad_options_are_refused_with_a_word(page_client: FlaskClient, form: dict[str, str]) -> None:
    response = page_client.post("/panes", data={"script": "x", **form}, headers=HX)
    assert response.status_code == 422
    assert 'id="state"' in response.text
    assert response.headers["Strata-Fragment"] == "refused"


def test_a_text_at_another_step_and_as_a_difference(page_client: FlaskClient) -> None:
    page_client.post("/panes", data={"script": "x"}, headers=HX)
    before, after = keys()["Loops"], keys()["LowerParallel"]
    alone = page_client.get("/text/loops", query_string={"listing": before, "label": "<b>"})
    assert alone.status_code == 200
    assert "immutable" in alone.headers["Cache-Control"]
    assert "T.parallel" not in alone.text
    assert '<b>"' not in alone.text
    merged = page_client.get("/text/loops", query_string={"listing": after, "before": before}).text
    assert merged.count(" added") == merged.count(" removed") == 1


def test_chunks_are_asked_for_by_content(page_client: FlaskClient) -> None:
    page_client.post("/panes", data={"script": "x"}, headers=HX)
    response = page_client.get(f"/listings/{keys()['host']}/0")
    assert "vfmadd231ps" in response.text


@pytest.mark.parametrize(
    "path", ["/text/loops?listing=no", "/text/none?listing=no", "/listings/no/0", "/z/bcdfghjk", "/z/bcdfghjk/code"]
)
def test_what_is_unknown_is_not_found(page_client: FlaskClient, path: str) -> None:
    response = page_client.get(path)
    assert response.status_code == 404
    assert "Nothing here" in response.text


def test_a_model_without_kernels_is_told_to_have_none(tmp_path: Path) -> None:
    runner = AnswerRunner(Answer(units=[Unit(name="main", kind="graph", built=True)]))
    client = create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0}, runner).test_client()
    html = client.post("/panes", data={"script": "x"}, headers=HX).text
    assert "This model has no kernels" in html
    assert "appear here when relay.build makes them" not in html


def test_a_chunk_beyond_the_end_is_not_found(page_client: FlaskClient) -> None:
    page_client.post("/panes", data={"script": "x"}, headers=HX)
    assert page_client.get(f"/listings/{keys()['host']}/9").status_code == 404


def test_the_ladder_is_drawn_from_what_was_heard(page_client: FlaskClient) -> None:
    measurement = {"name": "C.split(i)", "kind": "prefix", "seconds": 0.01, "gflops": 48.6, "checked": "ok"}
    asked = {"measurements": [measurement], "done": 3, "total": 9, "label": "3 of 9 · <i>", "running": True}
    html = page_client.post("/chart", data={"asked": json.dumps(asked)}, headers=HX).text
    for shown in ("<svg", "48.6", "C.split(i)", 'max="9"', "&lt;i&gt;"):
        assert shown in html, shown
    asked["before"] = [{**measurement, "seconds": 0.02}]
    html = page_client.post("/chart", data={"asked": json.dumps(asked)}, headers=HX).text
    assert "was 20 ms: 2× as fast" in html


@pytest.mark.parametrize("asked", ["", "[]", '{"measurements": 3}', json.dumps({"measurements": [{}]})])
def test_a_ladder_that_makes_no_sense_is_refused(page_client: FlaskClient, asked: str) -> None:
    assert page_client.post("/chart", data={"asked": asked}, headers=HX).status_code == 422


def test_every_example_of_the_gallery_opens(page_client: FlaskClient) -> None:
    html = page_client.get("/").text
    names = [part.split('"')[0] for part in html.split("/?example=")[1:]]
    assert len(names) >= 10
    for name in names:
        assert page_client.get(f"/?example={name}").status_code == 200


def test_an_example_that_does_not_exist_is_told(page_client: FlaskClient) -> None:
    response = page_client.get("/?example=<b>nope</b>")
    assert response.status_code == 404
    assert "here is no example &#39;&lt;b&gt;nope&lt;/b&gt;&#39;; the page lists all under Examples" in response.text


def test_a_link_has_a_picture_until_it_is_deleted(page_client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL")
    saved = page_client.post("/api/links", json={"workspace": {"script": '"""Mine"""'}}).get_json()
    address = f"/z/{saved['id']}/card.png"
    first = page_client.get(address)
    assert (first.status_code, first.content_type) == (200, "image/png")
    assert first.data.startswith(b"\x89PNG")
    assert first.headers["Cache-Control"] == "public, max-age=3600"
    services: Services = page_client.application.extensions[EXTENSION]
    monkeypatch.setattr(services.renderer, "perform", None)  # it is not drawn again
    assert page_client.get(address).data == first.data
    page_client.delete(f"/api/links/{saved['id']}", headers={"X-Delete-Token": saved["delete_token"]})
    assert page_client.get(address).status_code == 404


def test_a_picture_without_what_a_link_compiles_to_is_kept_by_nobody(
    page_client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("PIL")
    saved = page_client.post("/api/links", json={"workspace": {"script": "x = 1"}}).get_json()
    services: Services = page_client.application.extensions[EXTENSION]

    def compile(*_: object) -> StoredAnswer:
        raise Busy("too many are waiting", retry_after=1)

    with monkeypatch.context() as patched:
        patched.setattr(services.compiler, "compile", compile)
        busy = page_client.get(f"/z/{saved['id']}/card.png")
    assert (busy.status_code, busy.headers["Cache-Control"]) == (200, "no-store")
    later = page_client.get(f"/z/{saved['id']}/card.png")
    assert later.headers["Cache-Control"] == "public, max-age=3600"
    assert later.data != busy.data
