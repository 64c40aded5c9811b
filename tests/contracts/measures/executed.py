"""Which functions of the compiler the project's own programs call: its examples, lessons, golden programs and models.

A program runs in a process of its own, in the way that a user runs it.  What modules do while they are imported does
not count, nor does what processes do that the program starts.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import io
import multiprocessing
import runpy
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from tests.contracts.measures.sources import PARTS, ROOT, Source, part_of, sources
from tests.contracts.measures.types import Share

Place = tuple[str, int]
"""A function: its file, and its first line, which is that of its first decorator if it has one."""
Program = Callable[[], object]


def executed(programs: Iterable[tuple[str, Program]]) -> dict[str, dict[str, Share]]:
    """Run programs, and return the shares of the functions of each part that they call, and of these functions' lines.

    Docstrings do not count as lines.
    """
    _import_all()
    places = set[Place]().union(*(calls_of(name, program) for name, program in programs))
    found = {}
    for part in PARTS:
        lines = Counter[Place]()
        for source in sources("compiler"):
            if part_of(source.path) == part:
                lines.update(function_lines(source))
        called = [count for place, count in lines.items() if place in places]
        found[part] = {"functions": Share(len(called), len(lines)), "lines": Share(sum(called), lines.total())}
    return found


def function_lines(source: Source) -> Counter[Place]:
    """Return how many lines each function has, without its docstring and the functions in it."""
    innermost: dict[int, Place | None] = {}
    for function in source.functions():  # the outer ones come first
        first = min(node.lineno for node in (function, *function.decorator_list))
        end = function.end_lineno or function.lineno
        innermost |= dict.fromkeys(range(function.lineno, end + 1), (str(ROOT / source.path), first))
        match function.body[0]:
            case ast.Expr(value=ast.Constant(value=str())) as docstring:
                innermost |= dict.fromkeys(range(docstring.lineno, (docstring.end_lineno or docstring.lineno) + 1))
    return Counter(place for place in innermost.values() if place is not None)


def calls_of(name: str, program: Program) -> set[Place]:
    """Run a program in a forked process, and return what it called.

    Raises
    ------
    RuntimeError
        If it fails; it has then said why.
    """
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    process = fork.Process(target=_record, args=(program, sender))
    process.start()
    sender.close()
    with contextlib.suppress(EOFError):
        places: set[Place] = receiver.recv()
        process.join()
        return places
    raise RuntimeError(f"{name} failed")


def _record(program: Program, sender: Connection) -> None:
    """Run a program, and send the places of the functions it calls, in any of its threads."""
    codes = set()

    def see(frame: FrameType, event: str, arg: object) -> None:
        if event == "call":
            codes.add(frame.f_code)

    with TemporaryDirectory() as folder, chdir(folder):
        threading.setprofile(see)
        sys.setprofile(see)
        try:
            program()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    sender.send({(code.co_filename, code.co_firstlineno) for code in list(codes)})


def _import_all() -> None:
    """Import every module of the compiler that can be: importers need what not everyone has installed."""
    for source in sources("compiler"):
        if source.path.name != "__main__.py":
            with contextlib.suppress(ImportError):
                importlib.import_module(".".join(source.path.with_suffix("").parts).removesuffix(".__init__"))


def all_programs() -> Iterator[tuple[str, Program]]:
    """Yield the names and programs of the gallery, the lessons, the golden texts and the small models."""
    from app.gallery import load_gallery
    from app.lessons import Library
    from tests.golden.test_programs import PROGRAMS
    from tests.models import MODELS

    for example in load_gallery():
        yield example.name, partial(_compile, example.script)
    for lesson in Library().lessons:
        for number, step in enumerate(lesson.steps, start=1):
            if step.answer is not None:
                yield f"{lesson.name} {number}", partial(_compile, step.answer)
    for path in PROGRAMS:
        yield path.stem, partial(_run_file, path)
    for model in MODELS:
        yield model, partial(_run_model, model)


def _compile(script: str) -> None:
    """Compile a script as the explorer does.

    Raises
    ------
    RuntimeError
        If the script fails.
    """
    from app.protocol import Request, Snapshot
    from tests.app.recorder.serving import served

    *_, last = [message for message in served(Request(mode="compile", script=script)) if isinstance(message, Snapshot)]
    errors = [problem.message for problem in last.answer.problems if problem.severity == "error"]
    if errors:
        raise RuntimeError("\n".join(errors))


def _run_file(path: Path) -> None:
    from compiler.classic import alias

    alias.install()
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(path), run_name="__main__")


def _run_model(name: str) -> None:
    """Import, build and run a small model."""
    from compiler.driver.relay import vm
    from compiler.driver.relay.build import build
    from compiler.ir.transform import PassContext
    from compiler.relay.frontend import from_onnx
    from compiler.runtime.device import cpu
    from compiler.runtime.graph.graph_module import GraphModule
    from tests import models

    model = models.build(name, small=True)
    inputs = models.inputs_of(model)
    mod, params = from_onnx(model, {key: value.shape for key, value in inputs.items()}, freeze_params=True)
    with PassContext(opt_level=3):
        if name in models.BY_MACHINE:
            machine = vm.VirtualMachine(vm.compile(mod, "llvm", params=params), cpu(0))
            machine.set_input("main", **inputs)
            machine.run()
        else:
            module = GraphModule(build(mod, "llvm", params=params)["default"](cpu(0)))
            module.set_input(None, None, **inputs)
            module.run()
