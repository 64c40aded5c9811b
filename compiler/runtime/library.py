"""Machine code in files: an object file or a shared library that carries its own description.

A constant in the machine code holds a mark, a length, a checksum and the signatures as JSON, so that the file is
complete by itself whatever tool links or copies it.  The description is read before any of the code is loaded, and
nothing in it is executed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import msgspec

from compiler.ir.error import ArgumentError, BuildError
from compiler.runtime.module import Module
from compiler.runtime.native_code import NativeCode, ObjectCode, SharedLibrary, host_features, host_triple
from compiler.runtime.signature import Signature

MARK = b"\x00strata module\x00"
_DIGEST = 32
_LARGEST = 1 << 26
_LINKERS = ("cc", "gcc", "clang", "ld.lld", "ld")


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """What a file of machine code contains.

    Attributes
    ----------
    triple : str
        The machine that it is for.
    features : list of str
        What the CPU must be able to do, as LLVM names it.
    """

    triple: str
    features: list[str]
    target: str
    signatures: list[Signature]


def describe(description: Description) -> bytes:
    """Return the constant that machine code is to contain."""
    content = msgspec.json.encode(description)
    return MARK + len(content).to_bytes(8, "little") + hashlib.sha256(content).digest() + content


def read_description(data: bytes, path: str) -> Description:
    """Return the description inside a file.

    Raises
    ------
    ArgumentError
        If there is none, or it is damaged.
    """
    start = data.find(MARK)
    if start < 0:
        raise ArgumentError(f"load_module: {path!r} was not written by export_library")
    start += len(MARK)
    size = int.from_bytes(data[start : start + 8], "little")
    digest = data[start + 8 : start + 8 + _DIGEST]
    content = data[start + 8 + _DIGEST : start + 8 + _DIGEST + size]
    if size > _LARGEST or hashlib.sha256(content).digest() != digest:
        raise ArgumentError(f"load_module: {path!r} is damaged")
    try:
        return msgspec.json.decode(content, type=Description)
    except msgspec.MsgspecError as exc:
        raise ArgumentError(f"load_module: {path!r} is damaged: {exc}") from None


def write_library(object_code: bytes, path: str) -> None:
    """Write object code to a file, linked into a shared library where the name asks for one and a linker is found.

    Without a linker the file holds the object code itself; :func:`load_module` reads both.

    Raises
    ------
    BuildError
        If the linker fails or the file cannot be written.
    """
    try:
        if not path.endswith((".so", ".dylib")) or not _link(object_code, path):
            Path(path).write_bytes(object_code)
    except OSError as exc:
        raise BuildError(f"export_library: cannot write {path!r}: {exc.strerror}") from None


def _link(object_code: bytes, path: str) -> bool:
    """Link a shared library; return False where no linker can be run."""
    linker = next((command for command in _LINKERS if shutil.which(command)), None)
    if linker is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "module.o")
        Path(source).write_bytes(object_code)
        try:
            done = subprocess.run(
                [linker, "-shared", "-o", path, source], capture_output=True, text=True, timeout=60, check=False
            )
        except PermissionError:
            return False
    if done.returncode:
        raise BuildError(f"export_library: {linker} failed: {done.stderr.strip()[:500]}")
    return True


def load_module(path: str | os.PathLike[str], fmt: str = "") -> Module:
    """Return the functions of a file that ``export_library`` wrote.

    Machine code from a file can do whatever this process may do: load only files that you trust.

    Raises
    ------
    ArgumentError
        If the file is no such file, is damaged, or is for another machine.
    """
    name = os.fspath(path)
    try:
        data = Path(name).read_bytes()
    except OSError as exc:
        raise ArgumentError(f"load_module: cannot read {name!r}: {exc.strerror}") from None
    description = read_description(data, name)
    if description.triple.split("-")[0] != host_triple().split("-")[0]:
        raise ArgumentError(f"load_module: {name!r} is for {description.triple}, this machine is a {host_triple()}")
    missing = [f for f in description.features if f not in host_features()]
    if missing:
        raise ArgumentError(f"load_module: {name!r} needs {', '.join(missing)}, which this CPU does not have")

    def code() -> NativeCode:
        return ObjectCode(data) if _is_relocatable(data) else SharedLibrary(os.path.abspath(name))

    return Module(description.signatures, code, target=description.target)


def _is_relocatable(data: bytes) -> bool:
    """Return whether a file is object code, by its ELF or Mach-O header."""
    if data[:4] == b"\x7fELF":
        return int.from_bytes(data[16:18], "little") == 1
    return data[:4] == b"\xcf\xfa\xed\xfe" and int.from_bytes(data[12:16], "little") == 1
