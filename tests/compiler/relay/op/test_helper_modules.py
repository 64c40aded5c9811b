"""Modules of helpers that programs import by their own paths."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import compiler as tvm
from compiler import relay, te, topi
from compiler.classic.alias import install

install()


def names(module: str, *wanted: str) -> list[Any]:
    found = importlib.import_module(module)
    return [getattr(found, name) for name in wanted]


AffineType, TensorAffineType = names("tvm.ir.affine_type", "AffineType", "TensorAffineType")
op_attrs: Any = importlib.import_module("tvm.relay.op.op_attrs")
get_pad_tuple1d, get_pad_tuple2d, get_pad_tuple3d = names(
    "tvm.relay.op.nn.utils", "get_pad_tuple1d", "get_pad_tuple2d", "get_pad_tuple3d"
)
get_conv2d_in_channels, get_conv2d_out_channels, is_depthwise_conv2d = names(
    "tvm.relay.op.strategy.generic", "get_conv2d_in_channels", "get_conv2d_out_channels", "is_depthwise_conv2d"
)
(TensorIntrinCall,) = names("tvm.te.tensor", "TensorIntrinCall")
Workload, _get_workload = names("tvm.topi.nn.conv2d", "Workload", "_get_workload")
infer_pad, infer_stride = names("tvm.topi.nn.utils", "infer_pad", "infer_stride")
intel_graphics, riscv_cpu = names("tvm.target.target", "intel_graphics", "riscv_cpu")


def test_attributes_are_of_named_classes() -> None:
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    assert isinstance(relay.nn.conv2d(x, w).attrs, op_attrs.Conv2DAttrs)
    assert isinstance(relay.topk(x, 2).tuple_value.attrs, op_attrs.TopkAttrs)
    with pytest.raises(AttributeError, match="no attribute 'NoSuchAttrs'"):
        _ = op_attrs.NoSuchAttrs


def test_padding_of_operators() -> None:
    assert get_pad_tuple1d(1) == (1, 1)
    assert get_pad_tuple2d((1, 2)) == (1, 2, 1, 2)
    assert get_pad_tuple3d((1, 2, 3, 4, 5, 6)) == (1, 2, 3, 4, 5, 6)
    with pytest.raises(ValueError, match="Size of padding can only be 2 or 4"):
        get_pad_tuple2d((1, 2, 3))


def test_channels_in_any_layout() -> None:
    assert get_conv2d_in_channels((1, 2, 8, 8, 8), "NCHW8c") == 16
    assert get_conv2d_out_channels((2, 1, 3, 3, 1, 8), "OIHW1i8o") == 16
    assert is_depthwise_conv2d((1, 8, 8, 16), "NHWC", (3, 3, 16, 1), "HWOI", 16)
    assert not is_depthwise_conv2d((1, 16, 8, 8), "NCHW", (16, 8, 3, 3), "OIHW", 2)
    with pytest.raises(ValueError, match="data_layout"):
        get_conv2d_in_channels((1, 2, 3, 4), "XYZW")
    with pytest.raises(ValueError, match="kernel_layout"):
        get_conv2d_out_channels((1, 2, 3, 4), "XYZW")


def test_the_numbers_of_a_convolution() -> None:
    data, kernel = te.placeholder((1, 16, 32, 32)), te.placeholder((32, 8, 3, 5))
    found = _get_workload(data, kernel, (2, 1), (0, 1), 1, "int32")
    assert isinstance(found, Workload)
    assert found[:9] == ("float32", "int32", 32, 32, 16, 2, 32, 3, 5)
    assert found[9:] == (0, 1, 0, 1, 1, 1, 2, 1)
    last = _get_workload(te.placeholder((1, 32, 32, 16)), te.placeholder((3, 5, 8, 32)), 1, 1, 1, "int32", "NHWC")
    assert last[2:9] == found[2:9]
    with pytest.raises(ValueError, match="data_layout"):
        _get_workload(data, kernel, 1, 1, 1, "int32", "CHWN")


def test_padding_and_strides_are_inferred() -> None:
    data, kernel = te.placeholder((1, 16, 32, 32)), te.placeholder((32, 16, 3, 3))
    padded = topi.nn.pad(data, (0, 0, 1, 2), (0, 0, 1, 2))
    assert infer_pad(data, padded) == (1, 2)
    assert infer_pad(data, None) == (0, 0)
    assert infer_stride(data, kernel, te.placeholder((1, 32, 15, 15))) == (2, 2)


def test_other_names_by_their_paths() -> None:
    assert issubclass(TensorAffineType, AffineType)
    assert issubclass(tvm.error.RPCSessionTimeoutError, TimeoutError)
    assert TensorIntrinCall.__name__ == "TensorIntrinCall"
    assert intel_graphics().kind.name == "opencl"
    assert riscv_cpu().mcpu == "sifive-u54"
