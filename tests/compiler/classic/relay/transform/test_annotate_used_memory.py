"""How many bytes are alive at each call of a kernel, as TVM 0.19 counts them."""

from __future__ import annotations

from typing import Any

import pytest

import compiler as tvm
from compiler import relay
from compiler.ir.error import ArgumentError


def _annotated(text: str) -> tuple[Any, list[list[int]]]:
    """Return the function ``main`` and ``used_memory`` of the kernels that it names, in order."""
    main = relay.transform.AnnotateUsedMemory()(relay.transform.InferType()(relay.fromtext(text)))["main"]
    body, used = main.body, []
    while isinstance(body, relay.Let):
        if isinstance(body.value, relay.Function):
            used.append([int(number) for number in body.value.attrs["used_memory"]])
        body = body.body
    return main, used


KERNEL = "fn (%p: Tensor[(4, 4), int8], Primitive=1) { nn.relu(%p) }"
SUM = "fn (%p: Tensor[(4, 4), int8], %q: Tensor[(4, 4), int8], Primitive=1) { add(%p, %q) }"


def test_values_that_are_needed_later_are_alive() -> None:
    main, used = _annotated(f"""
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 4), int8]) {{
  let %f = {KERNEL};
  let %a = %f(%x);
  let %g = {KERNEL};
  let %b = %g(%a);
  let %h = {KERNEL};
  let %c = %h(%a);
  let %k = {SUM};
  let %d = %k(%b, %c);
  %d
}}""")
    assert used == [[32], [32], [48], [48]]
    assert main.attrs["io_used_memory"] == 32


def test_a_kernel_has_a_number_for_each_call() -> None:
    main, used = _annotated(f"""
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 4), int8], %y: Tensor[(4, 4), int8]) {{
  let %f = {KERNEL};
  let %a = %f(%x);
  let %b = %f(%a);
  let %k = {SUM};
  let %c = %k(%y, %b);
  let %d = %k(%c, %a);
  (%d, %c)
}}""")
    assert used == [[48, 48], [64, 48]]
    assert main.attrs["io_used_memory"] == 64


def test_what_cannot_be_counted_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"the size of Tensor\[\(\?, 4\), int8\] is unknown"):
        _annotated(f"""
#[version = "0.0.5"]
def @main(%x: Tensor[(?, 4), int8]) {{
  let %f = {KERNEL.replace("(4, 4)", "(?, 4)")};
  let %a = %f(%x);
  %a
}}""")
    with pytest.raises(ArgumentError, match="%f is not a kernel"):
        _annotated(f"""
#[version = "0.0.5"]
def @main(%x: Tensor[(4, 4), int8]) {{
  let %f = {KERNEL.replace(", Primitive=1", "")};
  let %a = %f(%x);
  %a
}}""")


def test_functions_that_are_kernels_stay_as_they_are() -> None:
    mod = relay.transform.InferType()(relay.fromtext(f'#[version = "0.0.5"]\ndef @g{KERNEL[3:]}'))
    tvm.ir.assert_structural_equal(relay.transform.AnnotateUsedMemory()(mod), mod)


def test_kernels_that_are_called_without_a_name_get_one() -> None:
    def kernel() -> Any:
        p = relay.var("p", shape=(4, 4), dtype="int8")
        return relay.Function([p], relay.nn.relu(p)).with_attr("Primitive", 1)

    x, shared = relay.var("x", shape=(4, 4), dtype="int8"), kernel()
    body = shared(kernel()(shared(x)))
    normal = relay.transform.ToANormalForm()(relay.transform.InferType()(tvm.IRModule.from_expr(body)))
    main = relay.transform.AnnotateUsedMemory()(normal)["main"]
    body, used, called = main.body, [], []
    while isinstance(body, relay.Let):
        if isinstance(body.value, relay.Function):
            used.append([int(number) for number in body.value.attrs["used_memory"]])
        else:
            called.append(body.value.op)
        body = body.body
    assert used == [[32, 32], [32]]
    assert called[0] is called[2] is not called[1]
    back = relay.transform.ToGraphNormalForm()(normal)["main"].body
    assert isinstance(back.op, relay.Function)
