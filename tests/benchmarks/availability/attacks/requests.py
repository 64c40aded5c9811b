"""Requests that are large, many, or cost more to read than to send."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence

from tests.benchmarks.availability.attack import Attack, Attacker, crowd
from tests.benchmarks.serving.client import JSON, connect, form

MIB = 1 << 20


def _members(count: int) -> bytes:
    """Return a JSON object of so many members with empty values, most of it names."""
    return b"{" + b",".join(b'"%d":""' % number for number in range(count)) + b"}"


def many_names(attacker: Attacker) -> None:
    """Send bodies whose millions of small names take many times their length in memory."""
    members = _members(3_000_000)
    bodies = [
        ("/api/compile", b'{"script":"","files":' + members + b"}"),
        ("/api/links", b'{"workspace":{"script":""},"view":' + members + b"}"),
        ("/api/links", b'{"workspace":{"script":"","uploads":' + members + b"}}"),
    ]
    attacker.swarm(6, lambda number: attacker.send("POST", *bodies[number % 3], JSON, patience=20.0))


def many_parts(attacker: Attacker) -> None:
    """Send forms of thousands of fields, and one field with many names."""
    fields, headers = form({f"field{number}": "" for number in range(20_000)})
    wide, wide_headers = form({"script": "", "uploads": _members(400_000).decode()})
    bodies = ((fields, headers), (wide, wide_headers))
    attacker.swarm(6, lambda number: attacker.send("POST", "/panes", *bodies[number % 2]))


def large_scripts(attacker: Attacker) -> None:
    """Compile ever new scripts of a million characters, all of it one expression, or one comment."""
    numbers = itertools.count()

    def ask(number: int) -> None:
        body = "+".join("1" * 300_000) if number % 2 else "#" * 990_000
        fields, headers = form({"script": f"x = {next(numbers)}\ny = 1\n{body}", "options": "{}"})
        attacker.send("POST", "/panes", fields, headers)

    attacker.swarm(6, ask)


def slow_large_bodies(addresses: int) -> Callable[[Attacker], None]:
    """Return an attack that announces bodies of 60 MB, sends a tenth, and then a byte at a time."""
    head = (
        b"POST /api/compile HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        b"Content-Type: application/json\r\nContent-Length: 60000000\r\n\r\n"
    )

    def attack(attacker: Attacker) -> None:
        def trickle(number: int) -> None:
            try:
                attacker.begun += 1
                with connect(attacker.port, crowd(number % addresses), timeout=5.0) as connection:
                    attacker.count("opened")
                    connection.sendall(head + b" " * 6_000_000)
                    while attacker.left > 0:
                        connection.sendall(b" ")
                        time.sleep(0.5)
            except OSError as error:
                attacker.count(type(error).__name__)
                time.sleep(0.2)

        attacker.swarm(24, trickle)

    return attack


def long_heads(attacker: Attacker) -> None:
    """Send queries, cookies and headers as long as they may be, and longer."""
    requests: list[tuple[str, str, dict[str, str]]] = [
        ("GET", "/?example=" + "x" * 60_000, {}),
        ("GET", "/text/llvm?listing=" + "%41" * 15_000, {}),
        ("GET", "/?" + "&".join(f"a{number}=" for number in range(9_000)), {}),
        ("GET", "/", {"Cookie": "; ".join(f"c{number}=1" for number in range(5_000))}),
        ("GET", "/", {f"X-{number}": "1" for number in range(90)}),
        ("GET", "/static/any/vendor/codemirror.js", {"Range": "bytes=" + ",".join("0-" for _ in range(5_000))}),
        ("GET", "/api/queue", {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}),
        ("POST", "/api/compile", {"Content-Encoding": "gzip", "Content-Type": "application/json"}),
    ]
    requests[-2][2]["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZQ=="

    def ask(number: int) -> None:
        method, path, headers = requests[number % len(requests)]
        attacker.send(method, path, None, headers, patience=10.0)

    attacker.swarm(16, ask)


def flood(requests: Sequence[tuple[str, str]]) -> Callable[[Attacker], None]:
    """Return an attack that sends small requests as fast as they are answered, each on a fresh connection."""

    def attack(attacker: Attacker) -> None:
        numbers = itertools.count()

        def ask(_thread: int) -> None:
            method, path = requests[next(numbers) % len(requests)]
            attacker.send(method, path, patience=10.0)

        attacker.swarm(16, ask)

    return attack


PAGE = [("GET", "/")]
SMALL = [
    ("HEAD", "/"),
    ("DELETE", "/api/links/23456789"),
    ("GET", "/api/links/23456789"),
    ("GET", "/api/openapi.json"),
    ("GET", "/documentation/tvm.te.Stage.split"),
    ("GET", "/completions/tvm.relay.nn"),
    ("OPTIONS", "/api/compile"),
    ("GET", "/static/any/vendor/codemirror.js"),
    ("GET", "/graph/000000000000000000000000"),
    ("GET", "/nowhere"),
]

ATTACKS = (
    Attack("D1", "bodies of millions of small names", many_names),
    Attack("D1", "forms of thousands of fields", many_parts),
    Attack("D1", "scripts of a million characters", large_scripts),
    Attack("D1", "24 bodies of 60 MB, a tenth and a trickle", slow_large_bodies(1)),
    Attack("D1", "the same from eight addresses", slow_large_bodies(8)),
    Attack("D3", "long queries, cookies, ranges, upgrades", long_heads),
    Attack("D3", "the page, 16 at a time, for ever", flood(PAGE)),
    Attack("D3", "small requests, 16 at a time, for ever", flood(SMALL)),
)
