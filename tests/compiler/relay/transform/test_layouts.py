"""AlterOpLayout and ConvertLayout: where layouts meet, and nowhere else, values are transformed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.ir.error import TVMError
from compiler.ir.transform import PassContext
from compiler.relay.analysis import list_op_freqs, post_order
from compiler.target.target import Target
from tests.compiler.relay.transform.reading import after, module_of, relay, shown, transform
from tests.properties.graphs import evaluate, random_inputs


def network() -> Any:
    x = relay.var("x", shape=(1, 3, 16, 16))
    y = relay.nn.conv2d(x, relay.var("w", shape=(16, 3, 3, 3)), padding=(1, 1))
    y = relay.nn.relu(relay.nn.bias_add(y, relay.var("b", shape=(16,))))
    y = relay.nn.conv2d(y, relay.var("w2", shape=(16, 16, 3, 3)), padding=(1, 1))
    y = relay.nn.relu(relay.add(y, relay.var("b2", shape=(16, 1, 1))))
    y = relay.nn.max_pool2d(y, (2, 2), (2, 2))
    z = relay.nn.conv2d(y, relay.var("w3", shape=(16, 16, 1, 1)))
    y = relay.concatenate([relay.add(y, z), relay.nn.relu(z)], axis=1)
    return relay.nn.batch_flatten(relay.nn.global_avg_pool2d(y))


def transforms(body: Any) -> list[tuple[str, str]]:
    found = [e for e in post_order(body) if isinstance(e, relay.Call) and e.op.name == "layout_transform"]
    return [(e.attrs.src_layout, e.attrs.dst_layout) for e in found]


def convert(layouts: Any) -> Any:
    return transform.ConvertLayout(layouts)


def test_channels_in_blocks_as_classic_tvm_places_them() -> None:
    avx512 = Target("llvm -mcpu=skylake-avx512")
    body = after(network(), transform.CanonicalizeOps(), transform.AlterOpLayout(avx512))
    # One for the data, one for each weight and bias, and one back, as TVM 0.19 has them.
    assert transforms(body) == [
        ("NCHW", "NCHW3c"),
        ("OIHW", "OIHW3i16o"),
        ("NCHW", "NCHW16c"),
        ("OIHW", "OIHW16i16o"),
        ("NCHW", "NCHW16c"),
        ("OIHW", "OIHW16i16o"),
        ("NCHW16c", "NCHW"),
    ]
    assert shown(body).startswith("nn.batch_flatten(layout_transform(nn.global_avg_pool2d(concatenate(")


@pytest.mark.parametrize(("cpu", "block"), [("nehalem", 4), ("haswell", 8), ("skylake-avx512", 16)])
def test_blocks_are_as_wide_as_vectors(cpu: str, block: int) -> None:
    out = relay.nn.conv2d(relay.var("x", shape=(1, 32, 8, 8)), relay.var("w", shape=(32, 32, 3, 3)))
    body = after(out, transform.AlterOpLayout(Target(f"llvm -mcpu={cpu}")))
    assert (f"NCHW{block}c", "NCHW") in transforms(body)


def test_the_current_target_decides() -> None:
    out = relay.nn.conv2d(relay.var("x", shape=(1, 32, 8, 8)), relay.var("w", shape=(32, 32, 3, 3)))
    mod = module_of(out)
    with Target("llvm -mcpu=haswell"), PassContext(opt_level=3):
        assert ("NCHW8c", "NCHW") in transforms(transform.AlterOpLayout()(mod)["main"])


def test_channels_last() -> None:
    body = after(network(), convert({"nn.conv2d": ["NHWC", "default"]}))
    assert transforms(body)[:2] == [("NCHW", "NHWC"), ("OIHW", "HWIO")]
    assert [pair for pair in transforms(body) if pair[1] == "NCHW"] == [("NHWC", "NCHW")]
    joined = next(e for e in post_order(body) if isinstance(e, relay.Call) and e.op.name == "concatenate")
    assert joined.attrs.axis == 3


def test_there_and_back_again() -> None:
    there, back = convert({"nn.conv2d": ["NHWC", "default"]}), convert({"nn.conv2d": ["NCHW", "default"]})
    body = after(network(), there, back, transform.SimplifyExpr())
    assert all("C" not in pair[0] for pair in transforms(body))


def test_depthwise_weights_have_their_own_layout() -> None:
    out = relay.nn.conv2d(relay.var("x", shape=(1, 8, 4, 4)), relay.var("w", shape=(8, 1, 3, 3)), groups=8)
    body = after(out, convert({"nn.conv2d": ["NHWC", "default"]}))
    assert ("OIHW", "HWOI") in transforms(body)


def test_what_knows_no_layout_gets_its_own() -> None:
    x = relay.var("x", shape=(1, 8, 4, 4))
    out = relay.nn.softmax(relay.nn.conv2d(x, relay.var("w", shape=(8, 8, 1, 1))), axis=1)
    body = after(out, convert({"nn.conv2d": ["NHWC", "default"]}))
    assert shown(body).startswith("nn.softmax(layout_transform(nn.conv2d(")


def test_a_value_used_in_both_layouts_is_transformed_once() -> None:
    x = relay.var("x", shape=(1, 8, 4, 4))
    y = relay.nn.conv2d(x, relay.var("w", shape=(8, 8, 1, 1)))
    out = relay.Tuple([relay.nn.softmax(y), relay.nn.softmax(relay.nn.relu(y)), relay.nn.log_softmax(y)])
    mod = module_of(out)
    with PassContext(opt_level=3):
        counted = list_op_freqs(convert({"nn.conv2d": ["NHWC", "default"]})(mod))
    assert counted["layout_transform"] == 4  # data, weights, y, relu(y)


def test_results_stay() -> None:
    mod = module_of(network())
    inputs = random_inputs(mod)
    wanted = evaluate(mod["main"], inputs)
    with PassContext(opt_level=3):
        last = convert({"nn.conv2d": ["NHWC", "default"]})(mod)
        packed = transform.AlterOpLayout(Target("llvm -mcpu=haswell"))(transform.CanonicalizeOps()(mod))
    for changed in (last, packed):
        np.testing.assert_allclose(evaluate(changed["main"], inputs), wanted, rtol=1e-4, atol=1e-3)


def test_a_second_time_changes_nothing() -> None:
    mod = module_of(network())
    with PassContext(opt_level=3):
        once = convert({"nn.conv2d": ["NHWC", "default"]})(mod)
        assert convert({"nn.conv2d": ["NHWC", "default"]})(once) is once


@pytest.mark.parametrize(
    ("layouts", "message"),
    [
        ({"nn.rely": ["NHWC"]}, "no operator is named 'nn.rely'"),
        ({"nn.conv2d": "NHWC"}, "nn.conv2d: expected a list of layouts, got 'NHWC'"),
        ({"nn.conv2d": ["N?WC"]}, "expected one such as NCHW"),
    ],
)
def test_what_cannot_be_converted_is_named(layouts: Any, message: str) -> None:
    with pytest.raises(TVMError, match=message.replace("?", r"\?")):
        convert(layouts)
