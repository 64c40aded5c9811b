"""Barriers that not all threads of a block come to are refused, with the condition and two threads that differ."""

from __future__ import annotations

import re

import pytest

from compiler.ir.error import LoweringError
from compiler.ir.module import IRModule
from compiler.tir.sanitizer import sanitize
from compiler.tir.transform.threads.verify_barriers import VerifyBarriers
from tests.compiler.tir.transform.programs import arguments, program

BARRIER = 'T.tvm_storage_sync("shared")'
PARAMS = 'A: T.Buffer((64,), "int32")'


def _kernel(code: str) -> IRModule:
    launches = """bx = T.launch_thread("blockIdx.x", 2)
ty = T.launch_thread("threadIdx.y", 4)
tx = T.launch_thread("threadIdx.x", 16)
"""
    return IRModule({"main": program(launches + code.format(barrier=BARRIER), PARAMS)})


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("if tx < 5:\n    {barrier}", "branch depends on tx < 5, .*: the thread threadIdx.x = 0 .* threadIdx.x = 5;"),
        ("if ty * 16 + tx < 40 - bx:\n    {barrier}", "x = 0, threadIdx.y = 0 .* threadIdx.x = 8, threadIdx.y = 2;"),
        ("for i in range(ty + 1):\n    {barrier}", r"loop over i depends on ty \+ 1, .*y = 0 .* threadIdx.y = 1;"),
        ("if A[tx] > 0:\n    {barrier}", r"depends on A\[tx\] > 0, so that not all threads of a block come to it;"),
    ],
)  # fmt: skip
def test_divergent_barriers_are_refused(code: str, told: str) -> None:
    with pytest.raises(LoweringError, match=told + " move the barrier out, or let the condition depend on the block"):
        VerifyBarriers()(_kernel(code))


@pytest.mark.parametrize("code", ["if bx == 0:\n    {barrier}", "for i in range(bx + 1):\n    {barrier}", "{barrier}"])
def test_barriers_that_all_threads_come_to_pass(code: str) -> None:
    module = _kernel(code)
    assert VerifyBarriers()(module)["main"] is module["main"]


def test_a_run_finds_threads_that_differ_like_those_of_the_message() -> None:
    module = _kernel("if ty * 16 + tx < 40:\n    {barrier}")
    with pytest.raises(LoweringError) as refused:
        VerifyBarriers()(module)
    named = [int(at) for at in re.findall(r"threadIdx\.\w = (\d+)", str(refused.value))]
    func = module["main"]
    waiting, other = (site.thread for site in sanitize(func, arguments(func)).reports[0].sites)
    pairs = [named[:2], named[2:], *([at["threadIdx.x"], at["threadIdx.y"]] for at in (waiting, other))]
    assert [y * 16 + x < 40 for x, y in pairs] == [True, False, True, False]
