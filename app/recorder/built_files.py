"""Makes files of what a script built: libraries, object code, C, texts that other tools read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from app.built_files import MAX_FILE_BYTES, BuiltFile, FileSubject, kind_of
from app.recorder.device_code import launches_threads
from app.recorder.recorder import Recorder
from app.recorder.subjects import FunctionSubject, GraphSubject
from compiler.driver.build import build
from compiler.driver.device_pipeline import split_for_device
from compiler.driver.relay.build import BuiltGraph
from compiler.ir.error import TVMError
from compiler.ir.module import IRModule
from compiler.target.codegen.source import source_code
from compiler.target.target import Target

S = TypeVar("S", FunctionSubject, GraphSubject)
_C_FORMS, _LINKED_FORMS = ("c", "h", "main.c"), ("so", "o")


def make_file(subject: FileSubject, recorder: Recorder) -> BuiltFile:
    """Return a file of what a script made, or why there is none.

    Parameters
    ----------
    subject : FileSubject
    recorder : Recorder
    """
    try:
        return _of_model(subject, recorder) if subject.model else _of_function(subject, recorder)
    except TVMError as error:
        return BuiltFile(problem=str(error))


def _of_model(subject: FileSubject, recorder: Recorder) -> BuiltFile:
    graph = _chosen(list(recorder.graphs), subject.unit)
    if graph is None or not isinstance(graph.built, BuiltGraph):
        return BuiltFile(problem="this script builds no model: relay.build makes one")
    if not kind_of(subject.form).of_models:
        return BuiltFile(problem="a model becomes a shared library or object code")
    return _file(graph.name, _written(graph.built.export_library, subject.form))


def _of_function(subject: FileSubject, recorder: Recorder) -> BuiltFile:
    function = _chosen(list(recorder.functions), subject.unit)
    if function is None or function.lowered is None:
        return BuiltFile(problem="this script makes no function")
    if subject.form == "tvmscript":
        return _file(function.name, _script(function))
    if subject.form in _C_FORMS:
        module = build(function.lowered, target="c", name=function.name)
        return _file(function.name, module.get_source(subject.form).encode())
    if subject.form == "cubin":
        return _file(function.name, _cuda_source(function.lowered).encode())
    if function.built is None:
        return BuiltFile(problem=f"{function.name} has no code: it was lowered, but it cannot be built")
    save = function.built.export_library if subject.form in _LINKED_FORMS else function.built.save
    return _file(function.name, _written(save, subject.form))


def _chosen(subjects: Sequence[S], position: int) -> S | None:
    """Return the subject at a position, else the one that was built last."""
    if 0 <= position < len(subjects):
        return subjects[position]
    built = [subject for subject in subjects if subject.built is not None]
    return (built or subjects)[-1] if subjects else None


def _cuda_source(lowered: IRModule) -> str:
    """Return the kernels of a function in CUDA C, which the server has compiled.

    Raises
    ------
    TVMError
        There are none.
    """
    if not launches_threads(lowered):
        raise TVMError("it launches no kernel: no loop of it is bound to blockIdx or threadIdx")
    return source_code(split_for_device(lowered, Target("cuda"), packed=False).device, "cuda").text


def _script(function: FunctionSubject) -> bytes:
    """Return a function's loops as a module of Python that defines them."""
    assert function.lowered is not None
    text = function.lowered.script()
    return (text.replace("# from tvm.script", "from tvm.script") + "\n").encode()


def _written(save: Callable[[str], None], form: str) -> bytes:
    """Return what is written to a file whose name ends like those of a form."""
    with TemporaryDirectory() as folder:
        path = Path(folder, f"module.{form}")
        save(str(path))
        return path.read_bytes()


def _file(name: str, content: bytes) -> BuiltFile:
    if len(content) > MAX_FILE_BYTES:
        size = f"the file has {len(content):,} bytes, and at most {MAX_FILE_BYTES:,} can be downloaded"
        return BuiltFile(problem=f"{size}; a script that python -m compiler runs writes it with export_library(path)")
    return BuiltFile(name=name[:200], content=content)
