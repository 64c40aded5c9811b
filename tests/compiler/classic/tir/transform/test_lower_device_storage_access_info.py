"""LowerDeviceStorageAccessInfo: memory of one's own begins at its head address, pointers become addresses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compiler.ir.error import LoweringError
from compiler.ir.expr.primexpr import PrimExpr
from compiler.runtime.modules.packed_func import register_func, remove_global_func
from compiler.tir.expressions.named_calls import call_extern
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.memory_info import MemoryInfo
from compiler.tir.transform import LowerDeviceStorageAccessInfo
from tests.compiler.tir.transform.programs import apply, assert_pass, program

POINTER = "T.evaluate(T.call_extern('int32', 'f', {}))"
ACCESS = POINTER.format("T.tvm_access_ptr(T.type_annotation('{}'), {}, n + 4, 8, 1, dtype='handle')")


@pytest.fixture(autouse=True)
def memories() -> Iterator[None]:
    heads: dict[str, PrimExpr | None] = {"addressed": call_extern("handle", "base"), "plain": None}
    for tag, head in heads.items():
        register_func(f"tvm.info.mem.global.{tag}", lambda head=head: MemoryInfo(8, 1024, 32, head), override=True)
    yield
    for tag in heads:
        remove_global_func(f"tvm.info.mem.global.{tag}")


def _program(statement: str, scope: str) -> PrimFunc:
    memory = f"S = T.allocate([16], 'int32', '{scope}')\nS_1 = T.Buffer((16,), 'int32', data=S, scope='{scope}')\n"
    return program(memory + statement)


def test_memory_begins_at_its_head_address() -> None:
    bound = "S: T.handle('int32', 'global.addressed') = T.call_extern('handle', 'base')\n"
    view = "S_1 = T.Buffer(({},), 'int32', data=S, scope='global.addressed')\n"
    stored = program(bound + view.format("16") + "S_1[n] = A[n]")
    assert_pass(LowerDeviceStorageAccessInfo(), _program("S_1[n] = A[n]", "global.addressed"), stored, values=())
    address = program(bound + view.format("n + 4 + 1") + POINTER.format("T.address_of(S_1[n + 4])"))
    before = _program(ACCESS.format("int32", "S"), "global.addressed")
    assert_pass(LowerDeviceStorageAccessInfo(), before, address, values=())


@pytest.mark.parametrize(("kind", "element", "index"), [("int8", "int8", "n + 4"), ("int32x4", "int32", "(n + 4) * 4")])
def test_pointers_to_ordinary_memory_become_addresses(kind: str, element: str, index: str) -> None:
    view = f"A_1 = T.Buffer(({index} + 1,), '{element}', data=A.data)\n"
    expected = program(view + POINTER.format(f"T.address_of(A_1[{index}])"))
    assert_pass(LowerDeviceStorageAccessInfo(), program(ACCESS.format(kind, "A.data")), expected, values=())
    for scope in ("global", "local", "shared.dyn"):
        assert_pass(LowerDeviceStorageAccessInfo(), _program("S_1[n] = A[n]", scope))


def test_memory_without_a_head_address_has_elements_and_no_pointers() -> None:
    after = apply(_program("S_1[n] = A[n]", "global.plain"), LowerDeviceStorageAccessInfo())
    assert "allocate" not in str(after)
    assert "[n] = A[n]" in str(after)
    with pytest.raises(LoweringError, match=r"'S(_1)?' is not addressable: tvm.info.mem.global.plain"):
        apply(_program(ACCESS.format("int32", "S"), "global.plain"), LowerDeviceStorageAccessInfo())


def test_memory_that_nobody_describes_is_refused() -> None:
    with pytest.raises(LoweringError, match=r"register a function tvm.info.mem.global.unknown"):
        apply(_program("S_1[n] = A[n]", "global.unknown"), LowerDeviceStorageAccessInfo())
