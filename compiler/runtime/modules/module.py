"""Modules of compiled functions: lookup, imports, source and export."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import IntFlag
from pathlib import Path
from typing import TYPE_CHECKING

from compiler.ir.error import ArgumentError, UnknownFunctionError, expected, show
from compiler.ir.extension import public_module
from compiler.runtime.arrays.marked_data import PROGRAM_MARK, marked
from compiler.runtime.modules.function import Function
from compiler.runtime.modules.linking import Exporting, write_anew
from compiler.runtime.modules.native_code import MAKING, NativeCode
from compiler.runtime.modules.returned import Returned
from compiler.runtime.modules.signature import Signature
from compiler.runtime.timing import time_evaluator as timing
from compiler.runtime.timing.measurement import BenchmarkResult, benchmark

if TYPE_CHECKING:
    from compiler.target.target import Target

__all__ = ["ENTRY", "BenchmarkResult", "Module", "ModulePropertyMask"]

ENTRY = "__tvm_main__"
"""The name of every module's entry function, which calling the module runs."""
DEFAULT_NAME = "default_function"
"""TVM's name of an unnamed function; ``main`` is found under this name, too."""


class ModulePropertyMask(IntFlag):
    """Properties of a module, as bits of :meth:`Module.get_property_mask`."""

    BINARY_SERIALIZABLE = 1
    """``export_library`` embeds the module as data."""
    RUNNABLE = 2
    """The functions can be called."""
    DSO_EXPORTABLE = 4
    """``export_library`` links the module's code into the library."""


class Module(timing.Timed, Exporting):
    """A module of compiled functions.

    Parameters
    ----------
    signatures : sequence of Signature
        The first is that of the entry function.
    code : callable
        Loads the machine code; called when a function is first called.
    sources : mapping of str to callable
        Functions that return the source for :meth:`get_source`, by format: ``ll``, ``asm``, …
    exporter : callable, optional
        Returns the contents of the file that :meth:`export_library` writes, for a file name (whose extension selects
        the format) and the data to embed.
    files : mapping of str to callable
        Functions that return what :meth:`save` writes, by format, where it is not what the exporter returns: ``ll``,
        ``bc``, ``s``, …
    """

    def __init__(
        self,
        signatures: Sequence[Signature],
        code: Callable[[], NativeCode],
        sources: Mapping[str, Callable[[], str]] | None = None,
        exporter: Callable[[str, bytes], bytes] | None = None,
        target: Target | str | None = None,
        files: Mapping[str, Callable[[], bytes]] | None = None,
    ) -> None:
        self._code = code
        self._loaded: NativeCode | None = None
        self._sources = dict(sources or {})
        self._exporter = exporter
        self._files = dict(files or {})
        self.target = target
        self._functions = {s.name: self._function(s) for s in signatures}
        self._imports: list[Module] = []
        self.program: Callable[[], bytes] | None = None
        """Serializes the virtual machine's program if the functions are its kernels; otherwise None."""
        self._entry = signatures[0].name if signatures else ""
        self.entry_name = ENTRY

    def _function(self, signature: Signature) -> Function:
        return Function(self, signature.name, lambda: signature, self._native)

    def _native(self) -> NativeCode:
        if self._loaded is None:
            with MAKING:
                if self._loaded is None:
                    self._loaded = self._code()
        return self._loaded

    @property
    def type_key(self) -> str:
        """The kind of module, as TVM names it."""
        return {"": "library", "ll": "llvm"}.get(self.format, self.format)

    @property
    def format(self) -> str:
        """The format of the module's source: the first of those that it has."""
        return next(iter(self._sources), "")

    @property
    def is_runnable(self) -> bool:
        """Whether its functions can be called: always."""
        return True

    @property
    def is_binary_serializable(self) -> bool:
        """Whether it can be written into a host's library as data: machine code is linked instead."""
        return False

    @property
    def is_dso_exportable(self) -> bool:
        """Whether its machine code can be linked into a library."""
        return self._exporter is not None

    def get_property_mask(self) -> int:
        """Return what the module can do as bits."""
        return (
            ModulePropertyMask.BINARY_SERIALIZABLE * self.is_binary_serializable
            | ModulePropertyMask.RUNNABLE * self.is_runnable
            | ModulePropertyMask.DSO_EXPORTABLE * self.is_dso_exportable
        )

    @property
    def is_device_module(self) -> bool:
        """Whether its functions are kernels that a host launches: none that can be called here is."""
        return False

    @property
    def imported_modules(self) -> list[Module]:
        """The modules whose functions this one finds as well."""
        return list(self._imports)

    def import_module(self, module: Module) -> None:
        """Let this module find the functions of another one.

        Raises ArgumentError if that module finds the functions of this one.
        """
        if not isinstance(module, Module):
            expected("import_module", "module", "a module of machine code", module)
        if module._reaches(self):
            raise ArgumentError("import_module: the modules would import each other")
        self._imports.append(module)

    def _reaches(self, module: Module) -> bool:
        return self is module or any(each._reaches(module) for each in self._imports)

    def imported_functions(self) -> dict[str, Function]:
        """Return the functions of the modules that this one imports, of one name that of the first module."""
        functions: dict[str, Function] = {}
        for module in self._imports:
            for name, function in (module._functions | module.imported_functions()).items():
                functions.setdefault(name, function)
        return functions

    def replace_function(self, function: Function) -> None:
        """Let another function run under the name of one that the module has."""
        self._functions[function.name] = function

    def clear_imports(self) -> None:
        """Import no modules any more."""
        self._imports.clear()

    def stored_data(self) -> bytes:
        """Return what a library that is exported holds of the module as data: nothing of machine code."""
        return b""

    def imported_data(self) -> bytes:
        """Return what a library that is exported holds of the imported modules as data."""
        return b"".join(module.stored_data() for module in self._imports)

    def same_as(self, other: object) -> bool:
        """Return whether another module is this very one."""
        return self is other

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        """Return whether the module has a function of a name."""
        return self._find(name, query_imports) is not None

    def _find(self, name: str, query_imports: bool) -> Function | None:
        function = self._functions.get(name)
        if function is None and name == DEFAULT_NAME:
            function = self._functions.get("main")
        if function is None and query_imports:
            return next((f for m in self._imports if (f := m._find(name, True)) is not None), None)
        return function

    @property
    def entry_func(self) -> Function:
        """The entry function, which calling the module runs."""
        return self.get_function(self._entry)

    def get_function(self, name: str, query_imports: bool = False) -> Function:
        """Return a function by name; ``entry_name`` is the entry function.

        Raises UnknownFunctionError if there is no such function.
        """
        function = self.entry_func if name == ENTRY else self._find(name, query_imports)
        if function is None:
            names = ", ".join(repr(n) for n in self._functions)
            raise UnknownFunctionError(f"Module: no function is named {show(name)}; there are {names}")
        return function

    def __getitem__(self, name: str) -> Function:
        return self.get_function(name, query_imports=True)

    def __call__(self, *args: object) -> Returned:
        """Run the entry function."""
        return self.entry_func(*args)

    def get_source(self, fmt: str = "") -> str:
        """Return the source: of machine code ``ll`` (LLVM IR, the default), ``asm`` or ``s``, else its language.

        Raises ArgumentError if the source is not available in this format.
        """
        make = self._sources.get(fmt or self.format) or (self._sources.get("asm") if fmt == "s" else None)
        if make is None:
            if fmt in self._files:
                raise ArgumentError(f"get_source: {fmt!r} is binary; write it to a file with save('kernels.{fmt}')")
            formats = ", ".join(map(repr, self._sources)) or "nothing: a loaded module has no source"
            expected("get_source", "fmt", f"one of {formats}", fmt)
        return make()

    def exported(self, file_name: str) -> bytes:
        """Return the contents of the file that :meth:`export_library` writes.

        Raises ArgumentError if the module was itself loaded from a file.
        """
        if self._exporter is None:
            raise ArgumentError("export_library: this module was loaded from a file; copy that file")
        program = b"" if self.program is None else marked(PROGRAM_MARK, self.program())
        return self._exporter(file_name, self.imported_data() + program)

    def save(self, file_name: str, fmt: str = "") -> None:
        """Write the module to a file: ``ll``, ``bc``, ``asm``, ``o``, …; by default what the file's extension says.

        ``load_module`` reads all formats but assembly. Raises ArgumentError if the file cannot be written.
        """
        content = self.saved(file_name, fmt)
        try:
            write_anew(file_name, content)
        except OSError as exc:
            raise ArgumentError(f"save: cannot write {show(str(file_name))}: {exc.strerror}") from None

    def saved(self, file_name: str, fmt: str = "") -> bytes:
        """Return the contents of the file that :meth:`save` writes."""
        make = self._files.get(fmt or Path(file_name).suffix[1:])
        return make() if make is not None else self.exported(str(file_name))

    def evaluator(self, func_name: str, number: int, repeat: int, min_seconds: float) -> Callable[..., BenchmarkResult]:
        function = self.get_function(func_name)

        def evaluate(*args: object) -> BenchmarkResult:
            seconds = function.device_seconds(args, number, repeat)
            if seconds is not None:
                return BenchmarkResult(seconds)
            run = function.prepare(args)
            return benchmark(self, function.name, args, run, number, repeat, min_seconds)

        return evaluate

    # Looked up here when executors are measured, as programs may replace it.
    time_evaluator = timing.time_evaluator

    def __repr__(self) -> str:
        return f"Module({', '.join(self._functions)})"


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.runtime.module", __all__)
