"""The programs that commands are given: files, standard input, links."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import msgspec

from app.artifacts import Workspace
from app.panes import assembly_choice
from app.shell.explorer import Server, ask
from app.shell.failures import WRONG_COMMAND, Failure
from app.store.links import OpenedLink
from compiler.ir.error import TVMError
from compiler.target.llvm_machine import target_machine
from compiler.target.target import Target

MAX_BYTES = 1_000_000
"""Of a script, as the API accepts it."""
_MODELS = (".onnx", ".tflite", ".pt", ".pt2", ".keras", ".h5", ".pb")


def read_program(name: str, files: Sequence[str] = (), target: str = "", threads: int | None = None) -> Workspace:
    """Return the workspace of a file, of ``-`` for standard input, or of a link such as ``https://…/z/1a2b3c4d``.

    Parameters
    ----------
    files
        Paths of what is attached, under their own names.
    target
        The meaning of ``llvm`` where the script does not choose, and the processor whose assembly is shown; as in the
        link, or native, if empty.

    Raises
    ------
    Failure
        If nothing can be read there.
    """
    workspace = _linked(name) if name.startswith(("http://", "https://")) else Workspace(script=_script(name))
    options = workspace.options
    if target:
        options = msgspec.structs.replace(options, target=target, assembly=assembly_of(target))
    if threads is not None:
        options = msgspec.structs.replace(options, threads=threads)
    attached = _attached(files)
    whole = msgspec.structs.replace(workspace, files={**workspace.files, **attached}, options=options)
    try:
        return msgspec.convert(msgspec.to_builtins(whole), Workspace)
    except msgspec.ValidationError as error:
        raise Failure(f"{name}: {error}", WRONG_COMMAND) from None


def assembly_of(target: str) -> str:
    """Return the key of the processor that a target names; see :func:`~app.panes.assembly_choice.assembly_of`.

    Raises
    ------
    Failure
        If there is no such target, or LLVM does not know its processor.
    """
    try:
        machine = Target(target)
        if machine.kind == "llvm":
            target_machine(machine.triple, machine.cpu, machine.llvm_features, opt_level=2)
        return assembly_choice.assembly_of(target)
    except TVMError as error:
        raise Failure(f"--target: {error}", WRONG_COMMAND) from None


def standard_input() -> BinaryIO:
    """Return what programs and messages are read from, or raise Failure if it is closed."""
    if sys.stdin is None:
        raise Failure("standard input is closed: expected a program or messages there", WRONG_COMMAND)
    return sys.stdin.buffer


def _script(name: str) -> str:
    content = standard_input().read(MAX_BYTES + 1) if name == "-" else _bytes(name)
    shown = "standard input" if name == "-" else name
    if len(content) > MAX_BYTES and Path(name).suffix not in _MODELS:
        raise Failure(f"{shown} has more than {MAX_BYTES:,} bytes: that is no script", WRONG_COMMAND)
    try:
        text = content.decode("utf-8-sig")  # editors of Windows begin files with a mark, which Python skips, too
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        model = f" that reads the model, and --file {name}" if Path(name).suffix in _MODELS else ""
        raise Failure(f"{shown} is not text: expected a Python script{model}", WRONG_COMMAND)
    return text


def _attached(files: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of files by the names that a script opens them by."""
    paths: dict[str, str] = {}
    for file in files:
        other = paths.setdefault(Path(file).name, file)
        if other != file:
            raise Failure(f"--file: {other} and {file} would have one name in the script", WRONG_COMMAND)
    return {name: _bytes(path) for name, path in paths.items()}


def _bytes(name: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except IsADirectoryError:
        raise Failure(f"{name} is a directory: expected a file", WRONG_COMMAND) from None
    except FileNotFoundError:
        raise Failure(f"there is no file {name}", WRONG_COMMAND) from None
    except OSError as error:
        raise Failure(f"{name} cannot be read: {error.strerror}", WRONG_COMMAND) from None


def _linked(address: str) -> Workspace:
    parts = urlsplit(address)
    before, _, link = parts.path.rpartition("/z/")
    if not link or "/" in link:
        raise Failure(f"{address} is no link to a script: expected https://…/z/1a2b3c4d", WRONG_COMMAND)
    server = Server(f"{parts.scheme}://{parts.netloc}{before}")
    return ask(server, f"/api/links/{link}", None, OpenedLink).state.workspace
