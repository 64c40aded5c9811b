"""What works where llvmlite is not installed: everything but machine code, whose absence is said in one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

PROGRAM = """
import json
import sys
from importlib.abc import MetaPathFinder


class NotInstalled(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "llvmlite":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, NotInstalled())

import compiler as tvm
import compiler.classic
from compiler import relay, te, tir

x = te.placeholder((64,), name="x")
y = te.compute((64,), lambda i: te.exp(x[i]) + 1.0, name="y")


def for_device():
    s = te.create_schedule(y.op)
    block, thread = s[y].split(s[y].op.axis[0], 32)
    s[y].bind(block, te.thread_axis("blockIdx.x"))
    s[y].bind(thread, te.thread_axis("threadIdx.x"))
    return s


def refusal(work):
    try:
        work()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


s = te.create_schedule(y.op)
s[y].parallel(s[y].split(s[y].op.axis[0], 8)[0])
lowered = tvm.lower(s, [x, y])
renewed = tir.Schedule(te.create_prim_func([x, y]))
renewed.split(renewed.get_loops(renewed.get_block("y"))[0], [None, 8])
data = relay.var("data", shape=(1, 8))
model = tvm.IRModule.from_expr(relay.Function([data], relay.nn.relu(data * relay.const(2.0))))
fused = relay.transform.FuseOps()(relay.transform.InferType()(model))
aot = relay.build(model, "c", executor=relay.backend.Executor("aot"))
built = {kind: tvm.build(for_device(), [x, y], kind) for kind in ("cuda", "opencl", "metal", "webgpu")}
print(json.dumps({
    "lowered": str(lowered),
    "scheduled": str(renewed.mod),
    "fused": str(fused),
    "model": aot.lib.get_source(),
    "c": tvm.build(s, [x, y], "c").get_source(),
    "host": built["cuda"].get_source(),
    **{kind: module.imported_modules[0].get_source() for kind, module in built.items()},
    "refusals": [
        refusal(lambda: tvm.build(s, [x, y])),
        refusal(lambda: tvm.build(s, [x, y], "llvm -mcpu=skylake")),
        refusal(lambda: tvm.build(for_device(), [x, y], "nvptx")),
        refusal(lambda: tvm.build(for_device(), [x, y], tvm.target.Target("cuda", host="llvm"))),
        refusal(lambda: relay.build(model, "llvm")),
        refusal(lambda: tvm.target.Target("llvm").cpu),
    ],
}))
"""


@cache
def told() -> dict[str, Any]:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    answer: dict[str, Any] = json.loads(ran.stdout)
    return answer


@pytest.mark.parametrize(
    ("what", "word"),
    [
        ("lowered", "T.parallel(8)"),
        ("scheduled", "T.grid(8, 8)"),
        ("fused", "Primitive=1"),
        ("model", "tvmgen_default"),
        ("c", "expf("),
        ("cuda", "__global__"),
        ("opencl", "__kernel"),
        ("metal", "[[threadgroup_position_in_grid]]"),
        ("webgpu", "@compute"),
        ("host", '__strata_call_packed("main_kernel"'),
    ],
)
def test_all_but_machine_code_is_made_without_llvmlite(what: str, word: str) -> None:
    assert word in told()[what]


def test_machine_code_without_llvmlite_is_refused_in_one_sentence() -> None:
    assert set(told()["refusals"]) == {
        "UnavailableError: machine code is made by LLVM through llvmlite, which cannot be imported: "
        "No module named 'llvmlite'; pip install llvmlite"
    }
