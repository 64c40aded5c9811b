"""What ``export_library`` writes: object code, an archive of it, or a library that the system's linker makes of it."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Literal

import msgspec

from compiler.ir.error import ArgumentError, BuildError, UnavailableError, expected, show
from compiler.runtime.arrays.marked_data import MARK, find_marked
from compiler.runtime.modules.native_code import host_triple
from compiler.runtime.modules.object_file import ObjectFile, undefined_symbols, with_data
from compiler.runtime.modules.shared_object import link_shared_object
from compiler.runtime.modules.workspace import linked_pool

_LINKERS = ("cc", "gcc", "clang", "ld.lld", "ld")
_OBJECT = "lib0.o"
"""TVM's name for a file of object code."""


class Exporting:
    """A module or a built model, which is written to a file."""

    def exported(self, file_name: str) -> bytes:
        """Return what :meth:`export_library` writes to a file of this name."""
        raise NotImplementedError

    def export_library(
        self,
        file_name: str | os.PathLike[str],
        fcompile: Callable[..., object] | Literal[False] | None = None,
        addons: Sequence[str] | None = None,
        workspace_dir: str | os.PathLike[str] | None = None,
        cc: str | None = None,
        options: Sequence[str] | None = None,
        **others: object,
    ) -> object:
        """Write a file that ``tvm.runtime.load_module`` reads: an object file, a library, or an archive (``.tar``).

        Raises UnavailableError if there is no such compiler. Raises BuildError with what the linker says, if it fails,
        or if the file cannot be written.

        Parameters
        ----------
        fcompile : callable, optional
            Makes the file of object files: ``fcompile(file_name, [*addons, "…/lib0.o"])``, with ``cc``, ``options`` and
            whatever else is given; what it returns is returned.
        addons : sequence of str, optional
            Further object files.
        workspace_dir : str, optional
            The folder where the object code is left as ``lib0.o``.
        cc : str, optional
            The compiler that links, with ``options``, for another processor for example.
        """
        name = os.fspath(file_name)
        if fcompile and not callable(fcompile):
            expected("export_library", "fcompile", "a function; the name of a compiler is for cc", fcompile)
        given = {name: value for name, value in {"cc": cc, "options": options, **others}.items() if value is not None}
        if fcompile:
            with nullcontext(workspace_dir) if workspace_dir else tempfile.TemporaryDirectory() as folder:
                object_file = os.path.join(folder, _OBJECT)
                _write(object_file, self.exported(_OBJECT))
                return fcompile(name, [*(addons or ()), object_file], **given)
        if others:
            raise ArgumentError(f"export_library: {', '.join(map(show, others))} is for a function fcompile only")
        if not (given or addons or workspace_dir):
            _write(name, self.exported(name))
            return None
        if name.endswith(".tar"):
            raise ArgumentError(f"export_library: nothing is linked for an archive, {name!r}: name a library, .so")
        linker, code = _linker(cc), self.exported(_OBJECT)
        if workspace_dir:
            _write(os.path.join(workspace_dir, _OBJECT), code)
        try:
            library = _linked_by(linker, code, [*(options or ()), *(addons or ())])
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BuildError(f"export_library: {linker} could not link: {error}") from None
        _write(name, library)
        return None


def write_anew(file_name: str, content: bytes) -> None:
    """Write a file in place of one that may be loaded: its code must not change in the memory of a process."""
    path = Path(os.path.realpath(file_name))
    if path.is_file():
        path.unlink()
    path.write_bytes(content)


def _write(file_name: str, content: bytes) -> None:
    try:
        write_anew(file_name, content)
    except OSError as exc:
        raise BuildError(f"export_library: cannot write {file_name!r}: {exc.strerror}") from None


def library_content(object_code: bytes, name: str, attached: bytes = b"") -> bytes:
    """Return what a file of object code, and of data that goes with it, is to contain.

    Where the name ends like a shared library's, it is linked into one: by the system's linker, else by
    :mod:`compiler.runtime.modules.shared_object`.  What neither can link stays object code; ``load_module`` reads both.
    """
    whole = with_data(object_code, attached)
    if name.endswith(".tar"):
        return _archive(whole)
    if not name.endswith((".so", ".dylib")):
        return whole
    return _linked_by_system(whole) or _linked_here(object_code) + attached


def _archive(object_code: bytes) -> bytes:
    out, member = io.BytesIO(), tarfile.TarInfo(_OBJECT)
    member.size = len(object_code)
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(member, io.BytesIO(object_code))
    return out.getvalue()


def unarchived(data: bytes, path: str) -> bytes:
    """Return the object code of an archive, or the data itself if it is none.

    Raises ArgumentError if the archive holds something else than one file of object code.
    """
    if data[257:262] != b"ustar":
        return data
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            members = archive.getmembers()
            content = archive.extractfile(members[0]) if len(members) == 1 else None
            if content is None:
                names = ", ".join(member.name for member in members) or "nothing"
                raise ArgumentError(f"load_module: expected one file of object code in {path!r}, got {names}")
            return content.read()
    except tarfile.TarError as error:
        raise ArgumentError(f"load_module: {path!r} is no archive that can be read: {error}") from None


def _linked_here(object_code: bytes) -> bytes:
    """Return a shared library, or the object code itself where it takes a linker of the system to link it."""
    try:
        return link_shared_object(object_code)
    except BuildError:
        return object_code


def _linked_by_system(object_code: bytes) -> bytes | None:
    """Return a shared library; None if no linker can be run."""
    linker = next((command for command in _LINKERS if shutil.which(command)), None)
    if linker is None:
        return None
    try:
        return _linked_by(linker, object_code)
    except OSError:  # no program may be started here, or no file be written
        return None


def _linker(cc: str | None) -> str:
    """Return a compiler or linker that there is."""
    if cc is not None and not isinstance(cc, str):
        expected("export_library", "cc", "the name of a compiler", cc)
    found = next((command for command in ((cc,) if cc else _LINKERS) if shutil.which(command)), None)
    if found is None:
        raise UnavailableError(f"export_library: this machine has no {cc or 'linker'}")
    return found


def _linked_by(linker: str, object_code: bytes, others: Sequence[str] = ()) -> bytes:
    """Return a shared library of object code, and of ``others``: options and files of whoever exports."""
    with tempfile.TemporaryDirectory() as folder:
        library, source, kept = (os.path.join(folder, name) for name in ("module.so", _OBJECT, "pool.o"))
        Path(source).write_bytes(object_code)
        command = [linker, "-shared", "-o", library, source]
        if "aligned_alloc" in undefined_symbols(object_code):
            pool, options = linked_pool()
            if pool and ObjectFile(pool).machine == ObjectFile(object_code).machine:
                Path(kept).write_bytes(pool)
                command += [*_linker_options(linker, options), kept]
        command += others
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)
        if done.returncode:
            _refuse_other_machine(linker, object_code)
            raise BuildError(f"export_library: {linker} failed: {done.stderr.strip()[:500]}")
        return Path(library).read_bytes()


def _refuse_other_machine(linker: str, object_code: bytes) -> None:
    description = find_marked(MARK, object_code, "", len(object_code))
    triple = host_triple() if description is None else msgspec.json.decode(description)["triple"]
    if linker in _LINKERS and triple.split("-")[0] != host_triple().split("-")[0]:
        raise BuildError(
            f"export_library: {linker} does not link code for {triple}: give its compiler, cc='{triple}-gcc' "
            "(tvmc: --cross-compiler), or export an object file (.o), which load_module reads there"
        )


def _linker_options(linker: str, options: list[str]) -> list[str]:
    """Return options for the linker, as a compiler that calls it wants them."""
    return options if linker in ("ld", "ld.lld") else [f"-Wl,{option}" for option in options]
