"""Devices: what is said of a few expressions decides where all the others are."""

import numpy as np
import pytest

import compiler as tvm
from compiler import relay
from compiler.ir.error import BuildError
from compiler.target import Target, VirtualDevice, make_compilation_config

CPU, GPU = VirtualDevice(tvm.cpu()), VirtualDevice(tvm.cuda())
TARGETS = [Target("llvm"), Target("cuda")]
TABLE = {"VirtualDevice": [CPU, GPU]}


def _config(fallback=GPU):
    context = tvm.transform.PassContext(config={"relay.fallback_device_type": fallback.device_type_int})
    return make_compilation_config(context, TARGETS, Target("llvm"))


def _parse(text):
    return relay.parse('#[version = "0.0.5"]\n' + text, "from_string", None, TABLE)


def _planned(text, config=tvm.cuda()):  # noqa: B008
    return relay.transform.PlanDevices(config)(_parse(text))


def _check(before, after):
    """In the older form, and once more over the result, which does not change."""
    expected = _parse(after)
    tvm.ir.assert_structural_equal(_planned(before), expected)
    tvm.ir.assert_structural_equal(relay.transform.PlanDevices(tvm.cuda())(expected), expected)


def test_everything_is_on_the_default_device():
    _check(
        "def @main(%a: Tensor[(5), float32]) { exp(%a) }",
        "def @main(%a: Tensor[(5), float32], param_device_types=[2], result_device_type=2) { exp(%a) }",
    )


def test_an_operator_is_where_its_operands_are_and_what_leaves_the_device_is_copied():
    _check(
        "def @main(%a: Tensor[(5), float32], %b: Tensor[(5), float32]) {"
        " %0 = on_device(exp(%a), device_type=1); add(%0, log(%b)) }",
        "def @main(%a: Tensor[(5), float32], %b: Tensor[(5), float32],"
        " param_device_types=[1, 2], result_device_type=2) {"
        " %0 = on_device(exp(%a), device_type=1, is_fixed=True);"
        " add(device_copy(%0, src_dev_type=1, dst_dev_type=2), log(%b)) }",
    )


def test_devices_pass_through_functions_and_back():
    _check(
        "def @main(%a: Tensor[(5), float32], %b: Tensor[(5), float32]) {"
        " let %f = fn (%x: Tensor[(5), float32]) { exp(%x) };"
        " add(on_device(%f(%a), device_type=1), %b) }",
        "def @main(%a: Tensor[(5), float32], %b: Tensor[(5), float32],"
        " param_device_types=[1, 2], result_device_type=2) {"
        " let %f = fn (%x: Tensor[(5), float32], param_device_types=[1], result_device_type=1) { exp(%x) };"
        " add(device_copy(on_device(%f(%a), device_type=1, is_fixed=True), src_dev_type=1, dst_dev_type=2), %b) }",
    )


def test_elements_are_taken_before_they_are_copied():
    _check(
        "def @main(%a: Tensor[(4), float32]) {"
        " let %t = split(%a, indices_or_sections=2);"
        " %0 = on_device(%t, device_type=1); on_device(exp(%0.0), device_type=2) }",
        "def @main(%a: Tensor[(4), float32], param_device_types=[1], result_device_type=2) {"
        " let %t = split(%a, indices_or_sections=2);"
        " exp(device_copy(on_device(%t.0, device_type=1, is_fixed=True), src_dev_type=1, dst_dev_type=2)) }".replace(
            "= split(%a, indices_or_sections=2)",
            "= on_device(split(%a, indices_or_sections=2), device_type=1, is_fixed=True)",
        ),
    )


def test_functions_in_tuples_are_on_one_device():
    mod = _planned(
        "def @main(%a: Tensor[(5), float32]) {"
        " let %f = fn (%x: Tensor[(5), float32]) { on_device(exp(%x), device_type=1) };"
        " %t = (%f, %a); %0 = %t.0; %0(%t.1) }"
    )
    assert "param_device_types=[1], result_device_type=1" in str(mod)
    assert "device_copy" not in str(mod)


def test_conditions_are_computed_on_the_host():
    mod = _planned("def @main(%c: bool, %a: Tensor[(5), float32]) { if (%c) { exp(%a) } else { %a } }")
    assert list(mod["main"].attrs["param_device_types"]) == [1, 2]


def test_what_would_have_to_be_on_two_devices_is_refused():
    with pytest.raises(BuildError, match=r"would have to be on both VirtualDevice\(device_type=.*device_copy"):
        _planned(
            "def @main(%a: Tensor[(5), float32]) {"
            " %0 = on_device(%a, device_type=1, is_fixed=True); %1 = on_device(%a, device_type=2, is_fixed=True);"
            " (%0, %1) }"
        )


def test_virtual_devices_have_the_targets_of_the_configuration():
    mod = _planned(
        "def @main(%a: Tensor[(5), float32]) { exp(on_device(%a, virtual_device=meta[VirtualDevice][0])) }", _config()
    )
    (param,), result = mod["main"].attrs["param_virtual_devices"], mod["main"].attrs["result_virtual_device"]
    assert (param.device_type, str(param.target.kind)) == (1, "llvm")
    assert (result.device_type, str(result.target.kind)) == (2, "cuda")


def test_texts_with_virtual_devices_are_read_back():
    text = (
        "def @main(%a {virtual_device=meta[VirtualDevice][0]}: Tensor[(5), float32],"
        " virtual_device=meta[VirtualDevice][1]) {"
        " device_copy(%a, src_virtual_device=meta[VirtualDevice][0], dst_virtual_device=meta[VirtualDevice][1]) }"
    )
    mod = _parse(text)
    assert mod["main"].attrs["result_virtual_device"] == GPU
    printed = mod.astext()
    assert "%a {virtual_device=VirtualDevice(device_type=1, virtual_device_id=0)}" in printed
    tvm.ir.assert_structural_equal(relay.parse(printed), mod)
    other = _parse(text.replace("[0]}", "[1]}"))
    assert not tvm.ir.structural_equal(mod, other)


def test_planned_modules_with_targets_are_read_back():
    mod = _planned("def @main(%a: Tensor[(5), float32]) { exp(on_device(%a, device_type=1)) }", _config())
    tvm.ir.assert_structural_equal(relay.parse(mod.astext()), mod)


def test_planned_modules_are_written_and_read_as_json():
    mod = _planned("def @main(%a: Tensor[(5), float32]) { exp(%a) }", _config())
    read = tvm.ir.load_json(tvm.ir.save_json(mod))
    tvm.ir.assert_structural_equal(read, mod)
    assert read["main"].attrs["result_virtual_device"] == mod["main"].attrs["result_virtual_device"]


def test_the_default_device_is_the_fallback_then_the_only_target_then_the_cpu():
    context = tvm.transform.PassContext()
    assert _config().default_primitive_virtual_device.device_type == 2
    assert make_compilation_config(context, [Target("cuda")], Target("llvm")).default_primitive_virtual_device == (
        VirtualDevice(tvm.cuda(), Target("cuda"))
    )
    several = make_compilation_config(context, TARGETS, Target("llvm"))
    assert several.default_primitive_virtual_device.device_type == 1
    assert several.optional_homogenous_target is None


def test_devices_agree_where_one_leaves_open_what_the_other_says():
    assert CPU.joined(VirtualDevice(None, "llvm", "global")) == VirtualDevice(tvm.cpu(), "llvm", "global")
    assert CPU.joined(GPU) is None
    assert str(VirtualDevice()) == "VirtualDevice(?)"


def test_planned_programs_compute_the_same():
    text = (
        "def @main(%a: Tensor[(5), float32], %b: Tensor[(5), float32]) {"
        " %0 = on_device(exp(%a), device_type=2); add(%0, %b) }"
    )
    mod = _planned(text, tvm.cpu())
    assert "device_copy" in str(mod)
    a, b = (np.random.default_rng(i).standard_normal(5).astype("float32") for i in range(2))
    result = relay.create_executor("debug", mod=mod).evaluate()(a, b)
    np.testing.assert_allclose(result.numpy(), np.exp(a) + b, rtol=1e-6)


def test_devices_of_a_function_are_read_as_numbers_of_kinds_too():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    plain = relay.Function([x, y], relay.add(x, y))
    func = relay.annotation.function_on_device(plain, ["cpu", "cuda"], "cuda")
    assert [device.device_type for device in func.attrs["param_virtual_devices"]] == [1, 2]
    assert list(func.attrs["param_device_types"]) == [1, 2]
    assert func.attrs["result_device_type"] == 2
    assert set(func.attrs) == {"param_virtual_devices", "result_virtual_device"}
    assert "param_device_types" not in plain.attrs
    with pytest.raises(KeyError):
        plain.attrs["result_device_type"]


def _check_newer(before, after):
    """In the form with virtual devices, whose targets the configuration gives."""
    planned = _planned(before, _config())
    tvm.ir.assert_structural_equal(planned, relay.transform.PlanDevices(_config())(_parse(after)))
    return planned


def test_values_of_lets_are_marked_in_the_form_with_virtual_devices():
    planned = _check_newer(
        "def @main(%a: Tensor[(5), float32]) { let %l = exp(%a); negative(%l) }",
        "def @main(%a: Tensor[(5), float32]) {"
        " let %l = on_device(exp(%a), virtual_device=meta[VirtualDevice][1], constrain_result=True); negative(%l) }",
    )
    value = planned["main"].body.value
    assert (value.op.name, value.attrs.virtual_device.device_type) == ("on_device", 2)
    variable = _planned("def @main(%a: Tensor[(5), float32]) { let %l = %a; negative(%l) }", _config())
    assert isinstance(variable["main"].body.value, relay.Var), "a variable is known to be on its device"


def test_a_fused_function_does_not_tie_its_arguments_to_its_result():
    mod = _planned(
        "def @main(%a: Tensor[(5), float32], %b: Tensor[(5), float32]) {"
        " let %f = fn (%u: Tensor[(5), float32], Primitive=1) -> Tensor[(5), float32] { exp(%u) };"
        " add(on_device(%f(%a), virtual_device=meta[VirtualDevice][0]), %b) }",
        _config(),
    )
    assert [device.device_type for device in mod["main"].attrs["param_virtual_devices"]] == [2, 2]


def test_a_match_is_where_the_value_that_it_takes_apart_is():
    mod = _planned(
        "type Box { Box(Tensor[(5), float32]) }"
        " def @main(%b: Box, %y: Tensor[(5), float32]) {"
        " match (%b) { Box(%h) => add(on_device(%h, virtual_device=meta[VirtualDevice][0]), %y) } }",
        _config(),
    )
    attrs = mod["main"].attrs
    assert [device.device_type for device in attrs["param_virtual_devices"]] == [1, 1]
    assert attrs["result_virtual_device"].device_type == 1


def test_arguments_of_lowered_functions_are_where_the_functions_need_them():
    mod = _planned(
        "def @g(%x {virtual_device=meta[VirtualDevice][0]}: Tensor[(5), float32],"
        " virtual_device=meta[VirtualDevice][1]) -> Tensor[(5), float32] {"
        " device_copy(%x, src_virtual_device=meta[VirtualDevice][0], dst_virtual_device=meta[VirtualDevice][1]) }"
        " def @main(%a: Tensor[(5), float32]) -> Tensor[(5), float32] { call_lowered(@g, (%a,)) }",
        _config(),
    )
    attrs = mod["main"].attrs
    assert [device.device_type for device in attrs["param_virtual_devices"]] == [1]
    assert attrs["result_virtual_device"].device_type == 2
