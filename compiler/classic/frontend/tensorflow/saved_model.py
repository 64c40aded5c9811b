"""Freezing of SavedModels: a graph, its signatures, and a checkpoint of its variables.

The checkpoint keys of variables follow from the nodes that restore them or, if functions are called with other handles
of the same variables, from the objects that these functions are bound to.
"""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath

from google.protobuf.message import DecodeError, Message

from compiler.classic.frontend.tensorflow.checkpoint import Checkpoint, StoredTensor
from compiler.classic.frontend.tensorflow.messages import SavedModel, calls_of
from compiler.classic.frontend.tensorflow.object_graph import bound_variables
from compiler.relay.frontend.shared.errors import ModelError

_MODEL = "saved_model.pb"
_INDEX = "variables/variables.index"
_VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
_ASSIGNMENTS = frozenset({"Assign", "AssignVariableOp"})
MAX_UNPACKED = 1 << 31
"""The maximum total size of the files of an archive, in bytes."""

Files = Callable[[str], "bytes | None"]
"""Returns the contents of a file of a SavedModel by name, or None."""


def directory_files(path: str | os.PathLike[str]) -> Files:
    """Return the files of a directory."""

    def read(name: str) -> bytes | None:
        try:
            with open(os.path.join(path, *name.split("/")), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise ModelError(f"from_tensorflow: {name} cannot be read: {exc.strerror}") from None

    return read


def archive_files(data: bytes, label: str) -> Files:
    """Return the files of a SavedModel in a ZIP archive, possibly in a directory."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OSError, EOFError):
        raise ModelError(f"from_tensorflow: {label} is a damaged ZIP archive; its end may be missing") from None
    members = {member.filename: member for member in archive.infolist()}
    unpacked = sum(member.file_size for member in members.values())
    if unpacked > MAX_UNPACKED:
        raise ModelError(
            f"from_tensorflow: {label} holds {unpacked:,} bytes when unpacked; {MAX_UNPACKED:,} are allowed"
        )
    models = [name for name in members if PurePosixPath(name).name == _MODEL]
    if len(models) != 1:
        raise ModelError(f"from_tensorflow: {label} must hold one SavedModel, with its {_MODEL}; found {len(models)}")
    folder = models[0].removesuffix(_MODEL)

    def read(name: str) -> bytes | None:
        member = members.get(folder + name)
        if member is None:
            return None
        try:
            return archive.read(member)
        except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, EOFError) as exc:
            raise ModelError(f"from_tensorflow: {name} in {label} is damaged: {exc}") from None

    return read


def freeze(files: Files, label: str) -> tuple[Message, list[str]]:
    """Freeze a SavedModel: return its graph with variables as constants, and the names of its outputs."""
    data = files(_MODEL)
    if data is None:
        raise ModelError(f"from_tensorflow: {label} is not a SavedModel: it has no {_MODEL}")
    saved = SavedModel()
    try:
        saved.ParseFromString(data)
    except (DecodeError, RecursionError, RuntimeError):
        raise ModelError(f"from_tensorflow: {_MODEL} of {label} is damaged; its end may be missing") from None
    graphs = [meta for meta in saved.meta_graphs if meta.graph_def.node]
    if not graphs:
        raise ModelError(f"from_tensorflow: {_MODEL} of {label} holds no graph")
    meta = next((meta for meta in graphs if "serve" in meta.meta_info_def.tags), graphs[0])
    _put_variables(meta, files)
    return meta.graph_def, _outputs(meta)


def _outputs(meta: Message) -> list[str]:
    """Return the outputs of the serving signature, in the order of their keys."""
    signatures = {entry.key: entry.value for entry in meta.signature_def if entry.value.outputs}
    chosen = signatures.get("serving_default") or next(iter(signatures.values()), None)
    entries = [] if chosen is None else sorted(chosen.outputs, key=lambda entry: str(entry.key))
    return [entry.value.name for entry in entries if entry.value.name]


def _put_variables(meta: Message, files: Files) -> None:
    """Replace restored variables by constants."""
    graph = meta.graph_def
    variables = {node.name: node for node in graph.node if node.op in _VARIABLES}
    if not variables:
        return
    index = files(_INDEX)
    if index is None:
        raise ModelError(
            f"from_tensorflow: the model has {len(variables)} variables, but no {_INDEX}: give the whole directory, or "
            "a ZIP archive of it"
        )
    checkpoint = Checkpoint(index, lambda number, count: _shard(files, number, count))
    held = 0
    for name, key in (*_keys(graph), *bound_variables(meta, checkpoint.keys())):
        waits = name in variables and variables[name].op in _VARIABLES
        stored = checkpoint.tensor(key) if waits else None
        if stored is not None:
            held += len(stored.content)
            if held > MAX_UNPACKED:
                raise ModelError(f"from_tensorflow: the variables hold more than {MAX_UNPACKED:,} bytes together")
            _become_constant(variables[name], stored)


def _shard(files: Files, number: int, count: int) -> bytes:
    name = f"variables/variables.data-{number:05}-of-{count:05}"
    data = files(name)
    if data is None:
        raise ModelError(f"from_tensorflow: the model has no {name}, which holds the elements of its variables")
    return data


def _become_constant(node: Message, stored: StoredTensor) -> None:
    node.op = "Const"
    del node.attr[:]
    node.attr.add(key="dtype").value.type = stored.dtype
    tensor = node.attr.add(key="value").value.tensor
    tensor.dtype = stored.dtype
    tensor.tensor_content = stored.content
    for extent in stored.shape:
        tensor.tensor_shape.dim.add(size=extent)


def _keys(graph: Message) -> Iterator[tuple[str, str]]:
    """Map variables to checkpoint keys, from the restore nodes of the graph and its functions."""
    yield from _restored({node.name: node for node in graph.node})
    for function, given in calls_of(graph):
        for name, key in _restored({inner.name: inner for inner in function.node_def}):
            if name in given:
                yield given[name], key


def _restored(nodes: Mapping[str, Message]) -> Iterator[tuple[str, str]]:
    """Return the restored variables among nodes: the assigned handle and the checkpoint key."""
    for node in nodes.values():
        if node.op in _ASSIGNMENTS and len(node.input) >= 2:
            key = _key_of(nodes, node.input[1])
            if key is not None:
                yield node.input[0].split(":")[0], key


def _key_of(nodes: Mapping[str, Message], value: str) -> str | None:
    source, *place = value.split(":")
    seen: set[str] = set()
    while source in nodes and nodes[source].op == "Identity" and nodes[source].input and source not in seen:
        seen.add(source)
        source, *place = nodes[source].input[0].split(":")
    restore = nodes.get(source)
    if restore is None or restore.op != "RestoreV2" or len(restore.input) < 2:
        return None
    index = int(place[-1]) if place and place[-1].isdigit() else 0
    names = nodes.get(restore.input[1].split(":")[0])
    keys = [key for entry in (names.attr if names is not None else ()) for key in entry.value.tensor.string_val]
    return keys[index].decode("utf-8", "replace") if index < len(keys) else None
