"""Files that can be built from a script's functions and models, and their transfer from the child.

The content is sent in parts, as libraries of models are large: each part is a message that begins with :data:`PART` and
its place in the file.  A :class:`BuiltFile` that says how many bytes they are together comes after the last.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta, Struct

FileForm = Literal["so", "o", "ll", "bc", "s", "c", "h", "main.c", "tvmscript", "cubin"]
PART = b"part of a file:"
"""How a message begins that is a part; the others are JSON."""
PART_BYTES = 1 << 20
"""Of the content in one part."""
_PLACE = struct.Struct("<Q")
PART_HEAD = len(PART) + _PLACE.size
"""Bytes of a part before its content."""


@dataclass(frozen=True)
class FileKind:
    """A kind of file that is made on request."""

    form: FileForm
    title: str
    suffix: str
    media: str
    hint: str
    pane: str
    """The pane whose menu offers it."""
    of_models: bool = False
    """Whether a model becomes one too."""
    of_kernels: bool = False
    """Whether only a function that launches kernels becomes one."""


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
"""In the order of menus; further texts are those that panes show."""


def kind_of(form: str) -> FileKind:
    """Return the kind of file of a form."""
    return next(kind for kind in FILE_KINDS if kind.form == form)


class FileSubject(Struct, frozen=True, kw_only=True):
    """What becomes a file."""

    form: FileForm
    unit: Annotated[int, Meta(ge=-1, le=1_000)] = -1
    """Position among the functions, or among the models; -1 is the one that was built last."""
    model: bool = False


class BuiltFile(Struct, frozen=True, kw_only=True, tag="file"):
    """Sent when a file was made, or could not be."""

    name: Annotated[str, Meta(max_length=200)] = ""
    """Its name without the suffix."""
    size: Annotated[int, Meta(ge=0)] = 0
    """Bytes of its content, which was sent in parts before."""
    problem: Annotated[str, Meta(max_length=10_000)] = ""
    """Why there is none."""


def parts_of(content: bytes) -> Iterator[bytes]:
    """Yield the messages that a file's content is sent in."""
    for place in range(0, len(content), PART_BYTES):
        yield PART + _PLACE.pack(place) + content[place : place + PART_BYTES]


def read_part(message: bytes) -> tuple[int, bytes]:
    """Return the place of a part in its file, and the content there.

    Parameters
    ----------
    message : bytes
        It begins with :data:`PART`; nothing else of it is certain.

    Raises
    ------
    ValueError
        It is too short to be a part.
    """
    if len(message) < PART_HEAD:
        raise ValueError(f"a part of a file has at least {PART_HEAD} bytes, got {len(message)}")
    (place,) = _PLACE.unpack_from(message, len(PART))
    return place, message[PART_HEAD:]
