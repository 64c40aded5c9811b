"""Exported libraries, read: an object file or shared library carries its own description.

A constant in the machine code holds a mark, a length, a checksum and the signatures as JSON, so that the file is
complete by itself whatever tool links or copies it.  The description is read before any of the code is loaded, and
nothing in it is executed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from compiler.ir.error import ArgumentError
from compiler.runtime.arrays.marked_data import (
    KERNELS_MARK,
    MARK,
    PARAMS_MARK,
    PROGRAM_MARK,
    find_all_marked,
    find_marked,
    marked,
)
from compiler.runtime.arrays.params import load_param_dict
from compiler.runtime.cuda.execution import launch_on_cuda
from compiler.runtime.graph.aot_executor import AotInterface, AotLibrary
from compiler.runtime.graph.factory import GraphExecutorFactory
from compiler.runtime.modules.device_module import stored_kernels
from compiler.runtime.modules.launches import require_fitting
from compiler.runtime.modules.linking import unarchived
from compiler.runtime.modules.module import Module
from compiler.runtime.modules.native_code import (
    NativeCode,
    ObjectCode,
    SharedLibrary,
    compiled,
    host_features,
    host_triple,
)
from compiler.runtime.modules.signature import Signature

_LARGEST = 1 << 26


class OtherMachineError(ArgumentError):
    """Machine code for another ``family`` of processors than is ``here``, or that needs what is ``missing`` here."""

    def __init__(self, name: str, triple: str, missing: list[str]) -> None:
        self.family, self.here = (text.split("-")[0] for text in (triple, host_triple()))
        self.missing = missing
        if missing:
            super().__init__(f"load_module: {name!r} needs {', '.join(missing)}, which this CPU does not have")
        else:
            super().__init__(f"load_module: {name!r} is for {triple}, this machine is a {host_triple()}")


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of machine code contains."""

    triple: str
    features: list[str]
    """What the CPU must be able to do, as LLVM names it."""
    target: str
    signatures: list[Signature]
    graph: str = ""
    """Of a model its graph; its parameters stand behind a mark of their own."""
    model: str = ""
    """The name that the model was built under."""
    aot: AotInterface | None = None
    """Of a model that was compiled ahead of time."""


def describe(description: Description) -> bytes:
    """Return the constant that machine code is to contain."""
    return marked(MARK, msgspec.json.encode(description))


def read_description(data: bytes, path: str) -> Description:
    """Return the description inside a file: of all modules that were linked into it."""
    descriptions = []
    for content in find_all_marked(MARK, data, path, _LARGEST):
        try:
            descriptions.append(msgspec.json.decode(content, type=Description))
        except msgspec.MsgspecError as exc:
            raise ArgumentError(f"load_module: {path!r} is damaged: {exc}") from None
    if not descriptions:
        raise ArgumentError(f"load_module: {path!r} was not written by export_library")
    signatures = {s.name: s for d in descriptions for s in d.signatures}
    features = sorted({f for d in descriptions for f in d.features})
    return msgspec.structs.replace(descriptions[0], signatures=list(signatures.values()), features=features)


def load_module(path: str | os.PathLike[str], fmt: str = "") -> Any:
    """Return what a file contains that ``export_library`` wrote.

    Machine code from a file can do whatever this process may do: load only files that you trust.  LLVM IR, ``ll`` or
    ``bc``, is told by the file's ending unless ``fmt`` is given; any other file says itself what it is. Raises
    ArgumentError if the file is no such file, is damaged, or is for another machine.
    """
    name = os.fspath(path)
    data = unarchived(_read(name, "load_module"), name)
    if (fmt or name.rpartition(".")[2]) in ("ll", "bc"):
        data = compiled(data, name)
    description = read_description(data, name)
    _require_machine(description, name)

    # A library is opened at once: its file may be removed after that.
    library = None if _is_relocatable(data) else SharedLibrary(os.path.abspath(name))

    def code() -> NativeCode:
        return ObjectCode(data) if library is None else library

    module = Module(description.signatures, code, target=description.target)
    for content in find_all_marked(KERNELS_MARK, data, name, len(data)):
        kernels = stored_kernels(content, name)
        require_fitting(kernels.launches(), {s.name: s for s in description.signatures}, name)
        module.import_module(kernels)
        launch_on_cuda(module, kernels)
    program = find_marked(PROGRAM_MARK, data, name, len(data))
    if program is not None:
        module.program = lambda: program
    if not description.graph and description.aot is None:
        return module
    params = find_marked(PARAMS_MARK, data, name, len(data))
    if params is None:
        raise ArgumentError(f"load_module: {name!r} is damaged: the parameters of its model are missing")
    if description.aot is not None:
        return AotLibrary(module, description.aot, load_param_dict(params), description.model)
    return GraphExecutorFactory(description.graph, module, load_param_dict(params), description.model)


def load_static_library(path: str | os.PathLike[str], func_names: Sequence[str]) -> Module:
    """Return some functions of an object file that ``Module.save`` or ``export_library`` wrote.

    Raises ArgumentError if the file is no such file, or a function is not in it.
    """
    name = os.fspath(path)
    data = _read(name, "load_static_library")
    if not _is_relocatable(data):
        raise ArgumentError(f"load_static_library: {name!r} is not an object file")
    description = read_description(data, name)
    _require_machine(description, name)
    signatures = {signature.name: signature for signature in description.signatures}
    missing = [function for function in func_names if function not in signatures]
    if missing or not func_names:
        raise ArgumentError(f"load_static_library: {name!r} has {', '.join(signatures)}, got {list(func_names)}")
    return Module([signatures[f] for f in func_names], lambda: ObjectCode(data), target=description.target)


def _read(name: str, operation: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as exc:
        raise ArgumentError(f"{operation}: cannot read {name!r}: {exc.strerror}") from None


def _is_relocatable(data: bytes) -> bool:
    """Return whether a file is object code, by its ELF or Mach-O header."""
    if data[:4] == b"\x7fELF":
        return int.from_bytes(data[16:18], "little") == 1
    return data[:4] == b"\xcf\xfa\xed\xfe" and int.from_bytes(data[12:16], "little") == 1


def _require_machine(description: Description, name: str) -> None:
    """Reject machine code that this machine cannot run."""
    if description.triple.split("-")[0] != host_triple().split("-")[0]:
        raise OtherMachineError(name, description.triple, [])
    missing = [f for f in description.features if f not in host_features()]
    if missing:
        raise OtherMachineError(name, description.triple, missing)


def system_lib(symbol_prefix: str = "") -> Module:
    """Return the functions of all libraries in this process that were built for ``-system-lib``.

    Such a library is one that a program links, or loads by ``ctypes.CDLL``: no path of it is known, so the files that
    the process has mapped are read, see proc_pid_maps(5).  Names of functions are without ``symbol_prefix`` in the
    module. Raises ArgumentError if there is none.
    """
    modules = [module for path in _mapped_libraries() if (module := _system_library(path, symbol_prefix)) is not None]
    if not modules:
        raise ArgumentError("system_lib: no library that was built for -system-lib is loaded")
    library, *others = modules
    for other in others:
        library.import_module(other)
    return library


def _mapped_libraries() -> list[str]:
    try:
        lines = os.fsdecode(Path("/proc/self/maps").read_bytes()).splitlines()
    except OSError:
        return []
    paths = dict.fromkeys(line.split(maxsplit=5)[5] for line in lines if line.count("/"))
    return [path for path in paths if path.startswith("/") and os.path.isfile(path)]


def _system_library(path: str, prefix: str) -> Module | None:
    """Return a library's functions of a prefix if it was built for ``-system-lib`` and has some."""
    data = Path(path).read_bytes()
    if MARK not in data:
        return None
    description = read_description(data, path)
    if "-system-lib" not in description.target:
        return None
    _require_machine(description, path)
    signatures = [
        msgspec.structs.replace(s, name=s.name.removeprefix(prefix))
        for s in description.signatures
        if s.name.startswith(prefix)
    ]
    library = SharedLibrary(path)
    return Module(signatures, lambda: library, target=description.target) if signatures else None
