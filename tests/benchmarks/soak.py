"""The memory of a server over five hundred different runs.

    python -m tests.benchmarks.soak [--runs N] [--json]

Posts the scripts of the gallery in turn, each time with another comment so that no cache answers, from five tabs of
five addresses, as the page does; every twentieth is run in full, and every fiftieth is a ladder.  Prints the memory of
the server and of its sandbox after 20, 100, 250 and 500 runs, with descriptors, threads and processes.  The memory is
at a plateau where a line through the second half grows by less than a twentieth of its mean; else the exit status is
1.
"""

from __future__ import annotations

import argparse
import statistics
import sys

import msgspec

from app.gallery import load_gallery
from tests.benchmarks.serving.client import JSON, Reply, exchange, form, json_body
from tests.benchmarks.serving.load import LoadMeter
from tests.benchmarks.serving.processes import descriptors, measure, split, threads
from tests.benchmarks.serving.server import Server

MIB = 1 << 20
CLIENTS = 5
RUN_EVERY, LADDER_EVERY = 20, 50
STOPS = (20, 100, 250, 500)
GROWTH = 0.05
"""Share of the mean by which the memory may grow over the second half of the runs."""
TIMEOUT = 120.0


class Point(msgspec.Struct, frozen=True):
    """The server after some runs; memory in bytes."""

    runs: int
    server: int
    sandbox: int
    descriptors: int
    threads: int
    processes: int
    """Of the server: itself and its workers."""
    zygotes: int
    """Processes that scripts are forked from, and scripts that still run."""


def look(server: Server, runs: int) -> Point:
    """Return the state of a server now."""
    memory = measure(server.pid)
    own, _ = split(server.pid)
    return Point(
        runs=runs,
        server=memory.server,
        sandbox=memory.sandbox,
        descriptors=sum(map(descriptors, own)),
        threads=sum(map(threads, own)),
        processes=memory.processes,
        zygotes=memory.zygotes,
    )


def use(server: Server, scripts: list[str], number: int) -> None:
    """Make one run, the ``number``-th.

    Raises
    ------
    RuntimeError
        The server did not answer as it should.
    """
    script = f"{scripts[number % len(scripts)]}\n# run {number}\n"
    address = f"127.0.1.{1 + number % CLIENTS}"
    if number % LADDER_EVERY == LADDER_EVERY - 1:
        body = json_body({"script": f"{scripts[0]}\n# run {number}\n"})
        reply = _checked(exchange(server.port, "POST", "/api/ladders", body, JSON, address=address), 202)
        path = msgspec.json.decode(reply.body)["events"]
        _checked(exchange(server.port, "GET", path, address=address, timeout=TIMEOUT), 200)
        return
    fields = {"script": script, "options": "{}", "tab": f"tab {number % CLIENTS}", "seq": str(number + 1)}
    path = "/run" if number % RUN_EVERY == RUN_EVERY - 1 else "/panes"
    _checked(exchange(server.port, "POST", path, *form(fields), address=address, timeout=TIMEOUT), 200)


def _checked(reply: Reply, status: int) -> Reply:
    if reply.status != status:
        raise RuntimeError(f"HTTP {reply.status}: {reply.body[:300].decode(errors='replace')}")
    return reply


def growth(points: list[Point]) -> float:
    """Return by how much the server's memory grows over the second half of the runs, as a share of its mean there.

    By a line of least squares, so that single peaks do not decide.
    """
    half = points[len(points) // 2 :]
    runs = [float(point.runs) for point in half]
    sizes = [float(point.server) for point in half]
    slope, _ = statistics.linear_regression(runs, sizes)
    return slope * (runs[-1] - runs[0]) / statistics.mean(sizes)


def main() -> None:
    """Run, print the table, and fail where the memory is not at a plateau."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--json", action="store_true", help="print the state after every run as JSON")
    asked = parser.parse_args()
    scripts = [example.script for example in load_gallery()]
    points = []
    if not asked.json:
        print(f"{'runs':>5} {'server':>8} {'sandbox':>8} {'files':>6} {'threads':>8} {'workers':>8} {'zygotes':>8}")
    with Server({"STRATA_RATE_LIMIT": "0"}) as server:
        meter = LoadMeter()
        for number in range(asked.runs):
            use(server, scripts, number)
            points.append(look(server, number + 1))
            if not asked.json and (number + 1 in STOPS or number + 1 == asked.runs):
                p = points[-1]
                sizes = f"{p.server / MIB:8.0f} {p.sandbox / MIB:8.0f}"
                counts = f"{p.descriptors:6} {p.threads:8} {p.processes - 1:8} {p.zygotes:8}"
                print(f"{p.runs:5} {sizes} {counts}", flush=True)
        load = meter.read()
    grown = growth(points)
    if asked.json:
        print(msgspec.json.encode(points).decode())
    else:
        verdict = "a plateau" if grown < GROWTH else "no plateau"
        print(f"\nover the second half the server grew by {grown:.1%} of its memory: {verdict}\nmachine: {load}")
    sys.exit(grown >= GROWTH)


if __name__ == "__main__":
    main()
