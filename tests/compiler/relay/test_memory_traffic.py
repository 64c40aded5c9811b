"""Bytes that a graph moves, before and after its operators are fused."""

from __future__ import annotations

from compiler import relay, transform
from compiler.ir.module import IRModule
from compiler.relay.analysis import list_op_freqs, memory_traffic

SIZE = 4 * 8 * 4  # bytes of a 4 by 8 array of 32-bit numbers


def chain() -> IRModule:
    x = relay.var("x", shape=(4, 8))
    return relay.transform.InferType()(IRModule.from_expr(relay.exp(relay.negative(relay.add(x, x)))))


def test_every_operator_reads_and_writes() -> None:
    traffic = memory_traffic(chain())
    assert (traffic.kernels, traffic.bytes_read, traffic.bytes_written) == (3, 4 * SIZE, 3 * SIZE)


def test_fusion_keeps_what_is_between_in_registers() -> None:
    fused = relay.transform.InferType()(relay.transform.FuseOps(2)(chain()))
    traffic = memory_traffic(fused)
    assert (traffic.kernels, traffic.bytes_read, traffic.bytes_written) == (1, SIZE, SIZE)
    assert list_op_freqs(fused) == {"add": 1, "negative": 1, "exp": 1}


def test_a_kernel_that_ends_in_a_reshape_is_one() -> None:
    x = relay.var("x", shape=(4, 8))
    mod = relay.transform.InferType()(IRModule.from_expr(relay.reshape(relay.exp(x), (8, 4))))
    traffic = memory_traffic(relay.transform.FuseOps(2)(mod))
    assert (traffic.kernels, traffic.bytes_read, traffic.bytes_written) == (1, SIZE, SIZE)
    mod = relay.transform.InferType()(IRModule.from_expr(relay.reshape(relay.reshape(x, (32,)), (8, 4))))
    assert memory_traffic(relay.transform.FuseOps(2)(mod)).kernels == 0


def test_memory_in_another_shape_is_no_kernel() -> None:
    x = relay.var("x", shape=(4, 2, 4))
    flat = relay.nn.batch_flatten(relay.exp(x))
    untyped = IRModule.from_expr(relay.Function([x], flat))
    assert memory_traffic(untyped).kernels == 1
    module = relay.transform.InferType()(untyped)
    fused = relay.transform.InferType()(relay.transform.FuseOps(0)(module))
    for shown in (module, fused):
        traffic = memory_traffic(shown)
        assert (traffic.kernels, traffic.bytes_read, traffic.bytes_written) == (1, SIZE, SIZE)
    with transform.PassContext(opt_level=0):
        calls = relay.build(module, target="llvm").program.calls
    assert [call.alias for call in calls] == [False, True]


def test_unknown_sizes_count_nothing() -> None:
    x = relay.var("x", relay.TensorType((relay.Any(), 8)))
    module = relay.transform.InferType()(IRModule.from_expr(relay.exp(x)))
    traffic = memory_traffic(module)
    assert (traffic.kernels, traffic.bytes_read) == (1, 0)
