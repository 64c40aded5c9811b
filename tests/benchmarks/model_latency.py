"""Time from an uploaded model to every pass's text and drawing, through the HTTP API.

    python -m tests.benchmarks.model_latency [MODEL ...] [--runs N]

Starts the explorer's application in this process, with its real sandbox, uploads each model as the page does, and posts
a script that imports and builds it.  Each request differs by a comment, so that the cache cannot answer it.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from pathlib import Path

from app import create_app
from tests import models
from tests.benchmarks.compile_latency import quartiles

SCRIPT = """\
import onnx
import tvm
from tvm import relay

mod, params = relay.frontend.from_onnx(onnx.load("model.onnx"))
with tvm.transform.PassContext(opt_level=3):
    lib = relay.build(mod, target="llvm -mcpu=native", params=params)
"""


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=["resnet18", "mobilenetv2", "bert"])
    parser.add_argument("--runs", type=int, default=7)
    asked = parser.parse_args()
    print(f"{'POST /api/compile, ms':28}{'median':>9} {'25 %':>9} {'75 %':>9} {'min':>9} {'max':>9}   graph")
    with tempfile.TemporaryDirectory() as folder:
        client = create_app({"DATA_DIR": Path(folder), "RATE_LIMIT": 0}).test_client()
        for name in asked.models:
            file = io.BytesIO(models.build(name).SerializeToString())
            stored = client.post("/api/uploads", data={"file": (file, "model.onnx")}).get_json()
            taken = []
            for run in range(asked.runs + 1):
                body = {"script": f"{SCRIPT}# {run}\n", "uploads": {"model.onnx": stored["id"]}}
                started = time.perf_counter()
                answer = client.post("/api/compile", json=body).get_json()
                taken.append((time.perf_counter() - started) * 1e3)
                assert answer["status"] == "ok", answer["problems"]
            graph = next(unit for unit in answer["units"] if unit["kind"] == "graph")
            shown = f"{len(graph['steps'])} steps, {len(answer['drawings'])} drawings, {len(graph['kernels'])} kernels"
            print(f"{name:28}{quartiles(taken[1:])}   {shown}")


if __name__ == "__main__":
    main()
