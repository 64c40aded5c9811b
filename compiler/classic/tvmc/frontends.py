"""``tvmc.load``: reads models of all formats."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compiler.classic.frontend.keras import from_keras
from compiler.classic.frontend.tensorflow import from_tensorflow
from compiler.classic.frontend.tflite import from_tflite
from compiler.classic.tvmc.errors import TVMCException
from compiler.classic.tvmc.model import TVMCModel
from compiler.ir.error import did_you_mean
from compiler.ir.module import IRModule
from compiler.relay import frontend
from compiler.relay.parser import fromtext
from compiler.runtime.arrays.ndarray import NDArray

Shapes = Mapping[str, Sequence[int]]
Read = Callable[[str, Shapes | None, Mapping[str, Any]], tuple[IRModule, dict[str, NDArray]]]


@dataclass(frozen=True, slots=True)
class Frontend:
    """What reads a format of models, known by the endings of files' names.

    ``read`` takes the path, the shapes of inputs and the options of the importer.
    """

    format: str
    endings: tuple[str, ...]
    read: Read

    def name(self) -> str:
        """Return the name of the format."""
        return self.format

    def suffixes(self) -> list[str]:
        """Return the endings of the names of its files, without their dots."""
        return [ending.removeprefix(".") for ending in self.endings]

    def load(
        self, path: str | os.PathLike[str], shape_dict: Shapes | None = None, **kwargs: object
    ) -> tuple[IRModule, dict[str, NDArray]]:
        """Read a model; ``shape_dict`` has shapes of inputs."""
        return self.read(os.fspath(path), shape_dict, kwargs)


def _pytorch(path: str, shapes: Shapes | None, options: Mapping[str, Any]) -> tuple[IRModule, dict[str, NDArray]]:
    return frontend.from_pytorch(path, None if shapes is None else list(shapes.items()), **options)


def _relay(path: str, shapes: Shapes | None, options: Mapping[str, object]) -> tuple[IRModule, dict[str, NDArray]]:
    with open(path, encoding="utf-8") as file:
        return fromtext(file.read()), {}


FORMATS = {
    frontend_.format: frontend_
    for frontend_ in (
        Frontend("keras", (".h5", ".keras"), lambda path, shapes, given: from_keras(path, shapes, **given)),
        Frontend("onnx", (".onnx",), lambda path, shapes, given: frontend.from_onnx(path, shapes, **given)),
        Frontend("pb", (".pb",), lambda path, shapes, given: from_tensorflow(path, shape=shapes, **given)),
        Frontend("tflite", (".tflite",), lambda path, shapes, given: from_tflite(path, shapes, **given)),
        Frontend("pytorch", (".pt", ".pth", ".pt2", ".zip"), _pytorch),
        Frontend("relay", (".relay",), _relay),
    )
}
"""The formats by name."""


def get_frontend_names() -> list[str]:
    """Return the names of all formats."""
    return list(FORMATS)


def get_frontend_by_name(name: str) -> Frontend:
    """Return what reads a format."""
    if name not in FORMATS:
        hint = did_you_mean(name, FORMATS)
        raise TVMCException(f"unrecognized frontend '{name}'. Choose from: {', '.join(FORMATS)}{hint}")
    return FORMATS[name]


def guess_frontend(path: str | os.PathLike[str]) -> Frontend:
    """Return what reads a file, as its name tells."""
    name = os.fspath(path)
    for candidate in FORMATS.values():
        if name.endswith(candidate.endings):
            return candidate
    endings = ", ".join(ending for candidate in FORMATS.values() for ending in candidate.endings)
    raise TVMCException(
        f"failed to infer the model format: the name of {name!r} has none of {endings}."
        f" Please specify --model-format, one of {', '.join(FORMATS)}"
    )


def load_model(
    path: str | os.PathLike[str], model_format: str | None = None, shape_dict: Shapes | None = None, **kwargs: object
) -> TVMCModel:
    """Read a model from a file; ``shape_dict`` has shapes of inputs.

    Raises TVMCException if there is no such file, or its format is not known.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise TVMCException(f"tvmc.load: there is no file {name!r}")
    chosen = guess_frontend(name) if model_format is None else get_frontend_by_name(model_format)
    mod, params = chosen.load(name, shape_dict, **kwargs)
    return TVMCModel(mod, params)
