"""Hybrid modules: hybrid scripts as text, written from a schedule or loaded from a file."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from compiler.classic.te.hybrid.parser import parse_function
from compiler.classic.te.hybrid.runtime import describes_operation, run_as_python
from compiler.classic.te.hybrid.writer import write_script
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import Var
from compiler.te.definition.tensor import Tensor
from compiler.te.lowering.bounds import infer_bound
from compiler.te.scheduling.ops import StatementBuilder, ThreadMerger
from compiler.te.scheduling.schedule import Schedule
from compiler.tir.script.source import Source

__all__ = ["HybridModule", "build"]


def build(
    sch: Schedule, inputs: Sequence[Tensor | Var], outputs: Sequence[Tensor], name: str = "hybrid_func"
) -> HybridModule:
    """Write the loops of a schedule as a hybrid script, which can be called as one written by hand.

    A schedule with something that hybrid scripts have no word for, such as a tensor intrinsic, is a LoweringError.
    """
    normalized = sch.normalize()
    builder = StatementBuilder(normalized, infer_bound(normalized))
    statement = ThreadMerger(builder.aliases).visit(builder.body())
    return HybridModule(write_script(statement, inputs, outputs, name), name)


class HybridModule:
    """A hybrid script as text, which :meth:`load` may read later; its function is named unless it is the only one."""

    def __init__(self, src: str | None = None, name: str | None = None) -> None:
        self.name = name
        self._source: Source | None = None
        self._function: Callable[..., Any] | None = None
        if src is not None:
            self._take(src)

    def __call__(self, *args: object) -> Any:
        """Call the script: with tensors it describes an operation, with NumPy arrays it runs."""
        if self._source is None or self._function is None:
            raise ArgumentError("HybridModule: there is no script yet; load one")
        if describes_operation(args):
            return parse_function(self._source, args, {})
        return run_as_python(self._function, *args)

    def get_source(self) -> str:
        """Return the text."""
        return "" if self._source is None else self._source.text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the text to a file, which gets the ending ``.py`` if it has none."""
        Path(_python_file(path)).write_text(self.get_source(), encoding="utf-8")

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read the text from a file; the first function that it defines is the script.

        Raises ArgumentError if the file defines no function.
        """
        self._take(Path(_python_file(path)).read_text(encoding="utf-8"))

    def _take(self, text: str) -> None:
        source = Source.of_text(text)
        definition = next((n for n in source.tree.body if isinstance(n, ast.FunctionDef)), None)
        if definition is None:
            raise ArgumentError("HybridModule: the text must define a function, got none")
        self.name, self._source, self._function = definition.name, source, _compiled(text, source.file)


def _compiled(text: str, file: str) -> Callable[..., object]:
    """Return the function that a text defines, without its decorator, which would need TVM."""
    tree = ast.parse(text)
    definition = next(n for n in tree.body if isinstance(n, ast.FunctionDef))
    definition.decorator_list = []
    names: dict[str, Any] = {}
    exec(compile(ast.Module([definition], []), file, "exec"), names)
    function: Callable[..., object] = names[definition.name]
    return function


def _python_file(path: str | os.PathLike[str]) -> str:
    text = os.fspath(path)
    return text if text.endswith(".py") else f"{text}.py"
