"""Module paths by which programs import what stands elsewhere here, and what is reached by them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import compiler as tvm
from compiler.classic.alias import install
from compiler.ir.error import DTypeError

install()

MIXED = "tvm.relay.transform.mixed_precision"
PLACES = [
    ("tvm.ir.expr", "Range", "tvm.ir.Range"),
    ("tvm.ir.function", "BaseFunc", "tvm.ir.BaseFunc"),
    ("tvm.ir.tensor_type", "TensorType", "tvm.relay.TensorType"),
    ("tvm.ir.type", "FuncType", "tvm.relay.FuncType"),
    ("tvm.tir.expr", "BufferLoad", "tvm.tir.BufferLoad"),
    ("tvm.tir.function", "TensorIntrin", "tvm.tir.TensorIntrin"),
    ("tvm.tir.schedule.schedule", "ScheduleError", "tvm.tir.ScheduleError"),
    ("tvm.te.operation", "create_prim_func", "tvm.te.create_prim_func"),
    ("tvm.te.tensor", "ComputeOp", "tvm.te.ComputeOp"),
    ("tvm.te.schedule", "IndexMap", "tvm.tir.IndexMap"),
    ("tvm._ffi.registry", "register_object", "tvm.register_object"),
    ("tvm.target.compilation_config", "make_compilation_config", "tvm.target.make_compilation_config"),
    ("tvm.target.target", "create", "tvm.target.create"),
    ("tvm.arith.int_set", "estimate_region_strict_bound", "tvm.arith.estimate_region_strict_bound"),
    ("tvm.script.parser._core", "doc", "tvm.script.parser.core.doc"),
    ("tvm.tir.stmt", "Block", "tvm.tir.Block"),
    ("tvm.tir.stmt", "BlockRealize", "tvm.tir.BlockRealize"),
    ("tvm.tir.transform.transform", "Simplify", "tvm.tir.transform.Simplify"),
    ("tvm.relay.expr", "RefCreate", "tvm.relay.RefCreate"),
    ("tvm.relay.function", "Function", "tvm.relay.Function"),
    ("tvm.relay.op.tensor", "add", "tvm.relay.add"),
    ("tvm.relay.op", "register_mixed_precision_conversion", f"{MIXED}.register_mixed_precision_conversion"),
    ("tvm.relay.op.op", "register_mixed_precision_conversion", f"{MIXED}.register_mixed_precision_conversion"),
    ("tvm.relay.transform", "mangle_module_name", "tvm.relay.backend.utils.mangle_module_name"),
    ("tvm.relay.op.transform", "reshape", "tvm.relay.reshape"),
    ("tvm.relay.op.reduce", "sum", "tvm.relay.sum"),
    ("tvm.relay.transform.transform", "InferType", "tvm.relay.transform.InferType"),
    ("tvm.arith.int_solver", "solve_linear_equations", "tvm.arith.solve_linear_equations"),
    ("tvm.topi.generic.nn", "schedule_pool", "tvm.topi.generic.schedule_pool"),
    ("tvm.topi.nn.conv2d", "conv2d_nchw", "tvm.topi.nn.conv2d_nchw"),
    ("tvm.topi.nn.conv3d", "conv3d_ncdhw", "tvm.topi.nn.conv3d_ncdhw"),
    ("tvm.topi.nn.depthwise_conv2d", "depthwise_conv2d_nchw", "tvm.topi.nn.depthwise_conv2d_nchw"),
    ("tvm.topi.nn.elemwise", "relu", "tvm.topi.nn.relu"),
    ("tvm.topi.nn.winograd_util", "winograd_transform_matrices", "tvm.topi.nn.winograd_transform_matrices"),
    ("tvm.topi.transform", "take", "tvm.topi.take"),
    ("tvm.topi.util", "get_const_tuple", "tvm.topi.utils.get_const_tuple"),
    ("tvm.contrib.util", "tempdir", "tvm.contrib.utils.tempdir"),
    ("tvm.topi.x86.dense", "dense_pack", "tvm.topi.x86.dense_pack"),
    ("tvm.auto_scheduler", "load_best", "tvm.auto_scheduler.load_best_record"),
    ("tvm.auto_scheduler.utils", "request_remote", "compiler.classic.rpc.devices.request_remote"),
    ("tvm.driver.build_module", "form_irmodule", "tvm.driver.build_module.schedule_to_module"),
    ("tvm.relay.op.strategy", "override_native_generic_func", "tvm.target.override_native_generic_func"),
    ("tvm.relay.op.strategy.generic", "override_native_generic_func", "tvm.target.override_native_generic_func"),
    ("tvm.runtime.threads", "set_num_threads", "tvm.runtime.parallel.threads.set_num_threads"),
]


@pytest.mark.parametrize(("module", "name", "public"), PLACES)
def test_a_module_path_leads_to_the_public_object(module: str, name: str, public: str) -> None:
    parent, _, attribute = public.rpartition(".")
    expected = getattr(importlib.import_module(parent), attribute)
    assert getattr(importlib.import_module(module), name) is expected


FUNCTIONS_AND_MODULES = ["nn.conv2d", "nn.dense", "nn.batch_matmul", "nn.dilate", "nn.softmax", "nn.flatten", "sort"]


@pytest.mark.parametrize("path", FUNCTIONS_AND_MODULES)
def test_a_function_is_not_hidden_by_the_module_of_its_name(path: str) -> None:
    package, _, name = f"tvm.topi.{path}".rpartition(".")
    module = importlib.import_module(f"{package}.{name}")
    function = getattr(importlib.import_module(package), name)
    assert isinstance(module, ModuleType)
    assert not isinstance(function, ModuleType)
    assert getattr(module, name) is function
    assert sys.modules[f"{package}.{name}"] is module


def test_a_module_path_that_nothing_stands_for_is_refused() -> None:
    with pytest.raises(ModuleNotFoundError, match="has no attribute 'no_operator'"):
        importlib.import_module("tvm.topi.nn.no_operator")


def test_a_data_type_is_its_name_and_has_parts() -> None:
    kind = tvm.DataType("int32x4")
    assert (kind, kind.bits, kind.lanes, kind.type_code, kind.itemsize()) == ("int32x4", 32, 4, 0, 16)
    assert tvm.DataType("bool").type_code == tvm.DataType("uint8").type_code == 1
    with pytest.raises(DTypeError, match="no_type"):
        tvm.DataType("no_type")


def test_parameters_are_read_back_from_a_file(tmp_path: Path) -> None:
    weights = np.arange(6, dtype="float32").reshape(2, 3)
    tvm.runtime.save_param_dict_to_file({"w": weights}, tmp_path / "model.params")
    [(name, value)] = tvm.runtime.load_param_dict_from_file(tmp_path / "model.params").items()
    assert name == "w"
    np.testing.assert_array_equal(value.numpy(), weights)
