"""Reading of script modules (``.pt``) and exported programs (``.pt2``).

Both are ZIP archives.  A script module is read by TorchScript, and an exported program as JSON with tensors, so that
neither instantiates arbitrary Python objects.  A pickled module would, and is rejected; so are pickles within an
exported program that contain more than tensors.
"""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TypeAlias

import torch

from compiler.ir.error import ArgumentError, show
from compiler.relay.frontend.shared.errors import ModelError

MAX_UNPACKED = 1 << 31
"""The maximum total size of an archive's members, in bytes."""

Model: TypeAlias = "torch.jit.ScriptModule | torch.export.ExportedProgram"
ModelSource: TypeAlias = "Model | bytes | bytearray | memoryview | str | os.PathLike[str]"

_OTHER_FILES = {
    b"\x80": "it is a pickle of an old torch.save",
    b"\x1f\x8b": "it is compressed by gzip; unpack it first",
    b"\x89HDF": "it is an HDF5 file, as Keras writes it",
    b"version https://git-lfs": "it is a pointer of Git LFS; fetch the file itself with git lfs pull",
    b"<": "it is a web page or XML; the download may have failed",
}
"""The magic bytes of other file types."""

_DAMAGE = (
    RuntimeError, ValueError, KeyError, TypeError, AttributeError, IndexError, EOFError, OverflowError, OSError,
    AssertionError, pickle.UnpicklingError,
)  # fmt: skip
"""The exceptions of PyTorch's readers for incomplete or inconsistent archives."""


def read_model(model: ModelSource) -> Model:
    """Load a model that ``torch.jit.save`` or ``torch.export.save`` wrote, unless it is one already."""
    if isinstance(model, (torch.jit.ScriptModule, torch.export.ExportedProgram)):
        return model
    name = "the model"
    if isinstance(model, (str, os.PathLike)):
        name = repr(os.fspath(model))
        try:
            with open(model, "rb") as file:
                model = file.read()
        except OSError as exc:
            raise ModelError(f"from_pytorch: {name} cannot be read: {exc.strerror}") from None
    if not isinstance(model, (bytes, bytearray, memoryview)):
        raise ArgumentError(
            "from_pytorch: script_module must be what torch.jit.trace, torch.jit.script or torch.export.export "
            f"returns, the bytes of its file or a path, got {show(model)}"
        )
    data = bytes(model)
    load = _reader_of(name, data)
    try:
        return load(io.BytesIO(data))
    except _DAMAGE as exc:
        reason = str(exc).strip().splitlines()[0] if str(exc).strip() else type(exc).__name__
        raise ModelError(f"from_pytorch: {name} ({len(data):,} bytes) is damaged: {reason}") from None


def _reader_of(name: str, data: bytes) -> Callable[[io.BytesIO], Model]:
    """Return the reader of an archive, whose kind follows from its member names."""
    label = f"from_pytorch: {name} ({len(data):,} bytes)"
    if not data.startswith(b"PK\x03\x04"):
        guess = next((text for start, text in _OTHER_FILES.items() if data.startswith(start)), "")
        guess = guess or ("a ZIP archive was expected" if data else "it is empty")
        raise ModelError(f"{label} is not a model that torch.jit.save or torch.export.save wrote: {guess}")
    members = _members(data)
    if members is None:
        raise ModelError(f"{label} is damaged: its archive has no directory; the end of the file may be missing")
    unpacked = sum(member.file_size for member in members)
    if unpacked > MAX_UNPACKED:
        raise ModelError(f"{label} holds {unpacked:,} bytes when unpacked; {MAX_UNPACKED:,} are allowed")
    tops = {"/".join(PurePosixPath(member.filename).parts[1:2]) for member in members}
    if "constants.pkl" in tops:
        return _load_script
    if "archive_format" in tops or {member.filename for member in members} >= {"serialized_exported_program.json"}:
        return _load_program
    kind = "weights or a pickled module" if "data.pkl" in tops else "no program of PyTorch"
    raise ModelError(
        f"{label} holds {kind}: store the program itself, with torch.jit.save(torch.jit.trace(model, inputs), path) or "
        "torch.export.save(torch.export.export(model, inputs), path)"
    )


def _members(data: bytes) -> list[zipfile.ZipInfo] | None:
    """Return the member directory of an archive, or None."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, OSError, EOFError):
        return None
    return members if members and min(member.header_offset for member in members) == 0 else None


def _load_script(file: io.BytesIO) -> torch.jit.ScriptModule:
    return torch.jit.load(file, map_location="cpu", _restore_shapes=True)


def _load_program(file: io.BytesIO) -> torch.export.ExportedProgram:
    if any(_OPAQUE in member.filename for member in _members(file.getvalue()) or ()):
        raise ValueError("it contains pickled Python objects, which can run arbitrary code")
    with _tensors_only():
        return torch.export.load(file)


_OPAQUE = "/opaque_obj"
"""What the names of objects begin with that ``torch.export.load`` unpickles whatever they are."""
_ONLY = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"


@contextmanager
def _tensors_only() -> Iterator[None]:
    """Restrict ``torch.load`` to tensors and plain containers, within the context."""
    before = os.environ.get(_ONLY)
    os.environ[_ONLY] = "1"
    try:
        yield
    finally:
        os.environ.pop(_ONLY)
        if before is not None:
            os.environ[_ONLY] = before


def input_infos_of(model: Model) -> list[tuple[str, tuple[tuple[int, ...], str]]]:
    """Return the names, shapes and data types of the inputs from the trace or export of a model.

    The list has the form of ``input_infos`` of :func:`from_pytorch`.  Dynamic extents of an exported program are
    replaced by those of its example inputs.
    """
    if isinstance(model, torch.export.ExportedProgram):
        return _exported_inputs(model)
    infos = []
    for value in list(model.forward.graph.inputs())[1:]:
        name, kind = value.debugName().split(".")[0], value.type()
        shape = kind.sizes() if kind.kind() == "TensorType" else None
        if kind.kind() == "DictType":
            raise ArgumentError(
                f"from_pytorch: the model does not specify the shapes of its input {name!r}, a dict: give input_infos, "
                f"such as [({name!r}, {{'key': (1, 3, 224, 224)}})]"
            )
        if shape is None or None in shape or kind.dtype() is None:
            raise ArgumentError(
                f"from_pytorch: the model does not specify the shape of its input {name!r}: give input_infos, such as "
                f"[({name!r}, (1, 3, 224, 224))]"
            )
        infos.append((name, (tuple(int(extent) for extent in shape), str(kind.dtype()).removeprefix("torch."))))
    return infos


def _exported_inputs(program: torch.export.ExportedProgram) -> list[tuple[str, tuple[tuple[int, ...], str]]]:
    own = set(program.graph_signature.user_inputs)
    infos = []
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in own:
            value = node.meta.get("val")
            if not isinstance(value, torch.Tensor):
                raise ArgumentError(f"from_pytorch: input {node.name!r} is not a tensor: give input_infos")
            shape = tuple(_extent(extent) for extent in value.shape)
            infos.append((node.name, (shape, str(value.dtype).removeprefix("torch."))))
    return infos


def _extent(extent: int | torch.SymInt) -> int:
    hint = extent.node.hint if isinstance(extent, torch.SymInt) else extent
    return 1 if hint is None else int(hint)
