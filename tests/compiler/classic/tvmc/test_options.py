"""What the command line of tvmc understands: shapes, targets, options of passes, executors, layouts, precision."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

from compiler.classic import tvmc
from compiler.classic.tvmc import autotuner, frontends, runner
from compiler.classic.tvmc.composite_target import get_codegen_by_target, get_codegen_names
from compiler.classic.tvmc.main import main
from compiler.classic.tvmc.pass_config import parse_configs
from compiler.classic.tvmc.pass_list import parse_pass_list_str
from compiler.classic.tvmc.registry import generate_registry_args, reconstruct_registry_entity
from compiler.classic.tvmc.result_utils import get_top_results
from compiler.classic.tvmc.shape_parser import parse_shape_string
from compiler.classic.tvmc.target import (
    generate_target_args,
    is_inline_json,
    parse_target,
    reconstruct_target_args,
    target_from_cli,
    tokenize_target,
)
from compiler.classic.tvmc.tracker import tracker_host_port_from_cli
from compiler.classic.tvmc.transform import apply_graph_transforms, convert_graph_layout, convert_to_mixed_precision
from compiler.driver.relay.options import Executor, Runtime
from compiler.ir.expr.scalars import AnyDim
from compiler.ir.module import IRModule
from compiler.relay.parser import fromtext
from compiler.runtime.arrays.ndarray import array

_DENSE = fromtext("""
#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %w: Tensor[(4, 3), float32]) { nn.relu(nn.dense(%x, %w, units=None)) }
""")
_CONV = fromtext("""
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32]) {
  nn.conv2d(%x, %w, padding=[1, 1], channels=4, kernel_size=[3, 3])
}
""")


def test_shapes_are_read() -> None:
    assert parse_shape_string("a:[1, 2]  b/c:0:[3]") == {"a": [1, 2], "b/c:0": [3]}
    assert parse_shape_string("a:[10,10]\nb:[2]") == {"a": [10, 10], "b": [2]}
    unknown = parse_shape_string("a:[-1,3]")["a"]
    assert isinstance(unknown[0], AnyDim)
    for wrong in ("", "a", "a:3", "a:[]", "a:[1", "a:[?]", ":[1]"):
        with pytest.raises(argparse.ArgumentTypeError):
            parse_shape_string(wrong)


def test_targets_are_read() -> None:
    assert tokenize_target("foo -a='x,y' --flag, llvm") == ["foo", "-a='x,y'", "--flag", ",", "llvm"]
    first, last = parse_target("foo -a='x y' --flag, llvm -mcpu=core-avx2")
    assert (first["name"], first["opts"], first["is_tvm_target"]) == ("foo", {"a": "x y", "flag": True}, False)
    assert (last["raw"], last["is_tvm_target"]) == ("llvm -mcpu=core-avx2", True)
    target, others = target_from_cli("foo, llvm", {"llvm": {"mcpu": "skylake"}})
    assert target.attrs["mcpu"] == "skylake"
    assert [part["name"] for part in others] == ["foo"]
    assert target_from_cli("opencl, llvm")[0].host is not None
    assert is_inline_json('{"kind": "llvm"}')
    assert target_from_cli('{"kind": "llvm"}')[0].kind.name == "llvm"
    for wrong in ("foo", "", "llvm, llvm", "c, llvm, cuda"):
        with pytest.raises(tvmc.TVMCException):
            target_from_cli(wrong)
    with pytest.raises(tvmc.TVMCException):
        target_from_cli("llvm", {"c": {"mcpu": "x"}})
    assert get_codegen_names() == []
    with pytest.raises(tvmc.TVMCException):
        get_codegen_by_target("foo")


def test_options_of_targets_are_arguments() -> None:
    parser = argparse.ArgumentParser()
    generate_target_args(parser)
    given = parser.parse_args(["--target=llvm", "--target-llvm-mcpu=cortex-a72", "--target-c-device=x"])
    assert reconstruct_target_args(given) == {"llvm": {"mcpu": "cortex-a72"}, "c": {"device": "x"}}


def test_options_of_passes_are_read() -> None:
    given = ["tir.disable_vectorize=true", "relay.FuseOps.max_depth=3"]
    assert parse_configs(given) == {"tir.disable_vectorize": True, "relay.FuseOps.max_depth": 3}
    assert parse_configs(None) == {}
    assert parse_configs(["tir.add_lower_pass=1,math.sqrt"])["tir.add_lower_pass"][0][0] == 1
    for wrong in ("a", "nope=1", "tir.disable_vectorize=two", "tir.UnrollLoop={}", "tir.add_lower_pass=a"):
        with pytest.raises(tvmc.TVMCException):
            parse_configs([wrong])
    for wrong in ("tir.add_lower_pass=1,math.nothing", "tir.add_lower_pass=1,no_such_module.f"):
        with pytest.raises(tvmc.TVMCException, match="No "):
            parse_configs([wrong])
    assert parse_pass_list_str("FoldConstant,AlterOpLayout") == ["FoldConstant", "AlterOpLayout"]
    assert parse_pass_list_str("") == [""]
    with pytest.raises(argparse.ArgumentTypeError, match="MyPass"):
        parse_pass_list_str("FoldConstant,MyPass")


def test_executors_and_runtimes_are_read() -> None:
    parser = argparse.ArgumentParser()
    generate_registry_args(parser, Executor, "graph")
    generate_registry_args(parser, Runtime)
    assert str(reconstruct_registry_entity(parser.parse_args([]), Executor)) == "graph"
    assert reconstruct_registry_entity(parser.parse_args([]), Runtime) is None
    aot = ["--executor=aot", "--executor-aot-unpacked-api=1", "--executor-aot-interface-api=c"]
    made = reconstruct_registry_entity(parser.parse_args(aot), Executor)
    assert made is not None
    assert (made["unpacked-api"], made["interface-api"]) == (True, "c")
    for wrong in (["--executor=noise"], ["--executor=graph", *aot[1:]]):
        with pytest.raises(tvmc.TVMCException):
            reconstruct_registry_entity(parser.parse_args(wrong), Executor)


def test_layouts_and_precision_of_graphs() -> None:
    assert 'data_layout="NHWC"' in convert_graph_layout(_CONV, "NHWC").astext()
    assert 'kernel_layout="HWIO"' in convert_graph_layout(_CONV, ["NHWC:HWIO"], ["nn.conv2d"]).astext()
    with pytest.raises(tvmc.TVMCException, match="Expected 1 or 1 layouts but got 2"):
        convert_graph_layout(_CONV, ["NHWC", "NCHW"], ["nn.conv2d"])
    halved = convert_to_mixed_precision(_DENSE).astext()
    assert 'out_dtype="float16"' in halved
    summed = convert_to_mixed_precision(_DENSE, acc_type="float32").astext()
    assert 'out_dtype="float32"' in summed
    with pytest.raises(tvmc.TVMCException):
        convert_to_mixed_precision(_DENSE, acc_type="mixed")
    # what was registered for a call is gone after it
    assert convert_to_mixed_precision(_DENSE).astext() == halved
    assert apply_graph_transforms(_DENSE, {}) is _DENSE
    assert apply_graph_transforms(_DENSE, {"mixed_precision": True}).astext() == halved


def test_what_is_known_of_formats() -> None:
    assert {"keras", "onnx", "pb", "tflite", "pytorch", "relay"} == set(frontends.get_frontend_names())
    for path, name in (("a.tflite", "tflite"), ("k.h5", "keras"), ("m.pth", "pytorch"), ("x.relay", "relay")):
        assert frontends.guess_frontend(path).name() == name
    assert "onnx" in frontends.get_frontend_by_name("onnx").suffixes()
    for refused in (lambda: frontends.guess_frontend("a.xyz"), lambda: frontends.get_frontend_by_name("noise")):
        with pytest.raises(tvmc.TVMCException):
            refused()


def test_inputs_are_described_and_filled() -> None:
    model = tvmc.TVMCModel(_DENSE, {"w": array(np.ones((4, 3), "float32"))})
    package = tvmc.compile(model)
    assert package.graph is not None
    assert runner.get_input_info(package.graph, package.params) == ({"x": (2, 3)}, {"x": "float32"})
    np.testing.assert_array_equal(runner.generate_tensor_data((2,), "int32", "ones"), [1, 1])
    with pytest.raises(tvmc.TVMCException, match="unknown fill-mode"):
        runner.generate_tensor_data((2,), "int32", "noise")
    result = tvmc.run(package, inputs={"x": np.array([[1, 2, 3], [4, 5, 6]], "float32")}, benchmark=False)
    top = get_top_results(result, 4)
    assert sorted(top[0]) == [4, 5, 6, 7]
    np.testing.assert_array_equal(top[1], [15] * 4)


def test_the_address_of_a_tracker() -> None:
    assert tracker_host_port_from_cli("10.0.0.1") == ("10.0.0.1", 9090)
    assert tracker_host_port_from_cli("10.0.0.1:77") == ("10.0.0.1", 77)
    assert tracker_host_port_from_cli(None) == (None, None)
    with pytest.raises(tvmc.TVMCException):
        tracker_host_port_from_cli("host:port")


def test_tasks_are_chosen_by_number() -> None:
    assert autotuner.filter_tasks("abcdef", "all") == (list("abcdef"), False)
    assert autotuner.filter_tasks("abcdef", "0,2-3") == (["a", "c", "d"], False)
    assert autotuner.filter_tasks("ab", "list") == (["a", "b"], True)
    for wrong in ("x", "7", ":3"):
        with pytest.raises(tvmc.TVMCException):
            autotuner.filter_tasks("ab", wrong)
    tasks = autotuner.autotvm_get_tuning_tasks(_DENSE, {}, "llvm")
    assert "  0. Task(" in autotuner.gen_task_list(tasks, False)
    searched, weights = autotuner.autoscheduler_get_tuning_tasks(_DENSE, {}, "llvm")
    assert len(searched) == len(weights) == 1


def test_tasks_are_listed_without_a_search(capsys: pytest.CaptureFixture[str]) -> None:
    assert tvmc.tune(tvmc.TVMCModel(_DENSE), tasks_filter="list") is None
    assert "Available Tasks" in capsys.readouterr().out


def test_a_program_of_the_virtual_machine_is_a_package(tmp_path: Path) -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(?, 3), float32]) { (nn.relu(%x), sum(%x, axis=[0])) }'
    model = tvmc.TVMCModel(IRModule.from_expr(fromtext(text)["main"]))
    package = tvmc.compile(model, use_vm=True, package_path=tmp_path / "program.tar")
    assert package.type == "vm"
    data = np.array([[-1, 2, 3], [4, -5, 6]], "float32")
    result = tvmc.run(tvmc.TVMCPackage(tmp_path / "program.tar"), inputs={"x": data}, number=1, repeat=2)
    np.testing.assert_array_equal(result.outputs["output_0"], np.maximum(data, 0))
    np.testing.assert_array_equal(result.outputs["output_1"], data.sum(0))
    assert len(result.times.results) == 2
    with pytest.raises(tvmc.TVMCException, match="needs all of its inputs"):
        tvmc.run(package)


def test_options_reach_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "conv.relay").write_text(_CONV.astext())
    package = str(tmp_path / "conv.tar")
    given = ["--desired-layout", "NHWC", "--desired-layout-ops", "nn.conv2d", "--mixed-precision", "--executor=graph"]
    more = ["--target-llvm-mcpu=core-avx2", "--pass-config", "tir.disable_vectorize=true", "--dump-code=relay"]
    assert main(["compile", str(tmp_path / "conv.relay"), "-o", package, "-O2", *given, *more]) == 0
    shown = Path(f"{package}.relay").read_text()
    assert 'data_layout="NHWC"' in shown
    assert "float16" in shown


def test_the_version_and_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip()
    assert main([]) == 1
