"""Programs that nest thousands of levels deep, where a run may have few threads and little memory."""

from __future__ import annotations

from flask.testing import FlaskClient

CHAIN = """
import tvm
from tvm import relay

y = x = relay.var("x", shape=(4,))
for i in range(4000):
    y = relay.nn.relu(y) if i % 2 else relay.exp(y)
mod = tvm.IRModule.from_expr(relay.Function([x], y))
mod = relay.transform.FuseOps(0)(relay.transform.InferType()(mod))
print(mod.astext().count("Primitive=1"))
"""

SUM = """
import tvm
from tvm import te

A = te.placeholder((16,), name="A")


def total(i):
    value = A[i]
    for j in range(1200):
        value = value + A[(i + j) % 16] * float(j)
    return value


B = te.compute((16,), total, name="B")
f = tvm.build(te.create_schedule(B.op), [A, B])
"""


def answered(explorer: FlaskClient, script: str) -> dict[str, object]:
    response = explorer.post("/api/compile", json={"script": script, "options": {}})
    assert response.status_code == 200, response.text
    answer: dict[str, object] = response.get_json()
    assert answer["problems"] == []
    return answer


def test_a_long_chain_of_operators_is_shown(explorer: FlaskClient) -> None:
    answer = answered(explorer, CHAIN)
    assert answer["console"][0]["text"] == "4000\n"  # type: ignore[index]
    assert answer["units"]


def test_a_long_sum_is_built(explorer: FlaskClient) -> None:
    [unit] = answered(explorer, SUM)["units"]  # type: ignore[misc]
    assert {step["group"] for step in unit["steps"]} >= {"lowering", "llvm", "assembly"}  # type: ignore[index]
