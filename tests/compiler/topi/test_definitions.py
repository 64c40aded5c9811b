"""Definitions called directly, as ``tvm.topi``: numbers among tensors, symbolic extents, wrong arguments."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import compiler
from compiler import te, topi
from compiler.ir.error import TVMError
from compiler.topi.arrays.transform import matching_runs
from compiler.topi.schedules import schedule_injective


def test_functions_of_a_family_have_names_and_words_of_their_own() -> None:
    for module in (topi, topi.nn, topi.image, topi.cuda, topi.generic, topi.x86):
        for name in module.__all__:
            doc = getattr(module, name).__doc__ or ""
            assert not re.search(r"\{[a-z_]+\}", doc), f"{name}: a word is missing in {doc!r}"
    assert topi.nn.conv2d_nhwc.__name__ == topi.nn.conv2d_nhwc.__qualname__ == "conv2d_nhwc"
    assert "NHWC with a weight of layout HWIO" in topi.nn.conv2d_nhwc.__doc__
    assert inspect.signature(topi.nn.conv2d_nhwc).parameters["out_dtype"].default == "float32"
    with pytest.raises(TypeError, match=r"conv3d_ncdhw\(\) missing 1 required positional argument: 'groups'"):
        topi.nn.conv3d_ncdhw(None, None, 1, 0, 1)


def test_numbers_go_with_tensors() -> None:
    x = te.placeholder((4,), "int8", name="x")
    assert topi.add(x, 1).dtype == "int8"
    assert topi.maximum(2, x).dtype == "int8"
    assert str(topi.multiply(te.var("n"), 2)) == "n * 2"


def test_one_kernel_serves_every_length() -> None:
    n = te.size_var("n")
    a, b = te.placeholder((n, 3), name="a"), te.placeholder((1, 3), name="b")
    out = topi.concatenate([topi.add(a, b), topi.reshape(topi.transpose(a), (n, 3))], 1)
    function = compiler.build(schedule_injective(out), [a, b, out], target="llvm")
    for length in (1, 5):
        x, y = np.random.default_rng(length).random((length, 3), "float32"), np.ones((1, 3), "float32")
        result = compiler.nd.empty((length, 6))
        function(compiler.nd.array(x), compiler.nd.array(y), result)
        np.testing.assert_allclose(result.numpy(), np.hstack([x + y, x.T.reshape(length, 3)]))


@pytest.mark.parametrize(
    ("old", "new", "runs"),
    [
        ((2, 3, 4), (6, 4), [((0, 2), (0, 1)), ((2, 3), (1, 2))]),
        ((8, 5), (2, 4, 5), [((0, 1), (0, 2)), ((1, 2), (2, 3))]),
        ((6,), (6, 1), [((0, 1), (0, 1)), ((1, 1), (1, 2))]),
        ((4, 6), (3, 8), [((0, 2), (0, 2))]),
    ],
)
def test_shapes_are_taken_apart_into_runs_of_one_size(old: tuple, new: tuple, runs: list) -> None:  # type: ignore[type-arg]
    assert list(matching_runs(old, new)) == runs


def test_wrong_arguments() -> None:
    x = te.placeholder((4, 6), name="x")
    for call, message in (
        (lambda: topi.add(x, te.placeholder((5,))), r"shapes \(4, 6\) and \(5,\) cannot be broadcast together"),
        (lambda: topi.sum(x, 2), "axis must be an int from -2 to 1, got 2"),
        (lambda: topi.transpose(x, (0, 0)), "axes must name each of 2 dimensions once"),
        (lambda: topi.split(x, 4, 1), "6 elements cannot be split into 4 equal parts"),
        (lambda: topi.take(x, x, mode="near"), "mode must be"),
        (lambda: topi.no_such_thing, "no_such_thing"),
    ):
        with pytest.raises((TVMError, AttributeError), match=message):
            call()


def test_a_symbolic_extent_where_a_constant_is_needed() -> None:
    n = te.size_var("n")
    points = te.placeholder((n, 3), "int32", name="points")
    with pytest.raises(TVMError, match="gather_nd: expected a constant extent, got n"):
        topi.gather_nd(te.placeholder((4, 4)), points)


def test_tags_are_strings_as_in_tvm() -> None:
    x = te.placeholder((4, 6), name="x")
    doubled, total = topi.multiply(x, 2.0), topi.sum(x, 1)
    assert (doubled.op.tag, str(total.op.tag)) == (topi.tag.ELEMWISE, "comm_reduce")
    assert f"{doubled.op.tag}" == "elemwise"
    own = te.compute((4,), lambda i: x[i, 0] + 1.0, tag="broadcast")
    assert topi.tag.is_broadcast(own.op.tag)
    assert topi.tag.is_injective("injective,pad")
    assert not topi.tag.is_injective(total.op.tag)
