"""Time from a script to all of its panes, through the HTTP API.

    python -m tests.benchmarks.compile_latency [--runs N]

Starts the explorer's application in this process, with its real sandbox, and posts the 1024³ float32 matrix
multiplication with a full schedule (two tiles, reorder, vectorize, parallel, unroll).  Each warm request differs by a
comment, so that the cache cannot answer it; then the very same content is posted again.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from app import create_app

SCRIPT = """\
import tvm
from tvm import te

M = N = K = 1024
A = te.placeholder((M, K), name="A")
B = te.placeholder((K, N), name="B")
k = te.reduce_axis((0, K), name="k")
C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

s = te.create_schedule(C.op)
i, j = C.op.axis
rows, row = s[C].split(i, factor=32)
columns, column = s[C].split(j, factor=32)
steps, step = s[C].split(k, factor=4)
s[C].reorder(rows, columns, steps, row, column, step)
vectors, lane = s[C].split(column, factor=8)
s[C].vectorize(lane)
s[C].parallel(rows)
s[C].unroll(step)
matmul = tvm.build(s, [A, B, C], target="llvm -mcpu=native", name="matmul")
"""


def quartiles(milliseconds: list[float]) -> str:
    """Return median and quartiles as text."""
    low, median, high = statistics.quantiles(milliseconds, n=4, method="inclusive")
    return f"{median:9.1f} {low:9.1f} {high:9.1f} {min(milliseconds):9.1f} {max(milliseconds):9.1f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=25)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        app = create_app({"DATA_DIR": Path(folder), "RATE_LIMIT": 0})
        client = app.test_client()

        def post(script: str) -> float:
            started = time.perf_counter()
            response = client.post("/api/compile", json={"script": script})
            elapsed = (time.perf_counter() - started) * 1e3
            answer = response.get_json()
            assert response.status_code == 200, answer
            assert answer["status"] == "ok", answer["problems"]
            levels = {listing["level"] for listing in answer["listings"].values()}
            assert levels >= {"loop", "llvm", "asm"}, levels
            return elapsed

        for warm in range(3):
            post(f"{SCRIPT}# warm {warm}\n")
        fresh = [post(f"{SCRIPT}# {run}\n") for run in range(runs)]
        again = [post(f"{SCRIPT}# 0\n") for _ in range(runs)]
    print(f"{'POST /api/compile, ms':28}{'median':>9} {'25 %':>9} {'75 %':>9} {'min':>9} {'max':>9}")
    print(f"{'new content, all panes':28}{quartiles(fresh)}")
    print(f"{'same content again':28}{quartiles(again)}")


if __name__ == "__main__":
    main()
