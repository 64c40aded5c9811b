"""What a program holds prints after a pass, or a build, as it did before: types are written on copies."""

from __future__ import annotations

from typing import Any

import pytest

import compiler.relay
from compiler.ir import IRModule
from compiler.ir.error import ArgumentError, TVMError
from compiler.ir.passes.base import Pass
from compiler.ir.transform import PassContext
from tests.compiler.relay.transform.programs import PROGRAMS

relay: Any = compiler.relay
transform: Any = relay.transform


def _passes() -> dict[str, Any]:
    """Return the passes over graphs that need no options."""
    made = {}
    for name in transform.__all__:
        kind = getattr(transform, name)
        if isinstance(kind, type) and issubclass(kind, Pass):
            try:
                made[name] = kind()
            except (TypeError, ArgumentError):  # it has options without a default
                continue
    return made


PASSES = _passes()


def _layers() -> IRModule:
    x, w = relay.var("x", shape=(1, 8, 6, 6)), relay.var("w", shape=(8, 8, 3, 3))
    y = relay.nn.relu(relay.nn.conv2d(x, w, padding=(1, 1)))
    a, b = relay.split(relay.add(y, relay.const(1.0)), 2, axis=1)
    y = relay.nn.batch_flatten(relay.concatenate([relay.tanh(b), a], axis=1))
    y = relay.nn.dense(y, relay.var("v", shape=(4, 288)))
    return IRModule.from_expr(relay.Function([x, w, y.args[1]], relay.nn.softmax(y)))


def test_there_are_passes() -> None:
    assert {"InferType", "FoldConstant", "FuseOps", "ToANormalForm", "SimplifyExpr", "AlterOpLayout"} <= set(PASSES)


@pytest.mark.parametrize("name", PASSES)
def test_a_pass_writes_nothing_on_its_input(name: str) -> None:
    for make in (_layers, *[make for make, _ in PROGRAMS.values()]):
        mod = make()
        functions = [func for func in mod.functions.values() if isinstance(func, relay.Function)]
        texts = [str(func) for func in functions]
        assert all("ty=" not in text for text in texts) or make is not _layers
        try:
            with PassContext(opt_level=4):
                PASSES[name](mod)
        except TVMError:  # it is not for programs of this kind
            continue
        finally:
            assert [str(func) for func in functions] == texts


def test_a_build_and_types_leave_a_function_as_it_was() -> None:
    mod = _layers()
    func, text = mod["main"], str(mod["main"])
    typed = transform.InferType()(mod)
    assert "ty=" in str(typed)
    assert typed["main"].params[0].vid.same_as(func.params[0].vid)
    relay.build(mod, "llvm")
    relay.create_executor("debug", mod=mod).evaluate()
    assert str(func) == text == str(mod["main"])
