"""A server of devices and its clients on one machine: functions, arrays, modules and a graph that run over there."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import tvm
from tvm import relay, rpc, te
from tvm.contrib import graph_executor
from tvm.rpc.tracker import Tracker

folder = Path(tempfile.mkdtemp())
A = te.placeholder((8,), name="A")
B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
tvm.build(te.create_schedule(B.op), [A, B], target="llvm", name="add_one").export_library(str(folder / "add_one.so"))

tracker = Tracker(host="127.0.0.1")
server = rpc.Server(host="127.0.0.1", key="board", silent=True, tracker_addr=("127.0.0.1", tracker.port))
try:
    connected = rpc.connect_tracker("127.0.0.1", tracker.port)
    session = connected.request("board", session_timeout=60)
    session.upload(str(folder / "add_one.so"))
    print("files there:", session.listdir("."))
    add_one = session.load_module("add_one.so")
    device = session.cpu(0)
    x = tvm.nd.array(np.arange(8, dtype="float32"), device)
    y = tvm.nd.array(np.zeros(8, "float32"), device)
    add_one(x, y)
    print("computed there:", y.numpy().tolist(), y.shape, y.dtype)
    timed = add_one.time_evaluator(add_one.entry_name, device, number=2, repeat=3)(x, y)
    print("timed:", len(timed.results), "times, all positive:", min(timed.results) > 0)

    mod = relay.fromtext('#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 4), float32]) { nn.softmax(%x) }')
    relay.build(mod, target="llvm").export_library(str(folder / "graph.so"))
    session.upload(str(folder / "graph.so"))
    graph = graph_executor.GraphModule(session.load_module("graph.so")["default"](device))
    graph.set_input("x", np.zeros((2, 4), "float32"))
    graph.run()
    print("softmax of zeros:", graph.get_output(0).numpy()[0].tolist())
    try:
        session.get_function("no.such.function")(1)
    except Exception as error:
        print("refused:", type(error).__name__)
    session.remove("add_one.so")
    print("waiting boards:", "board" in connected.text_summary())
finally:
    server.terminate()
    tracker.terminate()
    shutil.rmtree(folder)
