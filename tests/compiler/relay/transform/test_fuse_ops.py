"""Kernels: those that classic TVM 0.19 makes of the same graphs, and where ours differ on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from compiler.ir.error import TVMError
from compiler.ir.origin import OriginTable, recording
from compiler.ir.transform import PassContext
from compiler.relay.analysis import post_order
from tests.compiler.relay.transform.reading import after, kernels, module_of, relay, shown, transform


def x() -> Any:
    return relay.var("x", shape=(1, 16, 8, 8))


def conv(data: Any, name: str = "w") -> Any:
    return relay.nn.conv2d(data, relay.var(name, shape=(16, 16, 3, 3)), padding=(1, 1))


def _residual() -> Any:
    y = relay.nn.relu(conv(x()))
    return relay.add(conv(y, "w2"), y)


def _diamond() -> Any:
    r = relay.nn.relu(x())
    return relay.add(relay.exp(r), relay.tanh(r))


def _split(count: int) -> Any:
    parts = relay.split(relay.nn.relu(x()), 2, 1)
    return relay.add(parts[0], parts[1]) if count == 2 else relay.nn.relu(parts[0])


def _concat(first: Any) -> Any:
    return relay.nn.relu(relay.concatenate([first, relay.exp(relay.var("y", shape=(1, 16, 8, 8)))], 1))


def _two_convs() -> Any:
    data = x()
    return relay.nn.relu(relay.add(conv(data), conv(data, "w2")))


def _beside() -> Any:
    return relay.add(relay.exp(relay.var("a", shape=(16, 1, 1))), conv(x()))


def _dense() -> Any:
    product = relay.nn.dense(relay.var("d", shape=(2, 8)), relay.var("w", shape=(4, 8)))
    return relay.nn.relu(relay.add(product, relay.var("b", shape=(4,))))


FUSED: list[tuple[str, Callable[[], Any], set[str]]] = [
    ("elementwise", lambda: relay.sigmoid(relay.nn.relu(x())), {"nn.relu sigmoid"}),
    ("heavy, elementwise", lambda: relay.nn.relu(conv(x())), {"nn.conv2d nn.relu"}),
    (
        "heavy, bias",
        lambda: relay.nn.relu(relay.nn.bias_add(conv(x()), relay.var("b", shape=(16,)))),
        {"nn.conv2d nn.bias_add nn.relu"},
    ),
    ("used twice", _residual, {"nn.conv2d add", "nn.conv2d nn.relu"}),
    ("two heavy ones", _two_convs, {"nn.conv2d add nn.relu", "nn.conv2d"}),
    ("moving", lambda: relay.transpose(relay.reshape(x(), (16, 64)), (1, 0)), {"reshape transpose"}),
    ("reduced", lambda: relay.sum(relay.exp(x()), axis=1), {"exp sum"}),
    (
        "heavy, moving",
        lambda: relay.nn.batch_flatten(relay.nn.relu(conv(x()))),
        {"nn.conv2d nn.relu", "nn.batch_flatten"},
    ),
    ("into a tuple", lambda: _concat(relay.nn.relu(x())), {"nn.relu exp tuple concatenate nn.relu"}),
    ("heavy into a tuple", lambda: _concat(conv(x())), {"nn.conv2d", "exp tuple concatenate nn.relu"}),
    ("out of a tuple", lambda: _split(2), {"nn.relu split item item add"}),
    ("one of a tuple", lambda: _split(1), {"nn.relu split item nn.relu"}),
    ("diamond", _diamond, {"nn.relu exp tanh add"}),
    ("broadcast beside a heavy one", _beside, {"exp nn.conv2d add"}),
    ("scalar", lambda: relay.multiply(x(), relay.const(2.0)), {"const multiply"}),
    ("vector", lambda: relay.multiply(x(), relay.const(np.ones((16, 1, 1), "float32"))), {"multiply"}),
    (
        "pool",
        lambda: relay.nn.relu(relay.nn.max_pool2d(relay.nn.relu(conv(x())))),
        {"nn.conv2d nn.relu", "nn.max_pool2d nn.relu"},
    ),
    ("dense", _dense, {"nn.dense add nn.relu"}),
    ("results", lambda: relay.Tuple([relay.nn.relu(x()), relay.exp(x())]), {"nn.relu", "exp"}),
]


@pytest.mark.parametrize(("make", "wanted"), [f[1:] for f in FUSED], ids=[f[0] for f in FUSED])
def test_kernels_are_those_of_tvm(make: Callable[[], Any], wanted: set[str]) -> None:
    assert kernels(after(make(), transform.FuseOps(2))) == wanted


def test_what_follows_a_reduction_is_a_kernel_of_its_own() -> None:
    before = relay.nn.relu(relay.sum(relay.exp(x()), axis=1))
    assert kernels(after(before, transform.FuseOps(2))) == {"exp sum", "nn.relu"}
    twice = relay.sum(relay.nn.relu(relay.sum(x(), axis=1)), axis=1)
    assert kernels(after(twice, transform.FuseOps(2))) == {"sum", "nn.relu sum"}


def test_level_zero_makes_a_kernel_of_each_operator() -> None:
    out = relay.nn.relu(relay.nn.relu(conv(x())))
    assert kernels(after(out, transform.FuseOps(0))) == {"nn.conv2d", "nn.relu"}
    assert kernels(after(out, transform.FuseOps(), level=0)) == {"nn.conv2d", "nn.relu"}
    assert kernels(after(out, transform.FuseOps(), level=1)) == {"nn.conv2d nn.relu nn.relu"}
    half = relay.multiply(x(), relay.const(0.5))
    assert shown(after(half, transform.FuseOps(0))) == "{multiply(p0, p1)}(x, 0.5)"
    assert shown(after(half, transform.FuseOps(2))) == "{multiply(p0, 0.5)}(x)"


def test_the_depth_can_be_limited() -> None:
    out = x()
    for _ in range(10):
        out = relay.exp(out)
    mod = module_of(out)
    with PassContext(opt_level=3, config={"relay.FuseOps.max_depth": 4}):
        body = transform.FuseOps(2)(mod)["main"].body
    assert kernels(body) == {"exp exp", "exp exp exp exp"}
    assert shown(body).count("{") == 3


def test_a_kernel_is_a_function_of_what_it_reads() -> None:
    body = after(relay.nn.relu(conv(x())), transform.FuseOps(2))
    assert shown(body) == "{nn.relu(nn.conv2d(p0, p1))}(x, w)"
    assert dict(body.op.attrs) == {"Primitive": 1}
    assert [p.checked_type.concrete_shape for p in body.op.params] == [(1, 16, 8, 8), (16, 16, 3, 3)]
    assert body.op.ret_type == body.checked_type
    scaled = relay.add(relay.const(np.ones(8, "float32")), relay.multiply(relay.const(np.ones(8, "float32")), x()))
    # Parameters are numbered in the order in which operators are evaluated.
    assert shown(after(scaled, transform.FuseOps(2))).startswith("{add(p2, multiply(p0, p1))}(c[8], x, c[8])")


def test_a_kernel_that_only_gives_another_shape_says_so() -> None:
    flat = relay.squeeze(relay.reshape(x(), (1, -1)))
    assert dict(after(flat, transform.FuseOps(2)).op.attrs) == {"Primitive": 1, "relay.reshape_only": 1}
    assert dict(after(relay.exp(flat), transform.FuseOps(2)).op.attrs) == {"Primitive": 1}
    assert dict(after(relay.transpose(x()), transform.FuseOps(2)).op.attrs) == {"Primitive": 1}


def test_an_element_of_a_tuple_from_elsewhere_is_passed_as_it_is() -> None:
    pair = relay.var("pair", relay.TupleType([relay.TensorType((4,)), relay.TensorType((4,))]))
    body = after(relay.exp(relay.TupleGetItem(pair, 1)), transform.FuseOps(2))
    assert shown(body) == "{exp(p0)}(pair.1)"


def test_constants_of_any_size_can_be_put_into_kernels() -> None:
    mod = module_of(relay.multiply(x(), relay.const(np.ones((16, 1, 1), "float32"))))
    with PassContext(opt_level=3, config={"relay.FuseOps.link_params": True}):
        assert shown(transform.FuseOps(2)(mod)["main"].body) == "{multiply(p0, c[16, 1, 1])}(x)"


def test_branches_and_closures_keep_their_operators() -> None:
    c, data = relay.var("c", relay.scalar_type("bool")), x()
    body = after(relay.If(c, relay.exp(relay.nn.relu(data)), relay.tanh(data)), transform.FuseOps(2))
    assert kernels(body) == {"nn.relu exp", "tanh"}
    assert shown(body.true_branch) == "{exp(nn.relu(p0))}(x)"


def test_fusing_again_changes_nothing_and_defusing_undoes_it() -> None:
    out = _residual()
    mod = module_of(out)
    with PassContext(opt_level=4):
        fused = transform.FuseOps(2)(mod)
        assert transform.FuseOps(2)(fused) is fused
        assert shown(transform.DefuseOps()(fused)["main"].body) == shown(out)


def test_a_long_chain() -> None:
    out = x()
    for _ in range(3000):
        out = relay.tanh(out)
    mod = module_of(out)
    with PassContext(opt_level=3):
        fused = transform.FuseOps(2)(mod)
    calls = [e for e in post_order(fused["main"]) if isinstance(e, relay.Call) and isinstance(e.op, relay.Function)]
    assert len(calls) == 12  # of 256 operators at most


def test_a_level_that_is_no_number_is_refused() -> None:
    with pytest.raises(TVMError, match="FuseOps: fuse_opt_level must be of type int"):
        transform.FuseOps("all")


def test_a_kernel_comes_from_all_of_its_operators() -> None:
    with recording(OriginTable()):
        out = relay.nn.relu(conv(x()))
        body = after(out, transform.FuseOps(2))
    assert body.span == body.op.span == out.span | out.args[0].span
    assert body.op.body.span == out.span
    assert len(body.span) == 2


def test_what_is_used_twice_again_and_again_is_cut() -> None:
    """A kernel of n squarings would compute the first one 2ⁿ times."""
    out = relay.var("x", shape=(4,))
    for _ in range(40):
        out = relay.multiply(out, out)
    names = sorted(kernels(after(out, transform.FuseOps(2))), key=len)
    assert [len(name.split()) for name in names] == [4, 9]
    assert shown(after(out, transform.FuseOps(2))).count("{") > 4


def test_values_that_many_use_once_stay_in_one_kernel() -> None:
    data = relay.var("x", shape=(4,))
    branches = [relay.add(relay.exp(y := relay.multiply(data, relay.const(float(k)))), y) for k in range(20)]
    out = branches[0]
    for branch in branches[1:]:
        out = relay.maximum(out, branch)
    assert len(kernels(after(out, transform.FuseOps(2)))) == 1


def test_a_marker_stops_fusion_and_is_gone_afterwards() -> None:
    x = relay.var("x", shape=(2, 8))
    out = relay.exp(relay.annotation.stop_fusion(relay.nn.relu(x)))
    body = after(out, transform.FuseOps(2))
    assert shown(body) == "{exp(p0)}({nn.relu(p0)}(x))"
