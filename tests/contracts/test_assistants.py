"""An assistant at work: the official client of the Model Context Protocol, tools on real scripts, standard input."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from app.artifacts import EXAMPLE
from app.mcp.messages import INVALID_REQUEST
from app.mcp.tools import TOOLS
from app.serving.server import Server
from app.shell.main import main
from tests.app.mcp.test_mcp import request
from tests.app.serving.served import Client, served


@pytest.fixture
def server(explorer: FlaskClient) -> Iterator[Server]:
    with served(explorer.application) as running:
        yield running


@pytest.mark.parametrize("mode", ["auto", "legacy"], ids=["without sessions", "with a handshake"])
def test_the_official_client_lists_calls_and_reads(server: Server, mode: str) -> None:
    anyio, official = pytest.importorskip("anyio"), pytest.importorskip("mcp.client")

    async def ask() -> None:
        async with official.Client(server.address + "mcp", mode=mode) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == list(TOOLS)
            assert listed.tools[0].input_schema["required"] == ["script"]
            compiled = await client.call_tool("compile", {"script": EXAMPLE, "pane": "llvm"})
            assert not compiled.is_error
            assert "define" in json.loads(compiled.content[0].text)["text"]
            linked = json.loads((await client.call_tool("link", {"script": EXAMPLE})).content[0].text)
            assert linked["url"].startswith(server.address + "z/")
            wrong = await client.call_tool("explain", {"script": EXAMPLE, "function": "nothing"})
            assert wrong.is_error
            assert wrong.content[0].text.startswith("the script makes no function 'nothing'; there are: main")
            with pytest.raises(Exception, match="there is no tool 'rm'"):
                await client.call_tool("rm", {})
            resources = (await client.list_resources()).resources
            read = await client.read_resource(resources[-1].uri)
            assert read.contents[0].text.startswith('"""')
            with pytest.raises(Exception, match="there is no resource"):
                await client.read_resource("strata://lessons/../../etc/passwd")

    anyio.run(ask)


def test_tools_return_what_the_api_does(server: Server) -> None:
    def call(tool: str, **arguments: object) -> Any:
        with Client(server) as client:
            answer = client.post("/mcp", request("tools/call", name=tool, arguments=arguments)).json["result"]
        assert not answer["isError"], answer
        return json.loads(answer["content"][0]["text"])

    faster = EXAMPLE.replace("factor=16", "factor=8")
    compared = call("compare", before=EXAMPLE, after=faster)
    assert not compared["equal"]
    assert any(line.startswith("+") and "range(128)" in line for line in compared["diff"])
    explained = call("explain", script=EXAMPLE)
    assert [loop["annotation"] for loop in explained["function"]["schedule"][0]["loops"]] == ["", "vectorize"]
    assert explained["instructions"]


def test_arguments_of_forty_megabytes_are_refused_before_they_are_read(server: Server) -> None:
    with Client(server) as client:
        length = f"Content-Length: {40 << 20}"
        client.send("POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json", length, body=b"{")
        refused = client.read()
    assert (refused.status, refused.json["error"]["code"]) == (413, "too_large")


def test_it_is_spoken_over_standard_input_and_output(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = [
        json.dumps(request("initialize", protocolVersion="2025-06-18")),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "",
        '{"jsonrpc": "2.0", "id": 2, "method": "' + "x" * (40 << 20) + '"}',
        json.dumps(request("tools/call", "three", name="link", arguments={"script": EXAMPLE})),
    ]

    output = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO("\n".join(sent).encode())))
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(output))
    assert main(["mcp", "--server", server.address]) == 0
    hello, long, linked = [json.loads(line) for line in output.getvalue().splitlines()]
    assert hello["result"]["protocolVersion"] == "2025-06-18"
    assert (long["id"], long["error"]["code"]) == (None, INVALID_REQUEST)
    assert linked["id"] == "three"
    assert server.address + "z/" in linked["result"]["content"][0]["text"]
