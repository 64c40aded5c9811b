"""Files that can be built from a script's functions and models, and their transfer from the child.

The content is sent in parts, as libraries of models are large: each part is a message of :data:`PART`, its position in
the file, and content.  A :class:`BuiltFile` with the total size follows the last part.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta, Struct

FileForm = Literal["so", "o", "ll", "bc", "s", "c", "h", "main.c", "tvmscript", "cubin"]
PART = b"part of a file:"
"""Prefix of messages that are parts; all others are JSON."""
PART_BYTES = 1 << 20
"""Maximum size of the content of a part."""
_PLACE = struct.Struct("<Q")
PART_HEAD = len(PART) + _PLACE.size
"""Size of the header of a part."""


@dataclass(frozen=True)
class FileKind:
    """A kind of file that can be built on request."""

    form: FileForm
    title: str
    suffix: str
    media: str
    hint: str
    pane: str
    """The pane whose menu offers it."""
    of_models: bool = False
    """Whether it can be built from models too."""
    of_kernels: bool = False
    """Whether it can only be built from functions that launch kernels."""


FILE_KINDS: tuple[FileKind, ...] = (
    FileKind(
        "so",
        "Shared library",
        ".so",
        "application/x-sharedlib",
        "tvm.runtime.load_module opens it, and so does any program: its functions take pointers and numbers",
        "asm",
        of_models=True,
    ),
    FileKind(
        "o", "Object code", ".o", "application/x-object", "To link into a program of your own", "asm", of_models=True
    ),
    FileKind("s", "Assembly to assemble", ".s", "text/x-asm", "With its directives and constants", "asm"),
    FileKind("ll", "Complete LLVM IR", ".ll", "text/plain", "As llc, opt and tvm.runtime.load_module read it", "llvm"),
    FileKind("bc", "LLVM bitcode", ".bc", "application/octet-stream", "The same for programs", "llvm"),
    FileKind("tvmscript", "TVMScript", ".py", "text/x-python", "A module that tvm.build takes as it is", "loops"),
    FileKind("c", "C source", ".c", "text/x-csrc", "Without a runtime: any C compiler takes it", "loops"),
    FileKind("h", "C header", ".h", "text/x-chdr", "Declares what the C source defines", "loops"),
    FileKind("main.c", "C program that times it", ".main.c", "text/x-csrc", "Calls the C source and prints", "loops"),
    FileKind(
        "cubin",
        "Machine code (.cubin)",
        ".cubin",
        "application/octet-stream",
        "Of the architecture that the PTX pane names: CUDA's driver loads it",
        "sass",
        of_kernels=True,
    ),
)
"""The kinds of files, in menu order; menus also offer the texts of panes."""


def kind_of(form: str) -> FileKind:
    """Return the file kind of a form."""
    return next(kind for kind in FILE_KINDS if kind.form == form)


class FileSubject(Struct, frozen=True, kw_only=True):
    """The subject to build a file from."""

    form: FileForm
    unit: Annotated[int, Meta(ge=-1, le=1_000)] = -1
    """Position among the functions or models; -1 is the last one built."""
    model: bool = False


class BuiltFile(Struct, frozen=True, kw_only=True, tag="file"):
    """Sent after a file was built, or could not be."""

    name: Annotated[str, Meta(max_length=200)] = ""
    """Name without suffix."""
    size: Annotated[int, Meta(ge=0)] = 0
    """Total size of the content, which was sent in parts before."""
    problem: Annotated[str, Meta(max_length=10_000)] = ""
    """Why there is no file; empty on success."""


def parts_of(content: bytes) -> Iterator[bytes]:
    """Yield the messages for sending the content of a file."""
    for place in range(0, len(content), PART_BYTES):
        yield PART + _PLACE.pack(place) + content[place : place + PART_BYTES]


def read_part(message: bytes) -> tuple[int, bytes]:
    """Return the position of a part in its file, and its content.

    Parameters
    ----------
    message : bytes
        An untrusted message that starts with :data:`PART`.

    Raises
    ------
    ValueError
        If the message is too short.
    """
    if len(message) < PART_HEAD:
        raise ValueError(f"a part of a file has at least {PART_HEAD} bytes, got {len(message)}")
    (place,) = _PLACE.unpack_from(message, len(PART))
    return place, message[PART_HEAD:]
