"""AlterOpLayout and ConvertLayout: where layouts meet, and nowhere else, values are transformed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.classic.testing.relay.temp_op_attr import TempOpAttr
from compiler.ir.error import TVMError
from compiler.ir.transform import PassContext
from compiler.relay.analysis import list_op_freqs, post_order
from compiler.relay.operator import op_name
from compiler.target.target import Target
from tests.compiler.relay.transform.reading import after, module_of, relay, shown, transform
from tests.properties.graphs import evaluate, random_inputs


def network(*image: Any) -> Any:
    x = relay.var("x", shape=image or (1, 3, 16, 16))
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


def test_channels_are_in_blocks_whatever_the_batch_and_the_size() -> None:
    known = after(network(), transform.CanonicalizeOps(), transform.AlterOpLayout(Target("llvm -mcpu=haswell")))
    for image in ((relay.Any(), 3, 16, 16), (relay.Any(), 3, relay.Any(), relay.Any())):
        mod = module_of(network(*image))
        with Target("llvm -mcpu=haswell"), PassContext(opt_level=3):
            packed = transform.AlterOpLayout()(transform.CanonicalizeOps()(mod))
        assert transforms(packed["main"].body) == transforms(known)
        inputs = random_inputs(module_of(network(2, 3, 16, 16)))
        wanted = evaluate(mod["main"], inputs)
        np.testing.assert_allclose(evaluate(packed["main"], inputs), wanted, rtol=1e-4, atol=1e-4)


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
    body = after(network(), transform.CanonicalizeOps(), convert({"nn.conv2d": ["NHWC", "default"]}))
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


def behind(tail: Any) -> Any:
    """Return what some operators make of a convolution of 8 channels of 6 by 5, twice over."""
    x, w = relay.var("x", shape=(2, 4, 6, 5)), relay.var("w", shape=(8, 4, 1, 1))
    return tail(relay.nn.relu(relay.nn.conv2d(x, w)))


ZERO, HALF = relay.const(0, "int32"), relay.const(0.5)

TAILS: dict[str, tuple[Any, int]] = {
    "sum over space": (lambda y: relay.sum(y, axis=[2, 3]), 0),
    "mean of channels": (lambda y: relay.mean(y, axis=[1], keepdims=True), 1),
    "all but channels": (lambda y: relay.max(y, axis=[1], exclude=True), 0),
    "variance": (lambda y: relay.variance(y, axis=[-1, -2], keepdims=True), 1),
    "index in a plane": (lambda y: relay.argmax(y, axis=[2, 3]), 0),
    "index across channels": (lambda y: relay.argmax(y, axis=[1, 2]), 1),
    "transposed": (lambda y: relay.transpose(y, axes=[0, -1, 1, 2]), 0),
    "squeezed": (lambda y: relay.squeeze(relay.sum(y, axis=[2, 3], keepdims=True), axis=[2, 3]), 0),
    "split": (lambda y: relay.concatenate([*relay.split(y, 2, axis=1)], axis=2), 1),
    "split in places": (lambda y: relay.split(y, (2, 5), axis=1)[1], 1),
    "slice": (lambda y: relay.strided_slice(y, begin=[0, 4], end=[2, 8, -1]), 1),
    "slice of axes": (lambda y: relay.strided_slice(y, begin=[1, 2], end=[6, 6], axes=[2, 1], strides=[2, 1]), 1),
    "slice like": (lambda y: relay.slice_like(y, relay.nn.max_pool2d(y, (2, 2)), axes=[2, 3]), 1),
    "padded": (lambda y: relay.nn.pad(y, ((0, 0), (0, 0), (1, 2), (3, 0))), 1),
    "padded channels": (lambda y: relay.nn.pad(y, ((0, 0), (1, 0), (0, 0), (0, 0))), 1),
    "normalised": (lambda y: relay.nn.batch_norm(y, *(relay.exp(relay.var(n, shape=(8,))) for n in "gbmv"))[0], 1),
    "of length one": (lambda y: relay.nn.l2_normalize(y, 1e-5, axis=[1]), 1),
    "each plane": (lambda y: relay.nn.instance_norm(y, *(relay.var(n, shape=(8,)) for n in "gb")), 1),
    "quantised": (lambda y: relay.qnn.op.quantize(y, HALF, ZERO, axis=1, out_dtype="int8"), 1),
    "resized": (lambda y: relay.image.resize2d(y, (3, 4)), 1),
    "times one number": (lambda y: relay.multiply(relay.var("m", shape=(1, 1)), y), 1),
    "plus a plane": (lambda y: relay.add(y, relay.var("p", shape=(6, 5))), 2),
    "softmax": (lambda y: relay.nn.softmax(y, axis=1), 1),
}


@pytest.mark.parametrize("name", TAILS)
def test_axes_are_renumbered(name: str) -> None:
    tail, count = TAILS[name]
    mod = module_of(behind(tail))
    inputs = random_inputs(mod)
    wanted = evaluate(mod["main"], inputs)
    with PassContext(opt_level=3):
        last = convert({"nn.conv2d": ["NHWC", "default"]})(mod)
        packed = transform.AlterOpLayout(Target("llvm -mcpu=nehalem"))(transform.CanonicalizeOps()(mod))
    assert len(transforms(last["main"])) == 2 + count
    assert last["main"].checked_type == mod["main"].checked_type == packed["main"].checked_type
    for changed in (last, packed):
        np.testing.assert_allclose(evaluate(changed["main"], inputs), wanted, rtol=1e-4, atol=1e-4)


def test_weights_of_transposed_convolutions_have_their_input_channels_first() -> None:
    x, w = relay.var("x", shape=(1, 3, 4, 5)), relay.var("w", shape=(3, 2, 3, 3))
    mod = module_of(relay.nn.conv2d_transpose(x, w, channels=2, kernel_size=(3, 3), strides=(2, 2)))
    last = convert({"nn.conv2d_transpose": ["NHWC", "default"]})(mod)
    (call,) = [part for part in post_order(last["main"]) if op_name(part) == "nn.conv2d_transpose"]
    assert call.attrs["kernel_layout"] == "HWIO"
    inputs = random_inputs(mod)
    np.testing.assert_allclose(evaluate(last["main"], inputs), evaluate(mod["main"], inputs), rtol=1e-5, atol=1e-5)


def test_an_operator_that_is_converted_itself_does_not_follow_its_data() -> None:
    body = after(
        relay.image.resize2d(relay.var("x", shape=(1, 2, 4, 4)), (8, 8)), convert({"image.resize2d": ["NHWC"]})
    )
    assert transforms(body) == [("NCHW", "NHWC"), ("NHWC", "NCHW")]


@pytest.mark.parametrize(
    ("make", "axis"),
    [
        (lambda y, v: relay.nn.layer_norm(y, v, v, axis=1), 3),
        (lambda y, v: relay.nn.layer_norm(y, relay.var("u", shape=(8,)), relay.var("u", shape=(8,))), 2),
        (lambda y, v: relay.topk(y, k=2, axis=1)[0], 3),
        (lambda y, v: relay.topk(y, k=2, axis=-1, ret_type="values"), 2),
        (lambda y, v: relay.nn.relu(relay.nn.dropout(y)), None),
        (lambda y, v: relay.add(y, relay.zeros_like(y)), None),
    ],
)
def test_what_follows_takes_the_layout(make: Any, axis: int | None) -> None:
    y = relay.nn.conv2d(relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3)), padding=(1, 1))
    mod = module_of(make(y, relay.var("v", shape=(4,))))
    with PassContext(opt_level=3):
        changed = transform.InferType()(convert({"nn.conv2d": ["NHWC", "default"]})(mod))
    body = changed["main"].body
    assert [pair for pair in transforms(body) if pair[1] == "NCHW"] == [("NHWC", "NCHW")]
    places = [e.attrs.axis for e in post_order(body) if isinstance(e, relay.Call) and "axis" in dict(e.attrs)]
    assert places == ([] if axis is None else [axis])
    inputs = random_inputs(mod)
    np.testing.assert_allclose(evaluate(changed["main"], inputs), evaluate(mod["main"], inputs), rtol=1e-4, atol=1e-4)


def test_blocks_of_channels_are_those_of_the_packed_convolution() -> None:
    out = relay.nn.conv2d(relay.var("x", shape=(1, 8, 8, 8)), relay.var("w", shape=(8, 8, 3, 3)), padding=(1, 1))
    body = after(out, convert({"nn.conv2d": ["NCHW8c", "OIHW8i8o"]}))
    assert shown(body).startswith("layout_transform(nn.contrib_conv2d_NCHWc(layout_transform(x)")
    assert 'data_layout="NCHW8c", kernel_layout="OIHW8i8o"' in str(body)


def test_an_operator_that_lacks_the_layout_stays_as_it_is() -> None:
    image, grid = relay.var("x", shape=(1, 3, 8, 8)), relay.var("g", shape=(1, 2, 4, 4))
    sampled = relay.image.grid_sample(relay.nn.max_pool2d(image), grid)
    assert transforms(after(sampled, convert({"image.grid_sample": ["NHWC", "default"]}))) == []
    converted = after(sampled, convert({"nn.max_pool2d": ["NHWC"], "image.grid_sample": ["NHWC"]}))
    assert transforms(converted) == [("NCHW", "NHWC"), ("NHWC", "NCHW")]
    assert converted.attrs.layout == "NCHW"


def test_some_layers_are_skipped() -> None:
    with transform.LayoutConfig(skip_layers=[0, 1, 2]) as config:
        assert transforms(after(network(), convert({"nn.conv2d": ["NHWC", "default"]}))) == []
    assert config.skip_counter == 3


def test_values_that_are_called_something_else_are_not_permuted() -> None:
    x, w = relay.var("x", shape=(1, 4, 4, 4)), relay.var("w", shape=(4, 4, 1, 1))
    y = relay.nn.conv2d(x, w)
    z = relay.nn.conv2d(x, relay.var("v", shape=(1, 1, 4, 4)), data_layout="NHWC", kernel_layout="HWIO")
    mod = module_of(relay.add(y, z))
    inputs = random_inputs(mod)
    with PassContext(opt_level=3):
        changed = convert({"nn.conv2d": ["NHWC", "default"]})(mod)
    np.testing.assert_allclose(evaluate(changed["main"], inputs), evaluate(mod["main"], inputs), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("layouts", "message"),
    [
        ({"nn.rely": ["NHWC"]}, "no operator is named 'nn.rely'"),
        ({"nn.conv2d": "NHWC"}, "nn.conv2d: expected a list of layouts, got 'NHWC'"),
        ({"nn.conv2d": ["N?WC"]}, "expected a layout such as NCHW"),
    ],
)
def test_what_cannot_be_converted_is_named(layouts: Any, message: str) -> None:
    with pytest.raises(TVMError, match=message.replace("?", r"\?")):
        convert(layouts)


@pytest.mark.parametrize(
    ("rows", "units", "operator"),
    [(1, 32, "nn.dense"), (2, 32, "nn.contrib_dense_pack"), (2, 10, "nn.dense"), (2, 100, "nn.contrib_dense_pack")],
)
def test_known_weights_of_several_rows_stand_in_panels(rows: int, units: int, operator: str) -> None:
    weight = relay.const(np.random.default_rng(0).standard_normal((units, 24)).astype("float32"))
    mod = module_of(relay.nn.relu(relay.nn.dense(relay.var("x", shape=(rows, 24)), weight)))
    with PassContext(opt_level=3):
        packed = transform.AlterOpLayout(Target("llvm -mcpu=haswell"))(mod)
    assert operator in {op_name(e) for e in post_order(packed["main"].body)}
    inputs = random_inputs(mod)
    np.testing.assert_allclose(evaluate(packed["main"], inputs), evaluate(mod["main"], inputs), rtol=1e-5, atol=1e-5)


def test_a_convolution_may_be_altered_into_another_operator() -> None:
    def doubled_and_halved(attrs: Any, inputs: Any, types: Any, result: Any) -> Any:
        weight = relay.multiply(inputs[1], relay.const(2.0))
        return relay.multiply(relay.nn.conv2d(inputs[0], weight, **attrs), relay.const(0.5))

    x, w = relay.var("x", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", doubled_and_halved):
        body = after(relay.nn.relu(relay.nn.conv2d(x, w)), transform.AlterOpLayout())
    assert shown(body) == "nn.relu(multiply(nn.conv2d(x, multiply(w, 2.0)), 0.5))"


def _blocked(attrs: Any, inputs: Any, types: Any, result: Any) -> Any:
    return relay.nn.conv2d(*inputs, **{**attrs, "data_layout": "NCHW4c"})


@pytest.mark.parametrize(
    ("shape", "swapped"),
    [((1, 1, 8, 8), False), *((shape, s) for shape in ((1, 8, 8), (8, 8), (8,), (1, 8)) for s in (False, True))],
)
def test_what_has_one_channel_is_broadcast_in_blocks_of_one(shape: tuple[int, ...], swapped: bool) -> None:
    x, w, z = (relay.var(n, shape=s) for n, s in (("x", (1, 16, 8, 8)), ("w", (16, 16, 1, 1)), ("z", shape)))
    convolved = relay.nn.conv2d(x, w, channels=16, kernel_size=(1, 1))
    out = relay.subtract(*((z, convolved) if swapped else (convolved, z)))
    with TempOpAttr("nn.conv2d", "FTVMAlterOpLayout", _blocked):
        body = after(relay.nn.relu(out), transform.AlterOpLayout())
    assert sorted(transforms(body)) == [("NCHW", "NCHW1c"), ("NCHW", "NCHW4c"), ("NCHW4c", "NCHW")]
    assert str(body.checked_type) == "Tensor[(1, 16, 8, 8), float32]"
    assert shown(body).startswith("layout_transform(nn.relu(subtract(")


def test_channels_that_are_broadcast_compute_what_they_did() -> None:
    avx512 = Target("llvm -mcpu=skylake-avx512")
    x, w, z = (relay.var(n, shape=s) for n, s in (("x", (2, 16, 8, 8)), ("w", (16, 16, 3, 3)), ("z", (1, 6, 6))))
    out = relay.multiply(z, relay.nn.conv2d(x, w))
    mod, made = module_of(out), module_of(after(out, transform.CanonicalizeOps(), transform.AlterOpLayout(avx512)))
    assert ("NCHW", "NCHW1c") in transforms(made["main"].body)
    inputs = random_inputs(mod)
    np.testing.assert_allclose(evaluate(made["main"], inputs), evaluate(mod["main"], inputs), rtol=1e-4, atol=1e-5)


def test_channels_that_fill_no_block_stay() -> None:
    x = relay.var("x", shape=(1, 2, 7, 3))
    y = relay.nn.conv2d(relay.nn.relu(x), relay.var("w", shape=(2, 2, 1, 1)))
    made = after(relay.nn.relu(y), convert({"nn.conv2d": ["NCHW4c", "default"]}))
    assert "layout_transform" not in shown(made)
    assert "nn.conv2d" in shown(made)


@pytest.mark.parametrize("shape", [(4, 4), (4, 6)])
def test_a_quantised_pool_is_converted_with_its_data(shape: tuple[int, int]) -> None:
    x = relay.var("x", shape=(1, *shape, 4), dtype="int8")
    w = relay.const(np.random.default_rng(0).integers(-3, 4, (1, 1, 4, 4)).astype("int8"))
    one, zero, scale = relay.const(1), relay.const(0), relay.const(1.0)
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    y = relay.qnn.op.conv2d(x, w, one, one, scale, scale, channels=4, kernel_size=(1, 1), **layouts)
    window, ones = {"pool_size": (3, 3)}, dict.fromkeys(("strides", "padding", "dilation"), (1, 1))
    named = {"layout": "NHWC", "out_layout": "NHWC"}
    y = relay.qnn.op.avg_pool2d(relay.cast(y, "int8"), scale, zero, scale, zero, **window, **ones, **named)
    mod = module_of(y)
    with PassContext(opt_level=3):
        after = convert({"qnn.conv2d": ["NCHW", "default"], "qnn.avg_pool2d": ["NCHW"]})(mod)
    assert transforms(after["main"].body) == [("NHWC", "NCHW"), ("HWIO", "OIHW"), ("NCHW", "NHWC")]
    inputs = random_inputs(mod)
    np.testing.assert_array_equal(evaluate(after["main"], inputs), evaluate(mod["main"], inputs))


@pytest.mark.parametrize("shape", [(1, 1, 1, 1, 1), (1, 1, 1, 1), (1,), (), (1, 2, 1, 1, 1), (1, 1, 6, 6, 4), (4,)])
def test_what_is_broadcast_to_blocks_of_channels_stays_as_it_is(shape: tuple[int, ...]) -> None:
    x, w = relay.var("x", shape=(1, 2, 8, 8, 4)), relay.var("w", shape=(2, 2, 3, 3, 4, 4))
    layouts = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i4o"}
    y = relay.add(relay.nn.conv2d(x, w, channels=8, kernel_size=(3, 3), **layouts), relay.var("c", shape=shape))
    mod = module_of(relay.nn.relu(y))
    made = after(relay.nn.relu(y), transform.AlterOpLayout(Target("llvm -mcpu=haswell")))
    assert transforms(made) == []
    inputs = random_inputs(mod)
    np.testing.assert_allclose(evaluate(module_of(made)["main"], inputs), evaluate(mod["main"], inputs), rtol=1e-5)


def test_padded_blocks_of_one_element_stay_of_one() -> None:
    x, w = relay.var("x", shape=(2, 16, 6, 7)), relay.var("w", shape=(16, 1, 1, 1))
    y = relay.mean(relay.nn.conv2d(x, w, groups=16), axis=[1], keepdims=True)
    mod = module_of(relay.nn.pad(y, [(0, 0), (1, 0), (1, 0), (0, 0)], pad_value=1.0))
    made = after(mod["main"].body, transform.AlterOpLayout(Target("llvm -mcpu=haswell")))
    inputs = random_inputs(mod)
    np.testing.assert_allclose(evaluate(module_of(made)["main"], inputs), evaluate(mod["main"], inputs), rtol=1e-5)


def test_padding_inside_of_blocks_ends_them() -> None:
    x, w = relay.var("x", shape=(1, 2, 8, 8, 4)), relay.var("w", shape=(2, 2, 3, 3, 4, 4))
    layouts = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i4o"}
    y = relay.nn.conv2d(x, w, channels=8, kernel_size=(3, 3), **layouts)
    padded = relay.nn.pad(y, [(0, 0)] * 4 + [(1, 0)])
    out = relay.add(padded, relay.var("c", shape=(1, 1, 1, 1, 1)))
    assert transforms(after(out, transform.AlterOpLayout(Target("llvm -mcpu=haswell")))) == []
