"""What another process measures of a TensorIR schedule: text that is proven to stay within its arguments."""

from __future__ import annotations

import numpy as np
import pytest

from app.artifacts import Options
from app.protocol import Failed, Measured, Message, RecordedFunction, Request
from app.recorder.measuring.containment import NotContained, check_contained
from app.recorder.units.block_text import read_blocks, write_blocks
from compiler.ir.error import TVMError
from compiler.ir.module import IRModule
from compiler.tir.script.functions import from_source
from tests.app.recorder.serving import served
from tests.app.recorder.test_tir_schedules import MATMUL, SCHEDULED, messages

HEAD = """\
@T.prim_func
def main(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "int32")):
"""


def check(body: str, head: str = HEAD) -> None:
    check_contained(from_source(head + "\n".join(f"    {line}" for line in body.splitlines())))


CONTAINED = {
    "a loop": "for i in range(16):\n    A[i] = A[15 - i] * T.float32(2)",
    "a guard": "for i, j in T.grid(3, 7):\n    if i * 7 + j < 16:\n        A[i * 7 + j] = T.float32(1)",
    "a guarded value": "for i in range(16):\n    A[i] = T.if_then_else(i > 0, A[i - 1], T.float32(0))",
    "vectors": "for i in range(2):\n    A[i * 8:i * 8 + 8] = T.Broadcast(T.exp(A[i]), 8)",
    "a mask":
        "for i in range(2):\n"
        "    A.vstore([T.Ramp(i * 8, 1, 8)], T.Broadcast(T.float32(1), 8), predicate=T.Broadcast(i > 0, 8))",
    "an index of the least integer":
        "for i in range(2):\n    A[T.floordiv(i + -2147483648, -2147483648)] = T.float32(1)",
    "sums in pairs":
        'C = T.decl_buffer((1,))\nwith T.attr(0, "pragma_pairwise", 1):\n    for i in range(16):\n'
        "        C[0] = C[0] + A[i]",
    "a buffer of its own": 'C = T.decl_buffer((4,))\nfor i in range(4):\n    C[i] = A[i]\n    A[i] = C[i]',
    "blocks": (
        "for i, j in T.grid(3, 7):\n    with T.block():\n        v = T.axis.spatial(16, i * 7 + j)\n"
        "        T.where(i * 7 + j < 16)\n        A[v] = T.float32(1)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTAINED)
def test_a_program_that_stays_within_its_arguments_is_proven_to(name: str) -> None:
    check(CONTAINED[name])


ESCAPES = {
    "writes behind its argument": ("for i in range(17):\n    A[i] = T.float32(1)", "is not proven to be below 16"),
    "writes before it": ("for i in range(16):\n    A[i - 1] = T.float32(1)", "is not proven to be below 16"),
    "reads behind it": ("for i in range(16):\n    A[i] = A[i + 1]", "is not proven to be below 16"),
    "sums in pairs of what is behind it": (
        'C = T.decl_buffer((1,))\nwith T.attr(0, "pragma_pairwise", 1):\n    for i in range(18):\n'
        "        C[0] = C[0] + A[i]",
        "is not proven to be below 16",
    ),
    "reads where an argument says": ("for i in range(16):\n    A[i] = A[B[i]]", "an index or a loop depends on B"),
    "a lane behind it": ("A[9:17] = T.Broadcast(T.float32(1), 8)", "is not proven to be below 16"),
    "an index that overflows": (
        "for i in range(16):\n    A[T.floordiv(i * 65536 * 65536, 65536 * 65536)] = T.float32(1)",
        "may not fit into 32 bits",
    ),
    "an index that is cut off": (
        'for i in range(16):\n    A[T.Cast("int32", T.Cast("int8", i * 20))] = T.float32(1)',
        "an index or a loop depends on",
    ),
    "a condition that overflows": (
        "for i in range(65536):\n    if i * 65536 * 4 < 16:\n        A[i] = T.float32(1)",
        "is not proven to be below 16",
    ),
    "another view of an argument": (
        'C = T.decl_buffer((64,), data=A.data)\nfor i in range(64):\n    C[i] = T.float32(1)',
        "is larger than the memory",
    ),
    "one variable for two buffers": (
        "with T.block('b'):\n    C = T.alloc_buffer((4,))\n    D = T.alloc_buffer((400,), data=C.data)\n"
        "    D[399] = A[0]\n    A[0] = D[399]",
        "'C' is allocated twice",
    ),
    "an argument for a buffer": (
        "with T.block('b'):\n    C = T.alloc_buffer((400,), data=A.data)\n    C[399] = A[0]\n    A[0] = C[399]",
        "'A' is allocated twice",
    ),
    "threads": ("for i in T.thread_binding(8, 'threadIdx.x'):\n    A[i] = A[0]", "attribute 'thread_extent'"),
    "as often as an argument says": ("for i in range(B[0]):\n    A[0] = T.float32(1)", "a loop depends on B"),
    "from where an argument says": ("for i in T.serial(B[0], B[0] + 4):\n    A[0] = T.float32(1)", "loop depends on B"),
    "a loop that is too long": ("for i in range(T.int64(4294967296)):\n    A[0] = T.float32(1)", "may not fit"),
    "an index that overflows below": (
        "for i in range(16):\n    A[T.floordiv(i * -65536 * 65536, -65536 * 65536)] = T.float32(1)",
        "may not fit into 32 bits",
    ),
    "an index without a sign": ("for i in range(T.uint32(16)):\n    A[i] = T.float32(1)", "may not fit into 32 bits"),
    "a buffer that is nowhere declared": ("C = T.Buffer((16,), data=A.data)\nC[0] = T.float32(1)", "is not declared"),
    "lanes that are converted": (
        "A[T.Cast('int32x4', T.Ramp(T.int64(0), 1, 4))] = T.Broadcast(T.float32(1), 4)",
        "is an index whose bounds cannot be proven",
    ),
    "as many lanes as a processor has": (
        "A[T.Ramp(0, 1, T.vscale() * 4)] = T.Broadcast(T.float32(1), T.vscale() * 4)", "as a processor says"
    ),
    "a mask that calls": (
        "A.vstore([T.Ramp(0, 1, 8)], T.Broadcast(T.float32(1), 8),\n"
        "    predicate=T.Broadcast(T.call_extern('bool', 'abort'), 8))",
        "which is not a pure intrinsic",
    ),
    "memory that is there where a call says": (
        "C = T.allocate([4], 'float32', 'global', condition=T.call_extern('bool', 'abort'))\nA[0] = T.float32(1)",
        "which is not a pure intrinsic",
    ),
    "a pragma that calls": (
        "with T.attr(0, 'pragma_unroll_explicit', T.call_extern('int32', 'abort')):\n    A[0] = T.float32(1)",
        "which is not a pure intrinsic",
    ),
    "an index that overflows by one": (
        "for i in range(2):\n    A[T.floordiv(i + 2147483647, 2147483647)] = T.float32(1)", "may not fit into 32 bits"
    ),
    "memory of no size": ("C = T.decl_buffer((0,))\nA[0] = T.float32(1)", "is not constant"),
    "memory of the size that an argument says": ("C = T.decl_buffer((B[0],))\nA[0] = C[0]", "is not constant"),
    "a call": ('T.evaluate(T.call_extern("int32", "abort"))', "which is not a pure intrinsic"),
    "a call for a value": ('A[0] = T.call_extern("float32", "rand")', "which is not a pure intrinsic"),
    "a pointer": ("T.evaluate(T.address_of(A[0]))", "which is not a pure intrinsic"),
    "no end": ("while B[0] == 0:\n    A[0] = T.float32(1)", "it has a While"),
    "text of LLVM": ('with T.attr(0, "pragma_import_llvm", "define void @f()"):\n    A[0] = T.float32(1)', "attribute"),
}  # fmt: skip


@pytest.mark.parametrize("name", ESCAPES)
def test_a_program_that_may_leave_its_arguments_is_refused(name: str) -> None:
    body, reason = ESCAPES[name]
    with pytest.raises(NotContained, match=reason):
        check(body)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ("n: T.int32, a: T.handle):\n    A = T.match_buffer(a, (16,))", "a parameter is not a tensor"),
        (
            "a: T.handle, b: T.handle):\n    A = T.match_buffer(a, (16,))\n"
            "    C = T.match_buffer(b, (16,), data=A.data)",
            "shares its memory with another",
        ),
        ("a: T.handle):\n    n = T.int32()\n    A = T.match_buffer(a, (n,))", "is not constant"),
    ],
)
def test_parameters_are_tensors_of_constant_shapes_and_memory_of_their_own(parameters: str, reason: str) -> None:
    with pytest.raises(NotContained, match=reason):
        check("A[0] = T.float32(1)", f"@T.prim_func\ndef main({parameters}\n")


def test_a_parameter_with_strides_is_refused() -> None:
    head = "@T.prim_func\ndef main(a: T.handle):\n    A = T.match_buffer(a, (4, 4), strides=[64, 1])\n"
    with pytest.raises(NotContained, match="larger than the memory"):
        check("A[0, 0] = T.float32(1)", head)


def recorded(script: str) -> RecordedFunction:
    return next(message for message in messages(script, "record") if isinstance(message, RecordedFunction))


def measured(program: str, prefixes: bool) -> list[Message]:
    return served(Request(mode="measure", program=program, prefixes=prefixes, options=Options()))


def test_a_schedule_is_measured_without_its_script() -> None:
    ladder = next(message for message in messages(SCHEDULED, "ladder") if isinstance(message, RecordedFunction))
    assert ladder.reason == ""
    rows = [event.measurement for event in measured(ladder.program, True) if isinstance(event, Measured)]
    rungs = [row for row in rows if row.kind == "prefix"]
    assert [(row.step, row.checked) for row in rungs] == [(step, "ok") for step in (0, 2, 3, 4)]
    assert {row.flops for row in rungs} == {2 * 32**3}
    assert next(row.note for row in rows if row.kind == "numpy") == "(A @ B)"
    assert rungs[1].name.startswith("reorder("), "none for the split alone"


@pytest.mark.parametrize("script", [MATMUL + "f = tvm.build(matmul)\n", SCHEDULED + "f = tvm.build(sch.mod)\n"])
def test_a_function_of_blocks_is_measured_without_its_script(script: str) -> None:
    function = recorded(script)
    assert function.reason == ""
    (kernel,) = [
        event.measurement
        for event in measured(function.program, False)
        if isinstance(event, Measured) and event.measurement.kind == "kernel"
    ]
    assert kernel.checked == "ok"
    assert kernel.flops == 2 * 32**3


def test_what_is_not_contained_is_measured_by_the_script_with_the_reason() -> None:
    script = SCHEDULED.replace("for i, j, k in T.grid(32, 32, 32)", "for i, j, k in T.grid(32, 32, 31)").replace(
        "A[vi, vk] * B[vk, vj]", "A[vi, vk + 1] * B[vk, vj + 1]"
    )
    sent = messages(script, "ladder")
    text = next(message for message in sent if isinstance(message, RecordedFunction))
    assert (text.program, "is not proven" in text.reason) == ("", True)
    assert any(isinstance(message, Measured) for message in sent)


def test_texts_of_strangers_are_refused() -> None:
    program = IRModule({"main": from_source(HEAD + "    for i in range(16):\n        A[i] = T.float32(1)\n")})
    text = write_blocks([program], [], "llvm", "main")
    again, target, name = read_blocks(text)
    assert (target, name) == ("llvm", "main")
    assert [parameter.name for parameter in again.parameters] == ["A", "B"]
    np.testing.assert_array_equal(again.outputs, [0])
    for changed, reason in [
        (text.replace("range(16)", "range(99)"), "is not proven"),
        (text.replace('"primitives":[]', '"primitives":["split"]'), "one program more"),
        (text.replace('"primitives":[]', '"primitives":0'), "Expected `array`"),
        (text[: len(text) // 2], "program: "),
    ]:
        with pytest.raises(TVMError, match=reason):
            read_blocks(changed)
        assert isinstance(measured(changed, True)[-1], Failed)
