"""Functions take bare pointers."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import Call
from compiler.tir.expressions.builtin import RET
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AssertStmt, AttrStmt
from compiler.tir.transform import MakeUnpackedAPI
from tests.compiler.tir.transform.programs import apply, nodes, program


def unpacked(func: PrimFunc, kind: str = "llvm") -> PrimFunc:
    return apply(func.with_attr("target", SimpleNamespace(kind=kind)), MakeUnpackedAPI())


@pytest.mark.parametrize(("kind", "device_type"), [("llvm", 1), ("c", 1), ("cuda", 2)])
def test_buffers_become_pointers_on_the_device_of_the_target(kind: str, device_type: int) -> None:
    func = program("C[0] = A[0] + n")
    after = unpacked(func, kind)
    assert after.params == (*[buffer.data for buffer in func.buffer_map.values()], func.params[2])
    assert not after.buffer_map
    marks = [(n.node, n.attr_key, n.value.value) for n in nodes(after, AttrStmt)]
    assert sorted(marks) == [("default", "device_id", 0), ("default", "device_type", device_type)]
    assert [call.args[0].value for call in nodes(after, Call) if call.op is RET] == [0]


def test_a_buffer_given_twice_is_one() -> None:
    func = program("C[0] = 1", "C: T.Buffer((4,), 'int32')")
    buffer = func.buffer_map[func.params[0]]
    other = func.params[0].__class__("again", "handle")
    twice = PrimFunc((func.params[0], other), func.body, None, {func.params[0]: buffer, other: buffer}, func.attrs)
    after = unpacked(twice)
    (check,) = nodes(after, AssertStmt)
    assert (check.condition.a, check.condition.b) == after.params


def test_private_functions_stay_and_others_need_a_target() -> None:
    private = program("C[0] = 1", "C: T.Buffer((4,), 'int32')").without_attr("global_symbol")
    assert apply(private, MakeUnpackedAPI()) is private
    with pytest.raises(LoweringError, match="Require the target attribute of function 'main'"):
        apply(program("C[0] = 1"), MakeUnpackedAPI())
