"""The API's description: valid, complete, and true of real answers."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from werkzeug.test import TestResponse

from app import create_app
from app.artifacts import Measurement, Problem
from app.protocol import Measured, Progress
from app.web.api_reference import routes_of
from tests.app.runners import Script, ScriptedRunner, broken, listing, snapshot

Document = dict[str, Any]


@pytest.fixture
def scripted() -> ScriptedRunner:
    runner = ScriptedRunner()
    row = Measurement(name="default", kind="prefix", seconds=1.0, step=0)
    problem = Problem(kind="TVMError", message="no", line=1)
    told = [Progress(done=0, total=1, label="default"), Measured(measurement=row)]
    runner.scripts["ladder"] = Script([snapshot(None, listing()), *told])
    runner.scripts["wrong"] = Script([snapshot(None, listing(), status="error", problems=[problem])])
    return runner


@pytest.fixture
def app(tmp_path: Any, scripted: ScriptedRunner) -> Flask:
    return create_app({"DATA_DIR": tmp_path, "RATE_LIMIT": 0, "BODY_BYTES": 10_000}, scripted)


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def document(client: FlaskClient) -> Document:
    found: Document = client.get("/api/openapi.json").get_json()
    return found


def test_the_description_is_valid(document: Document) -> None:
    validate(document)


def test_every_route_of_the_api_is_described_and_no_other(app: Flask, document: Document) -> None:
    served = {
        (rule.rule.replace("<int:", "<").replace("<path:", "<").replace("<", "{").replace(">", "}"), method.lower())
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/api/")
        for method in rule.methods or ()
        if method not in ("HEAD", "OPTIONS")
    }
    described = {(path, method) for path, methods in document["paths"].items() for method in methods}
    assert described == served
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["summary"], f"{method} {path} says nothing about itself"
            assert set(operation["responses"]) > {"default"}, f"{method} {path} has no successful answer"


@dataclass(frozen=True)
class Call:
    """A request, the route that it goes by in the description, and the status that it must have."""

    method: str
    route: str
    status: int
    path: str = ""
    body: Any = None
    data: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    broken: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.route} {self.status}"


WORKSPACE = {
    "script": "ladder",
    "files": {"a.txt": base64.b64encode(b"\0\xff").decode()},
    "options": {"target": "llvm", "assembly": "host", "opt_level": 2, "threads": 1},
}
CHECK = "/api/challenges/{challenge}/check"
ENTRIES = "/api/challenges/{challenge}/entries"
ENTRY = "/api/challenges/{challenge}/entries/{entry}"
STEP = "/api/lessons/{lesson}/steps/{number}/check"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
MULTIPART = {"Content-Type": "multipart/form-data; boundary=b"}


def a_file(name: str, content: bytes) -> bytes:
    """Return a form with one file."""
    head = f'--b\r\nContent-Disposition: form-data; name="{name}"; filename="model.onnx"\r\n\r\n'.encode()
    return head + content + b"\r\n--b--\r\n"


CALLS = [
    Call("post", "/api/compile", 200, body=WORKSPACE),
    Call("post", "/api/compile", 200, body={"script": "wrong", "tab": "t", "seq": 3}),
    Call("post", "/api/compile", 400, data=b"{"),
    Call("post", "/api/compile", 400, data=b'{"script": "\xff"}'),
    Call("post", "/api/compile", 422, data=b"[" * 9_000),
    Call("post", "/api/compile", 400, data=b'{"script": "\\ud800"}'),
    Call("post", "/api/compile", 413, body={"script": "x" * 20_000}),
    Call("post", "/api/compile", 415, data=b"{}", headers={"Content-Type": "text/plain"}),
    Call("post", "/api/compile", 422, body={"script": 3}),
    Call("post", "/api/compile", 422, body={"script": "", "scripts": ""}),
    Call("post", "/api/compile", 422, body={}),
    Call("post", "/api/compile", 422, body=[]),
    Call("post", "/api/compile", 503, body=WORKSPACE, broken=True),
    Call("get", "/api/compile", 405),
    Call("post", "/api/run", 200, body=WORKSPACE),
    Call("post", "/api/run", 422, body={"script": "", "options": {"threads": 0}}),
    Call("post", "/api/ladders", 202, body=WORKSPACE),
    Call("post", "/api/measure", 202, body=WORKSPACE),
    Call("post", "/api/measure", 422, body={"script": 3}),
    Call("post", "/api/model-times", 202, body={**WORKSPACE, "models": [-2, -1]}),
    Call("post", "/api/model-times", 422, body={**WORKSPACE, "models": [-1, 0]}),
    Call("post", "/api/scrubs", 202, body={**WORKSPACE, "script": "f(16)", "line": 1, "column": 2, "values": ["8"]}),
    Call("post", "/api/scrubs", 422, body={**WORKSPACE, "line": 1, "column": 2, "values": ["8"]}),
    Call("post", "/api/searches", 202, body=WORKSPACE),
    Call("post", "/api/searches", 422, body={**WORKSPACE, "search": {"seconds": 1e9}}),
    Call("post", "/api/candidates", 200, body={**WORKSPACE, "choices": [["C.way", "tiles"]]}),
    Call("post", "/api/candidates", 422, body={**WORKSPACE, "choices": [3]}),
    Call("post", "/api/proposals", 200, body={**WORKSPACE, "subject": {"place": {"stage": 0, "loop": 1}}}),
    Call("post", "/api/proposals", 422, body=WORKSPACE),
    Call("post", "/api/why", 200, body=WORKSPACE),
    Call("post", "/api/why", 422, body={**WORKSPACE, "unit": "last"}),
    Call("post", "/api/format", 200, body={"script": "x=1"}),
    Call("post", "/api/format", 422, body={"script": "x = ("}),
    Call("post", "/api/text", 404, body=WORKSPACE),
    Call("post", "/api/text", 200, body={"script": "wrong"}),
    Call("post", "/api/text", 422, body={"script": "", "text": {"pane": 3}}),
    Call("post", "/api/explain", 200, body=WORKSPACE),
    Call("post", "/api/explain", 404, body={**WORKSPACE, "function": "none"}),
    Call("post", "/api/compare", 200, body={"workspace": WORKSPACE, "after": {"script": "wrong"}}),
    Call("post", "/api/compare", 422, body={"workspace": WORKSPACE}),
    Call("post", "/mcp", 200, body={"jsonrpc": "2.0", "id": 1, "method": "ping"}),
    Call("post", "/mcp", 400, body=[]),
    Call("post", "/api/traces", 200, body=WORKSPACE),
    Call("post", "/api/traces", 422, body={"script": "", "unit": "last"}),
    Call("post", "/api/webgpu", 200, body=WORKSPACE),
    Call("post", "/api/webgpu", 422, body={"script": "", "prefixes": "all"}),
    Call("get", "/api/ladders/{ladder}/events", 404, path="/api/ladders/none/events"),
    Call("delete", "/api/ladders/{ladder}", 404, path="/api/ladders/none"),
    Call("post", "/api/links", 201, body={"workspace": WORKSPACE, "view": {"pane": "asm", "unit": 1}}),
    Call("post", "/api/links", 422, body={"workspace": {"script": None}}),
    Call("post", "/api/export", 200, body={"workspace": WORKSPACE, "view": {"pin": "asm:3"}}),
    Call("post", "/api/export", 422, body={"workspace": WORKSPACE, "measurements": [{}]}),
    Call("post", "/api/files", 404, body={**WORKSPACE, "file": {"form": "so"}}),
    Call("post", "/api/files", 422, body={**WORKSPACE, "file": {"form": "so", "unit": "last"}}),
    Call("post", "/api/files", 422, body=WORKSPACE),
    Call("get", "/listings/{key}/file", 404, path="/listings/none/file"),
    Call("get", "/api/links/{link}", 404, path="/api/links/none"),
    Call("post", "/api/links/{link}/texts", 404, path="/api/links/none/texts"),
    Call("delete", "/api/links/{link}", 403, path="/api/links/none"),
    Call("delete", "/api/links/{link}", 404, path="/api/links/none", headers={"X-Delete-Token": "x"}),
    Call("post", "/api/uploads", 201, data=a_file("file", b"model"), headers=MULTIPART),
    Call("post", "/api/uploads", 422, data=a_file("file", b""), headers=MULTIPART),
    Call("post", "/api/uploads", 422, data=a_file("other", b"model"), headers=MULTIPART),
    Call("post", "/api/uploads", 413, data=a_file("file", b"x" * 20_000), headers=MULTIPART),
    Call("post", "/api/compile", 404, body={"script": "", "uploads": {"model.onnx": "0" * 64}}),
    Call("post", "/api/compile", 422, body={"script": "", "uploads": {"model.onnx": "../../etc/passwd"}}),
    Call("get", "/graph/{key}", 404, path="/graph/none"),
    Call("get", "/graph/{key}/{slot}", 404, path="/graph/none/0"),
    Call("get", "/flow/{key}", 404, path="/flow/none"),
    Call("get", "/throughput/{key}", 404, path="/throughput/none"),
    Call("get", "/learn", 200),
    Call("get", "/learn/{lesson}", 200, path="/learn/first-compute"),
    Call("get", "/learn/{lesson}", 404, path="/learn/none"),
    Call("get", "/api/lessons/{lesson}/revision", 200, path="/api/lessons/first-compute/revision"),
    Call("post", STEP, 200, path="/api/lessons/first-compute/steps/1/check", body={"workspace": WORKSPACE}),
    Call("post", STEP, 404, path="/api/lessons/first-compute/steps/99/check", body={"workspace": WORKSPACE}),
    Call("post", STEP, 422, path="/api/lessons/first-compute/steps/1/check", body={"workspace": {}}),
    Call("post", "/api/challenges/{challenge}/ladder", 202, path="/api/challenges/matmul/ladder", body=WORKSPACE),
    Call("post", CHECK, 404, path="/api/challenges/none/check", body={"workspace": WORKSPACE}),
    Call("post", CHECK, 200, path="/api/challenges/gpu-transposition/check", body={"workspace": WORKSPACE}),
    Call("post", ENTRIES, 422, path="/api/challenges/matmul/entries", body={"workspace": WORKSPACE, "name": "a"}),
    Call("post", "/api/challenges/{challenge}/board", 202, path="/api/challenges/matmul/board"),
    Call("get", ENTRY, 404, path="/api/challenges/matmul/entries/none"),
    Call("delete", ENTRY, 404, path="/api/challenges/matmul/entries/none"),
    Call("post", "/api/classes", 201, body={"lesson": "first-compute"}),
    Call("post", "/api/classes", 404, body={"lesson": "none"}),
    Call("post", "/api/classes/{name}/students", 404, path="/api/classes/none/students"),
    Call("get", "/api/classes/{name}/students", 404, path="/api/classes/none/students"),
    Call("put", "/api/classes/{name}/presented", 404, path="/api/classes/none/presented"),
    Call("delete", "/api/classes/{name}/presented", 404, path="/api/classes/none/presented"),
    Call("delete", "/api/classes/{name}", 404, path="/api/classes/none"),
    Call("post", "/api/classes/{name}/results", 404, path="/api/classes/none/results"),
    Call("get", "/api/classes/{name}/events", 404, path="/api/classes/none/events"),
    Call("post", "/api/classes/{name}/names", 404, path="/api/classes/none/names"),
    Call("post", "/api/classes/{name}/looks", 404, path="/api/classes/none/looks"),
    Call("post", "/api/classes/{name}/looks/answers", 404, path="/api/classes/none/looks/answers"),
    Call("get", "/api/classes/{name}/results.csv", 404, path="/api/classes/none/results.csv"),
    Call("get", "/learn/{lesson}/board", 200, path="/learn/first-compute/board"),
    Call("post", "/api/live", 201, body={"key": "a" * 32, "script": ""}),
    Call("post", "/api/live/{name}/people", 404, path="/api/live/none/people"),
    Call("post", "/api/live/{name}/departure", 404, path="/api/live/none/departure"),
    Call("put", "/api/live/{name}/text", 404, path="/api/live/none/text"),
    Call("post", "/api/live/{name}/pen", 404, path="/api/live/none/pen"),
    Call("post", "/api/live/{name}/link", 404, path="/api/live/none/link"),
    Call("get", "/api/live/{name}/events", 404, path="/api/live/none/events"),
    Call("get", "/live/{name}", 404, path="/live/none"),
    Call("get", "/window/{pane}", 200, path="/window/asm"),
    Call("get", "/healthz", 200),
    Call("get", "/readyz", 200),
    Call("get", "/docs/api", 200),
    Call("get", "/docs/security", 200),
    Call("get", "/docs/privacy", 200),
    Call("get", "/docs/accessibility", 200),
    Call("get", "/docs/changes", 200),
    Call("get", "/robots.txt", 200),
    Call("get", "/favicon.ico", 200),
    Call("get", "/.well-known/security.txt", 404),
    Call("get", "/api/queue", 200),
    Call("get", "/api/cpus", 200),
    Call("get", "/api/openapi.json", 200),
    Call("get", "/", 200),
    Call("get", "/z/{link}", 404, path="/z/none"),
    Call("get", "/z/{link}/raw", 404, path="/z/none/raw"),
    Call("get", "/z/{link}/json", 404, path="/z/none/json"),
    Call("get", "/z/{link}/plain", 404, path="/z/none/plain"),
    Call("get", "/z/{link}/card.png", 404, path="/z/none/card.png"),
    Call("get", "/oembed", 404),
    Call("get", "/completions/{name}", 200, path="/completions/tvm.te"),
    Call("get", "/completions/{name}", 404, path="/completions/tvm.no"),
    Call("get", "/documentation/{name}", 200, path="/documentation/tvm.te.Stage.split"),
    Call("get", "/documentation/{name}", 404, path="/documentation/os.system"),
    Call("post", "/chart", 200, data=b'asked={"measurements":[]}', headers=FORM),
    Call("post", "/search", 200, data=b'asked={"trials":[]}', headers=FORM),
    Call("post", "/panes", 200, data=b"script=ladder", headers=FORM),
    Call("post", "/run", 200, data=b"script=ladder", headers=FORM),
    Call("get", "/listings/{key}/{index}", 404, path="/listings/none/0"),
    Call("get", "/listings/{key}/{index}/instructions", 404, path="/listings/none/0/instructions"),
    Call("get", "/text/{pane}", 404, path="/text/none"),
    Call("get", "/static/{version}/{filename}", 404, path="/static/any/none"),
]


def check(document: Document, response: TestResponse, route: str, method: str) -> None:
    """Check an answer of the API against its description."""
    if not route.startswith("/api/"):
        return
    responses = document["paths"][route].get(method, {}).get("responses", {})
    failure = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}}
    described = responses.get(str(response.status_code), failure if response.status_code >= 400 else None)
    assert described is not None, f"{method} {route} answers {response.status_code}, which is not described"
    if "content" not in described:
        assert response.data == b""
        return
    schema = described["content"][response.mimetype]["schema"]
    if response.mimetype == "application/json":
        whole = {**schema, "components": document["components"]}
        Draft202012Validator(whole).validate(response.get_json())


@pytest.mark.sample(3)
@pytest.mark.parametrize("call", CALLS, ids=str)
def test_answers_are_as_described(
    client: FlaskClient, scripted: ScriptedRunner, document: Document, call: Call
) -> None:
    if call.broken:
        scripted.refuses = broken
    data = call.data if call.body is None else json.dumps(call.body).encode()
    headers = {"Content-Type": "application/json", **call.headers} if data is not None else call.headers
    response = client.open(call.path or call.route, method=call.method.upper(), data=data, headers=headers)
    assert response.status_code == call.status, response.text
    check(document, response, call.route, call.method)
    if call.status >= 400 and call.route.startswith("/api/"):
        error = response.get_json()["error"]
        assert error["message"]
        assert "Traceback" not in response.text
    if call.status == 422 and call.route.startswith("/api/"):
        assert error["field"].startswith("$")
        assert error["expected"] or "field" in error["message"]
    if call.status == 405:
        assert response.headers["Allow"] == error["expected"]


def test_the_examples_of_the_description_are_answered(client: FlaskClient, document: Document) -> None:
    tried = 0
    for path, methods in document["paths"].items():
        content = methods.get("post", {}).get("requestBody", {}).get("content", {}).get("application/json")
        if content is None or "{" in path:
            continue
        response = client.post(path, json=content["example"])
        makes_none = path in ("/api/files", "/api/text", "/api/compare")  # the scripts of this runner have no function
        assert response.status_code in ((404,) if makes_none else (200, 201, 202)), f"{path} {response.text}"
        check(document, response, path, "post")
        Draft202012Validator({**content["schema"], "components": document["components"]}).validate(content["example"])
        tried += 1
    assert tried >= 10


def test_commands_send_what_a_route_needs(document: Document) -> None:
    commands = {(route.method, route.path): route.curl("http://x") for route in routes_of(document)}
    assert "-H 'X-Delete-Token: {X-Delete-Token}'" in commands["DELETE", "/api/links/{link}"]
    assert "-F 'file=@{file}'" in commands["POST", "/api/uploads"]
    assert "Last-Event-ID" not in commands["GET", "/api/ladders/{ladder}/events"], "which is optional"


def test_every_route_has_a_command_on_the_page(client: FlaskClient, document: Document) -> None:
    page = client.get("/docs/api").text
    assert page.count("<summary>In a shell</summary>") == len(routes_of(document))


def test_links_and_ladders_from_end_to_end(client: FlaskClient, document: Document) -> None:
    saved = client.post("/api/links", json={"workspace": WORKSPACE}).get_json()
    opened = client.get(f"/api/links/{saved['id']}")
    check(document, opened, "/api/links/{link}", "get")
    texts = client.post(f"/api/links/{saved['id']}/texts")
    check(document, texts, "/api/links/{link}/texts", "post")
    assert opened.get_json()["state"]["workspace"]["files"] == WORKSPACE["files"]
    token = {"X-Delete-Token": saved["delete_token"]}
    deleted = client.delete(f"/api/links/{saved['id']}", headers=token)
    assert deleted.status_code == 204
    check(document, deleted, "/api/links/{link}", "delete")
    assert client.get(f"/api/links/{saved['id']}").status_code == 404
    started = client.post("/api/ladders", json={"script": "ladder"}).get_json()
    events = client.get(started["events"])
    check(document, events, "/api/ladders/{ladder}/events", "get")
    schema = document["paths"]["/api/ladders/{ladder}/events"]["get"]["responses"]["200"]
    whole = {**schema["content"]["text/event-stream"]["schema"], "components": document["components"]}
    told = list(event_data(events.text))
    assert [event["type"] for event in told] == ["progress", "measured", "ended"]
    for event in told:
        Draft202012Validator(whole).validate(event)
    stopped = client.delete(f"/api/ladders/{started['id']}")
    assert stopped.status_code == 204


@pytest.mark.parametrize("view", ["", "?view=read", "?view=embed", "?view=unheard-of"])
def test_a_link_s_page_is_shown_as_its_view_says(client: FlaskClient, view: str) -> None:
    link = client.post("/api/links", json={"workspace": WORKSPACE, "view": {"closed": "llvm"}}).get_json()["id"]
    shown = client.get(f"/z/{link}{view}")
    assert shown.status_code == 200
    assert ('class="reading ' in shown.text) == (view in ("?view=read", "?view=embed"))
    assert ("frame-ancestors *" in shown.headers["Content-Security-Policy"]) == (view == "?view=embed")


def test_a_link_is_text_and_json_and_says_what_it_is(client: FlaskClient) -> None:
    script = '"""Twice <b>&\n\nEach number "twice".\n"""\nx = 1\n'
    link = client.post("/api/links", json={"workspace": {"script": script}}).get_json()["id"]
    for name in ("raw", "code"):
        raw = client.get(f"/z/{link}/{name}")
        assert (raw.text, raw.mimetype) == (script, "text/plain")
    assert client.get(f"/z/{link}/json").get_json() == client.get(f"/api/links/{link}").get_json()
    plain = client.get(f"/z/{link}/plain").text
    assert f"http://localhost/z/{link}\n" in plain
    assert script in plain
    assert "# ----" not in plain, "it makes no function"
    page = client.get(f"/z/{link}").text
    assert '<meta property="og:title" content="Twice &lt;b&gt;&amp;">' in page
    assert '<meta property="og:description" content="Each number &#34;twice&#34;.">' in page
    assert f'<link rel="canonical" href="http://localhost/z/{link}">' in page
    assert f'<meta property="og:image" content="http://localhost/z/{link}/card.png">' in page
    assert f'<meta name="twitter:image" content="http://localhost/z/{link}/card.png">' in page
    offered = re.search(r'type="application/json\+oembed" href="http://localhost(/oembed\?[^"]+)"', page)
    assert offered is not None
    told = client.get(offered[1] + "&maxwidth=500").get_json()
    assert (told["type"], told["width"], told["title"]) == ("rich", 500, "Twice <b>&")
    assert f'src="http://localhost/z/{link}?view=embed"' in told["html"]
    assert told["thumbnail_url"] == f"http://localhost/z/{link}/card.png"
    assert (told["thumbnail_width"], told["thumbnail_height"]) == (1200, 630)
    assert 'title="Twice &lt;b&gt;&amp;"' in told["html"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"url": "https://evil.example/z/22222222"}, 404),
        ({"url": "http://localhost/z/22222222"}, 404),
        ({"url": "http://localhost/z/../api/queue"}, 404),
        ({"url": "http://[/z/22222222"}, 404),
        ({"url": "http://localhost/z/22222222", "format": "xml"}, 501),
    ],
)
def test_what_is_no_link_is_not_embedded(client: FlaskClient, query: dict[str, str], status: int) -> None:
    assert client.get("/oembed", query_string=query).status_code == status


def test_a_deleted_link_says_so_in_the_frame_of_another_page(client: FlaskClient) -> None:
    saved = client.post("/api/links", json={"workspace": {"script": "x"}}).get_json()
    client.delete(f"/api/links/{saved['id']}", headers={"X-Delete-Token": saved["delete_token"]})
    frame = client.get(f"/z/{saved['id']}?view=embed&theme=dark")
    assert frame.status_code == 404
    assert "it may have been deleted" in frame.text
    assert "frame-ancestors *" in frame.headers["Content-Security-Policy"]
    assert client.get(f"/z/{saved['id']}/plain").status_code == 404


def test_a_link_tells_what_was_seen_when_it_was_made(explorer: FlaskClient) -> None:
    script = "import tvm\nfrom tvm import te\nA = te.placeholder((8,), name='A')\n"
    script += "B = te.compute((8,), lambda i: A[i] + 1.0, name='B')\ns = te.create_schedule(B.op)\n"
    unseen = explorer.post("/api/links", json={"workspace": {"script": script + "# unseen"}}).get_json()
    assert explorer.get(f"/api/links/{unseen['id']}").get_json().get("outputs", {}) == {}
    explorer.post("/api/compile", json={"script": script})
    seen = explorer.post("/api/links", json={"workspace": {"script": script}}).get_json()
    told = explorer.get(f"/api/links/{seen['id']}").get_json()
    assert set(told["outputs"]) == {"Loop IR", "LLVM IR", "Assembly"}
    assert told["compiler"]


def test_a_link_in_plain_text_is_the_script_and_every_text_that_it_compiles_to(explorer: FlaskClient) -> None:
    script = "import tvm\nfrom tvm import te\nA = te.placeholder((8,), name='A')\n"
    script += "B = te.compute((8,), lambda i: A[i] + 1.0, name='B')\ns = te.create_schedule(B.op)\n"
    script += "f = tvm.build(s, [A, B], 'llvm -mcpu=haswell', name='add_one')\n"
    link = explorer.post("/api/links", json={"workspace": {"script": script}}).get_json()["id"]
    head, *texts = re.split(r"\n# ---- (.+) ----\n\n", explorer.get(f"/z/{link}/plain").text)
    assert head.endswith(script)
    by_title = dict(zip(texts[::2], texts[1::2], strict=True))
    assert [title for title in by_title if title in ("Loop IR", "LLVM IR", "Assembly")] == [
        *("Loop IR", "LLVM IR", "Assembly")
    ]
    assert "B[i] = A[i] + T.float32(1.0)" in by_title["Loop IR"]
    assert "@add_one(" in by_title["LLVM IR"]
    assert "vaddps" in by_title["Assembly"]


def event_data(stream: str) -> Iterator[Any]:
    """Yield the data of each server-sent event."""
    for line in stream.splitlines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))
