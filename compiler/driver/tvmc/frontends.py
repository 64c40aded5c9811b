"""Reading models of all formats: ``tvmc.load``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.driver.tvmc.errors import TVMCException
from compiler.driver.tvmc.model import TVMCModel
from compiler.ir.error import did_you_mean
from compiler.ir.module import IRModule
from compiler.relay import frontend
from compiler.relay.parser import fromtext
from compiler.runtime.ndarray import NDArray

__all__ = ["FORMATS", "load_model"]

Shapes = Mapping[str, Sequence[int]]
Read = Callable[[str, Shapes | None, Mapping[str, Any]], tuple[IRModule, dict[str, NDArray]]]


@dataclass(frozen=True, slots=True)
class Format:
    """A format of models.

    Attributes
    ----------
    suffixes : tuple of str
        What names of its files end with.
    read : callable
        Takes the path, the shapes of inputs and the options of the importer.
    """

    suffixes: tuple[str, ...]
    read: Read


def _pytorch(path: str, shapes: Shapes | None, options: Mapping[str, Any]) -> tuple[IRModule, dict[str, NDArray]]:
    return frontend.from_pytorch(path, None if shapes is None else list(shapes.items()), **options)


def _relay(path: str, shapes: Shapes | None, options: Mapping[str, Any]) -> tuple[IRModule, dict[str, NDArray]]:
    with open(path, encoding="utf-8") as file:
        return fromtext(file.read()), {}


FORMATS = {
    "onnx": Format((".onnx",), lambda path, shapes, options: frontend.from_onnx(path, shapes, **options)),
    "pytorch": Format((".pt", ".pth", ".pt2"), _pytorch),
    "pb": Format((".pb",), lambda path, shapes, options: frontend.from_tensorflow(path, shape=shapes, **options)),
    "tflite": Format((".tflite",), lambda path, shapes, options: frontend.from_tflite(path, shapes, **options)),
    "keras": Format((".h5", ".keras"), lambda path, shapes, options: frontend.from_keras(path, shapes, **options)),
    "relay": Format((".relay",), _relay),
}
"""The formats by name."""


def load_model(
    path: str | os.PathLike[str],
    model_format: str | None = None,
    shape_dict: Shapes | None = None,
    **kwargs: object,
) -> TVMCModel:
    """Read a model from a file.

    Parameters
    ----------
    path : str or path
    model_format : str, optional
        ``onnx``, ``pytorch``, ``pb``, ``tflite``, ``keras`` or ``relay``; the file's name tells when left out.
    shape_dict : mapping of str to sequence of int, optional
        Shapes of inputs.
    **kwargs
        Options of the importer, e.g. ``freeze_params``.

    Returns
    -------
    TVMCModel

    Raises
    ------
    TVMCException
        If there is no such file or format, or the file's name tells none.

    Examples
    --------
    >>> model = tvmc.load("mobilenet.onnx")
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise TVMCException(f"tvmc.load: there is no file {name!r}")
    chosen = _format_of(name) if model_format is None else FORMATS.get(model_format)
    if chosen is None:
        hint = did_you_mean(model_format or "", FORMATS)
        raise TVMCException(f"tvmc.load: model_format must be one of {', '.join(FORMATS)}, got {model_format!r}{hint}")
    mod, params = chosen.read(name, shape_dict, kwargs)
    return TVMCModel(mod, params)


def _format_of(path: str) -> Format:
    """Return the format that the name of a file tells."""
    for candidate in FORMATS.values():
        if path.endswith(candidate.suffixes):
            return candidate
    suffixes = ", ".join(s for f in FORMATS.values() for s in f.suffixes)
    raise TVMCException(
        f"tvmc.load: the name of {path!r} tells no format ({suffixes}); give model_format=, one of {', '.join(FORMATS)}"
    )
