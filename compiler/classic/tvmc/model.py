"""The objects that tvmc commands exchange: models, packages and results."""

from __future__ import annotations

import os
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, TextIO

import numpy as np

from compiler.classic.tvmc.errors import TVMCException
from compiler.driver.relay.aot.factory import AOTExecutorFactoryModule
from compiler.driver.relay.build import BuiltGraph
from compiler.ir.module import IRModule
from compiler.ir.serialization.json_format import load_json, save_json
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.arrays.params import load_param_dict, save_param_dict
from compiler.runtime.modules.library import load_module
from compiler.runtime.numpy_types import NumPyArray
from compiler.runtime.timing.measurement import BenchmarkResult
from compiler.runtime.vm.executable import Executable

_MODEL_FILES = ("model.json", "model.params")
_LIBRARY, _GRAPH, _PARAMS = "mod.so", "mod.json", "mod.params"
_CODE, _KERNELS = "consts_and_code.ro", "lib.so"


class TVMCModel:
    """A model as a graph, with its parameters."""

    def __init__(
        self,
        mod: IRModule | None = None,
        params: dict[str, NDArray] | None = None,
        model_path: str | os.PathLike[str] | None = None,
    ) -> None:
        if (mod is None) == (model_path is None):
            raise TVMCException("TVMCModel: give either mod or model_path")
        if mod is None:
            mod, params = _read_model(os.fspath(model_path or ""))
        self.mod = mod
        self.params = params or {}
        self._directory = tempfile.TemporaryDirectory(prefix="tvmc-")

    def save(self, model_path: str | os.PathLike[str]) -> None:
        """Write graph and parameters to a file, for ``TVMCModel(model_path=…)``."""
        contents = (save_json(self.mod).encode(), bytes(save_param_dict(self.params)))
        _write_tar(os.fspath(model_path), dict(zip(_MODEL_FILES, contents, strict=True)))

    def default_tuning_records_path(self) -> str:
        """Return where records of a search would be kept."""
        return os.path.join(self._directory.name, "tuning_records.json")

    def default_package_path(self) -> str:
        """Return where ``tvmc.compile`` writes the package of this model when it is not told."""
        return os.path.join(self._directory.name, "module.tar")

    def summary(self, file: TextIO | None = None) -> None:
        """Print the graph as text."""
        print(self.mod.astext(show_meta_data=False), file=file or sys.stdout)

    def export_package(
        self,
        executor_factory: BuiltGraph | AOTExecutorFactoryModule | Executable,
        package_path: str | os.PathLike[str] | None = None,
        cross: str | Callable[..., object] | None = None,
        cross_options: str | None = None,
        output_format: str = "so",
    ) -> str:
        """Write a compiled model to a package: library, graph and parameters, packed (``tar``) or not (``so``).

        The library is linked by the compiler ``cross`` with options that spaces separate. Raises TVMCException if
        another format is asked for.
        """
        path = os.fspath(package_path or self.default_package_path())
        linking: dict[str, Any] = {"fcompile" if callable(cross) else "cc": cross or None}
        linking["options"] = cross_options.split() if cross_options else None
        if output_format not in ("tar", "so"):
            raise TVMCException(f"export_package: output_format must be 'tar' or 'so', got {output_format!r}")
        if isinstance(executor_factory, Executable):
            return self.export_vm_format(executor_factory, path, **linking)
        library = os.path.join(self._directory.name, _LIBRARY)
        executor_factory.export_library(library, **linking)
        with open(library, "rb") as file:
            machine_code = file.read()
        parts = {
            _LIBRARY: machine_code,
            _GRAPH: (executor_factory.get_executor_config() or "").encode(),
            _PARAMS: bytes(save_param_dict(executor_factory.get_params())),
        }
        _write_tar(path, parts)
        return path

    def export_vm_format(
        self,
        vm_exec: Executable,
        package_path: str | os.PathLike[str] | None = None,
        lib_format: str = "so",
        **linking: Any,
    ) -> str:
        """Write a program of the virtual machine to a package; ``linking`` is what its kernels are exported with."""
        path = os.fspath(package_path or self.default_package_path())
        code, kernels = vm_exec.save()
        parts = {_CODE: bytes(code)}
        if kernels is not None:
            library = os.path.join(self._directory.name, f"lib.{lib_format}")
            kernels.export_library(library, **linking)
            with open(library, "rb") as file:
                parts[_KERNELS] = file.read()
        _write_tar(path, parts)
        return path


class TVMCPackage:
    """A compiled model in a file.

    Machine code from a file can do whatever this process may do: load only packages that you trust.

    Attributes
    ----------
    type : str
        ``classic``, or ``vm`` of a program of the virtual machine.
    lib : GraphExecutorFactory, AotLibrary or Executable
        ``lib["default"](device)`` makes an executor; the virtual machine runs a program.
    graph : str or None
        The graph as JSON; empty of a model that is run by a main function, None of a program.
    """

    def __init__(self, package_path: str | os.PathLike[str], project_dir: str | os.PathLike[str] | None = None) -> None:
        if project_dir is not None:
            raise TVMCException("TVMCPackage: project_dir: microcontroller boards are not supported")
        self.package_path = os.fspath(package_path)
        self.import_package(self.package_path)

    def import_package(self, package_path: str) -> None:
        """Read a package."""
        self.type = "vm" if _CODE in _names_of(package_path) else "classic"
        self.graph: str | None = None
        self.params: dict[str, NDArray] = {}
        if self.type == "vm":
            kernels = _KERNELS in _names_of(package_path)
            self._parts = _read_tar(package_path, (_CODE, _KERNELS) if kernels else (_CODE,))
            return
        self._parts = _read_tar(package_path, (_LIBRARY, _GRAPH, _PARAMS))
        self.graph = self._parts[_GRAPH].decode()
        self.params = load_param_dict(self._parts[_PARAMS])

    @cached_property
    def lib(self) -> Any:
        """What runs the model, which is loaded first: the package may be for another processor."""
        if self.type == "classic":
            return _load(self._parts[_LIBRARY])
        kernels = self._parts.get(_KERNELS)
        return Executable.load_exec(self._parts[_CODE], _load(kernels) if kernels else None)


class TVMCResult:
    """What a run of a model returns: its times, and the outputs ``output_0`` and so on."""

    def __init__(self, outputs: Mapping[str, NumPyArray], times: BenchmarkResult) -> None:
        self.outputs = dict(outputs)
        self.times = times

    def format_times(self) -> str:
        """Return mean, median, largest and smallest time and their deviation, in milliseconds, as a table."""
        return str(self.times)

    def get_output(self, name: str) -> NumPyArray:
        """Return one output."""
        return self.outputs[name]

    def save(self, output_path: str | os.PathLike[str]) -> None:
        """Write the outputs to a file of NumPy."""
        write: Callable[..., None] = np.savez  # an output may have any name, that of an option of it too
        write(os.fspath(output_path), **self.outputs)

    def __str__(self) -> str:
        lines = [f"Output Names:\n {list(self.outputs)}"]
        return "\n".join([self.format_times(), *lines] if len(self.times.results) else lines)


def _read_model(path: str) -> tuple[IRModule, dict[str, NDArray]]:
    graph, params = _read_tar(path, _MODEL_FILES).values()
    mod = load_json(graph.decode())
    if not isinstance(mod, IRModule):
        raise TVMCException(f"TVMCModel: {path!r} has no module in it")
    return mod, load_param_dict(params)


def _load(library: bytes) -> Any:
    with tempfile.TemporaryDirectory(prefix="tvmc-") as directory:
        path = os.path.join(directory, _LIBRARY)
        with open(path, "wb") as file:
            file.write(library)
        return load_module(path)


def _names_of(path: str) -> list[str]:
    """Return the names of the files in a package; none where it cannot be read, which reading them reports."""
    if not os.path.isfile(path) or not tarfile.is_tarfile(path):
        return []
    with tarfile.open(path) as package:
        return package.getnames()


def _write_tar(path: str, parts: Mapping[str, bytes]) -> None:
    with tempfile.TemporaryDirectory(prefix="tvmc-") as directory, tarfile.open(path, "w") as package:
        for name, content in parts.items():
            file_path = os.path.join(directory, name)
            with open(file_path, "wb") as file:
                file.write(content)
            package.add(file_path, arcname=name)


def _read_tar(path: str, names: tuple[str, ...]) -> dict[str, bytes]:
    """Return files of a package, which is never unpacked to where its names say."""
    try:
        with tarfile.open(path) as package:
            members = {name: package.extractfile(name) for name in names}
            return {name: member.read() for name, member in members.items() if member is not None}
    except (OSError, KeyError, tarfile.TarError) as error:
        raise TVMCException(f"tvmc: {path!r} is not a package with {', '.join(names)}: {error}") from None
