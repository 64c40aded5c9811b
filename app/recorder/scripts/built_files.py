"""Builds files from what a script built: libraries, object code, C and other formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from app.built_files import BuiltFile, FileSubject, kind_of, parts_of
from app.recorder.gpus.device_code import launches_threads
from app.recorder.recorder import Recorder
from app.recorder.units.subjects import FunctionSubject, GraphSubject
from compiler.driver.build import build
from compiler.driver.device_pipeline import split_for_device
from compiler.driver.relay.build import BuiltGraph
from compiler.ir.error import TVMError
from compiler.ir.module import IRModule
from compiler.target.codegen.source import source_code
from compiler.target.target import Target

S = TypeVar("S", FunctionSubject, GraphSubject)
_C_FORMS, _LINKED_FORMS = ("c", "h", "main.c"), ("so", "o")


@dataclass(frozen=True)
class ExportedFile:
    """A file, with its name without the suffix."""

    name: str
    content: bytes


def send_file(subject: FileSubject, recorder: Recorder, largest: int, send_part: Callable[[bytes], None]) -> BuiltFile:
    """Build a file from a script, send it in parts, and return its description or the reason of a failure.

    Parameters
    ----------
    largest : int
        The maximum size of the file in bytes.
    send_part : callable
        Takes each message of :func:`~app.built_files.parts_of`.
    """
    try:
        made = make_file(subject, recorder)
    except TVMError as error:
        return BuiltFile(problem=str(error))
    size = len(made.content)
    if size > largest:
        problem = f"the file has {size:,} bytes, and at most {largest:,} can be downloaded"
        return BuiltFile(problem=f"{problem}; a script that `strata python` runs writes it with export_library(path)")
    for part in parts_of(made.content):
        send_part(part)
    return BuiltFile(name=made.name[:200], size=size)


def make_file(subject: FileSubject, recorder: Recorder) -> ExportedFile:
    """Build a file from a recorded script.

    Raises
    ------
    TVMError
        There is none.
    """
    return _of_model(subject, recorder) if subject.model else _of_function(subject, recorder)


def _of_model(subject: FileSubject, recorder: Recorder) -> ExportedFile:
    graph = _chosen(list(recorder.graphs), subject.unit)
    if graph is None or not isinstance(graph.built, BuiltGraph):
        raise TVMError("this script builds no model; call relay.build")
    if not kind_of(subject.form).of_models:
        raise TVMError("a model can only be saved as a shared library or object code")
    return ExportedFile(graph.name, graph.built.exported(f"module.{subject.form}"))


def _of_function(subject: FileSubject, recorder: Recorder) -> ExportedFile:
    function = _chosen(list(recorder.functions), subject.unit)
    if function is None or function.lowered is None:
        raise TVMError("this script builds no function")
    if subject.form == "tvmscript":
        return ExportedFile(function.name, _script(function))
    if subject.form in _C_FORMS:
        module = build(function.lowered, target="c", name=function.name)
        return ExportedFile(function.name, module.get_source(subject.form).encode())
    if subject.form == "cubin":
        return ExportedFile(function.name, _cuda_source(function.lowered).encode())
    if function.built is None:
        raise TVMError(f"{function.name} has no code: it was lowered, but it cannot be built")
    content = function.built.exported if subject.form in _LINKED_FORMS else function.built.saved
    return ExportedFile(function.name, content(f"module.{subject.form}"))


def _chosen(subjects: Sequence[S], position: int) -> S | None:
    """Return the subject at a position, by default the one that was built last."""
    if 0 <= position < len(subjects):
        return subjects[position]
    built = [subject for subject in subjects if subject.built is not None]
    return (built or subjects)[-1] if subjects else None


def _cuda_source(lowered: IRModule) -> str:
    """Return the CUDA C of a function's kernels, for compilation by the server.

    Raises
    ------
    TVMError
        There are none.
    """
    if not launches_threads(lowered):
        raise TVMError("it launches no kernel: none of its loops is bound to blockIdx or threadIdx")
    return source_code(split_for_device(lowered, Target("cuda"), packed=False).device, "cuda").text


def _script(function: FunctionSubject) -> bytes:
    """Return a function as a Python module in TVMScript."""
    assert function.lowered is not None
    text = function.lowered.script()
    return (text.replace("# from tvm.script", "from tvm.script") + "\n").encode()
