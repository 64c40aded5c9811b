"""Importers that do not exist here: each says how a model of its format becomes one that can be imported."""

from __future__ import annotations

from typing import NoReturn

from compiler.ir.error import UnavailableError

__all__ = [
    "from_caffe",
    "from_caffe2",
    "from_coreml",
    "from_darknet",
    "from_mxnet",
    "from_oneflow",
    "from_paddle",
]

_CONVERTERS = {
    "from_caffe": "Caffe's models are converted to ONNX by caffe2onnx",
    "from_caffe2": "Caffe2's models are converted to ONNX by caffe2.python.onnx",
    "from_coreml": "models of Core ML are converted to ONNX by coremltools and onnxmltools",
    "from_darknet": "Darknet's models are converted to ONNX by tools such as darknet2onnx",
    "from_mxnet": "MXNet saves models as ONNX: mx.onnx.export_model(…)",
    "from_oneflow": "OneFlow's models are converted to ONNX by oneflow_onnx",
    "from_paddle": "Paddle's models are converted to ONNX by paddle2onnx",
}


def _refuse(name: str) -> NoReturn:
    raise UnavailableError(
        f"relay.frontend.{name}: only ONNX is imported here. {_CONVERTERS[name]}; the file is then read by "
        "relay.frontend.from_onnx('model.onnx')"
    )


def from_caffe(*args: object, **kwargs: object) -> NoReturn:
    """Say how Caffe's models can be imported by way of ONNX.

    Parameters
    ----------
    args, kwargs
        Whatever TVM's importer takes.

    Raises
    ------
    UnavailableError
        Always.
    """
    _refuse("from_caffe")


def from_caffe2(*args: object, **kwargs: object) -> NoReturn:
    """Say how Caffe2's models can be imported by way of ONNX.

    Parameters
    ----------
    args, kwargs
        Whatever TVM's importer takes.

    Raises
    ------
    UnavailableError
        Always.
    """
    _refuse("from_caffe2")


def from_coreml(*args: object, **kwargs: object) -> NoReturn:
    """Say how models of Core ML can be imported by way of ONNX.

    Parameters
    ----------
    args, kwargs
        Whatever TVM's importer takes.

    Raises
    ------
    UnavailableError
        Always.
    """
    _refuse("from_coreml")


def from_darknet(*args: object, **kwargs: object) -> NoReturn:
    """Say how Darknet's models can be imported by way of ONNX.

    Parameters
    ----------
    args, kwargs
        Whatever TVM's importer takes.

    Raises
    ------
    UnavailableError
        Always.
    """
    _refuse("from_darknet")


def from_mxnet(*args: object, **kwargs: object) -> NoReturn:
    """Say how MXNet's models can be imported by way of ONNX.

    Parameters
    ----------
    args, kwargs
        Whatever TVM's importer takes.

    Raises
    ------
    UnavailableError
        Always.
    """
    _refuse("from_mxnet")


def from_oneflow(*args: object, **kwargs: object) -> NoReturn:
    """Say how OneFlow's models can be imported by way of ONNX.

    Parameters
    ----------
    args, kwargs
        Whatever TVM's importer takes.

    Raises
    ------
    UnavailableError
        Always.
    """
    _refuse("from_oneflow")


def from_paddle(*args: object, **kwargs: object) -> NoReturn:
    """Say how Paddle's models can be imported by way of ONNX.

    Parameters
    ----------
    args, kwargs
        Whatever TVM's importer takes.

    Raises
    ------
    UnavailableError
        Always.
    """
    _refuse("from_paddle")
