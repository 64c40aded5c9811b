"""Modules of compiled functions: checked calls, sources and export."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from enum import IntFlag
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compiler.ir.error import ArgumentError, BuildError, TVMError, UnknownFunctionError, expected, show
from compiler.ir.extension import public_module
from compiler.ir.instrument import active_instruments
from compiler.runtime import time_evaluator as timing
from compiler.runtime.arguments import Binder
from compiler.runtime.marked_data import PROGRAM_MARK, marked
from compiler.runtime.measurement import BenchmarkResult, benchmark, call_instrumented
from compiler.runtime.native_code import NativeCode
from compiler.runtime.ndarray import NDArray
from compiler.runtime.packed_call import importing, take_failure
from compiler.runtime.returned import Returned, ReturnSlot
from compiler.runtime.signature import Signature
from compiler.runtime.threads import num_threads

if TYPE_CHECKING:
    from compiler.target.target import Target

__all__ = ["ENTRY", "BenchmarkResult", "Function", "Module", "ModulePropertyMask"]

ENTRY = "__tvm_main__"
"""The name under which every module finds the function that calling the module runs."""
USUAL_NAME = "default_function"
"""What TVM calls a function that nobody has named; ``main`` is found under this name, too."""


def write_exported(file_name: str, content: bytes) -> None:
    """Write what was exported to a file.

    Raises
    ------
    BuildError
        If the file cannot be written.
    """
    try:
        Path(file_name).write_bytes(content)
    except OSError as exc:
        raise BuildError(f"export_library: cannot write {file_name!r}: {exc.strerror}") from None


class Function:
    """One function of a module; call it with NDArrays, NumPy arrays and numbers."""

    def __init__(self, module: Module, signature: Signature, code: Callable[[], NativeCode]) -> None:
        self._module = module
        self._code = code
        self._binder = Binder(signature)
        self._entry: Callable[..., int] | None = None
        self.signature = signature
        self.name = signature.name

    def __call__(self, *args: object) -> Returned:
        """Run the function.

        Returns
        -------
        int, float, bool, c_void_p or None
            What ``tir.ret`` returned; None without it.

        Raises
        ------
        ArgumentError
            If the arguments do not fit; machine code has not run then.
        TVMError
            If an assertion of the function fails.
        """
        run = self.prepare(args)
        instruments = active_instruments()
        if instruments:
            return call_instrumented(instruments, self._module, self.name, args, run)
        return run()

    def prepare(self, args: tuple[object, ...]) -> Callable[[], Returned]:
        """Check arguments and return what runs the function on them."""
        values = self._binder.bind(args)
        if self.signature.threads:
            values.append(num_threads())
        result = ReturnSlot(self.signature.returns) if self.signature.returns else None
        if result is not None:
            values.append(result.address)
        entry = self._native()
        imported = self._module.imported_functions()

        def run() -> Returned:
            if imported:
                with importing(imported):
                    status = entry(*values)
            else:
                status = entry(*values)
            if status:
                raise self._failure(status)
            return None if result is None else result.value()

        return run

    def direct_call(self) -> Callable[[Sequence[NDArray]], None]:
        """Return what runs the function on arrays whose shapes are static, with the checks of a call that are left.

        Returns
        -------
        callable
            Takes arrays, in rows without gaps, of which those that are written share memory with no others.
            Arrays that do not fit are refused as by a call.
        """
        expected = self._binder.static_arrays()
        if expected is None or self.signature.returns or self._module.imported_functions():
            return self._checked_call
        return partial(self._run_directly, expected)

    def _checked_call(self, arrays: Sequence[NDArray]) -> None:
        self.prepare(tuple(arrays))()

    def _run_directly(self, expected: list[tuple[tuple[Any, ...], str, int]], arrays: Sequence[NDArray]) -> None:
        values = [
            array.address
            for array, (shape, dtype, unaligned) in zip(arrays, expected, strict=True)
            if array.shape == shape and array.dtype == dtype and not array.address & unaligned
        ]
        if len(values) < len(expected):
            self._checked_call(arrays)
            return
        if self.signature.threads:
            values.append(num_threads())
        status = (self._entry or self._native())(*values)
        if status:
            raise self._failure(status)

    def device_seconds(self, args: tuple[object, ...], number: int, repeat: int) -> list[float] | None:
        """Return how long a call takes by the clock of the device that runs it.

        Parameters
        ----------
        args : tuple of object
        number : int
            Calls that one measurement averages over.
        repeat : int
            Measurements.

        Returns
        -------
        list of float or None
            None where the CPU runs it, whose clock everybody can read.
        """
        return None

    def _failure(self, status: int) -> BaseException:
        """Return the exception of a call of Python's, or of an assertion."""
        return take_failure() or TVMError(f"{self.name}: {self.signature.messages[status - 1]}")

    def _native(self) -> Callable[..., int]:
        if self._entry is None:
            types = self._binder.c_types + [ctypes.c_int32] * self.signature.threads
            types += [ctypes.c_void_p] * bool(self.signature.returns)
            address = self._code().address(self.signature.symbol)
            self._entry = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(address)
        return self._entry

    def __repr__(self) -> str:
        return f"Function({self.name})"


class ModulePropertyMask(IntFlag):
    """What a module can do, as the bits of :meth:`Module.get_property_mask`."""

    BINARY_SERIALIZABLE = 1
    """A library that is exported holds it as data."""
    RUNNABLE = 2
    """Its functions can be called."""
    DSO_EXPORTABLE = 4
    """Its code is linked into a library that is exported."""


class Module(timing.Timed):
    """Machine code for some functions, with their signatures.

    Parameters
    ----------
    signatures : sequence of Signature
        The first one is the entry.
    code : callable
        Makes the machine code callable, when a function is first called.
    sources : mapping of str to callable
        What :meth:`get_source` answers by format: ``ll``, ``asm``, …
    exporter : callable, optional
        Returns what a file of a name, which says by its ending what it is, contains of the module, with data that goes
        with it: for :meth:`export_library`.
    target : Target or str, optional
        What the code was made for; of a loaded module, as text.
    files : mapping of str to callable
        What :meth:`save` writes by format, where that is not what the exporter returns: ``ll``, ``bc``, ``s``, …
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
        self._functions = {s.name: Function(self, s, self._native) for s in signatures}
        self._imports: list[Module] = []
        self.program: Callable[[], bytes] | None = None
        """Returns the program of the virtual machine whose kernels the functions are, where there is one."""
        self._entry = signatures[0].name if signatures else ""
        self.entry_name = ENTRY

    def _native(self) -> NativeCode:
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
        """Return what the module can do as bits.

        Returns
        -------
        int
            Of :class:`ModulePropertyMask`.
        """
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

        Parameters
        ----------
        module : Module

        Raises
        ------
        ArgumentError
            If that module finds the functions of this one.
        """
        if not isinstance(module, Module):
            expected("import_module", "module", "a module of machine code", module)
        if module._reaches(self):
            raise ArgumentError("import_module: the modules would import each other")
        self._imports.append(module)

    def _reaches(self, module: Module) -> bool:
        return self is module or any(each._reaches(module) for each in self._imports)

    def imported_functions(self) -> dict[str, Function]:
        """Return the functions of the modules that this one imports, by name.

        Returns
        -------
        dict of str to Function
            The first module's where several have the name.
        """
        functions: dict[str, Function] = {}
        for module in self._imports:
            for name, function in (module._functions | module.imported_functions()).items():
                functions.setdefault(name, function)
        return functions

    def replace_function(self, function: Function) -> None:
        """Let another function run under the name of one that the module has.

        Parameters
        ----------
        function : Function
        """
        self._functions[function.name] = function

    def clear_imports(self) -> None:
        """Import no modules any more."""
        self._imports.clear()

    def stored_data(self) -> bytes:
        """Return what a library that is exported holds of the module as data: nothing of machine code.

        Returns
        -------
        bytes
        """
        return b""

    def imported_data(self) -> bytes:
        """Return what a library that is exported holds of the imported modules as data.

        Returns
        -------
        bytes
        """
        return b"".join(module.stored_data() for module in self._imports)

    def same_as(self, other: object) -> bool:
        """Return whether another module is this very one.

        Parameters
        ----------
        other : object

        Returns
        -------
        bool
        """
        return self is other

    def implements_function(self, func_name: str, query_imports: bool = False) -> bool:
        """Return whether there is a function of a name.

        Parameters
        ----------
        func_name : str
        query_imports : bool
            Whether those of imported modules count as well.

        Returns
        -------
        bool
        """
        return self._find(func_name, query_imports) is not None

    def _find(self, name: str, query_imports: bool) -> Function | None:
        function = self._functions.get(name)
        if function is None and name == USUAL_NAME:
            function = self._functions.get("main")
        if function is None and query_imports:
            return next((f for m in self._imports if (f := m._find(name, True)) is not None), None)
        return function

    @property
    def entry_func(self) -> Function:
        """The function that calling the module runs."""
        return self.get_function(self._entry)

    def get_function(self, name: str, query_imports: bool = False) -> Function:
        """Return a function by name.

        Parameters
        ----------
        name : str
            One of the module's functions; ``entry_name`` for the one that calling the module runs.
        query_imports : bool
            Whether imported modules are asked as well.

        Returns
        -------
        Function

        Raises
        ------
        UnknownFunctionError
            If there is no such function.
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
        """Return the module as text.

        Parameters
        ----------
        fmt : str
            Of machine code, ``ll`` (LLVM IR, the default), ``asm`` or ``s``; of source code its language.

        Returns
        -------
        str

        Raises
        ------
        ArgumentError
            If the module has no such text.
        """
        make = self._sources.get(fmt or self.format) or (self._sources.get("asm") if fmt == "s" else None)
        if make is None:
            if fmt in self._files:
                raise ArgumentError(f"get_source: {fmt!r} is binary; write it to a file with save('kernels.{fmt}')")
            formats = ", ".join(map(repr, self._sources)) or "nothing: a loaded module has no source"
            expected("get_source", "fmt", f"one of {formats}", fmt)
        return make()

    def export_library(self, file_name: str, **options: object) -> None:
        """Write machine code, and imported modules' kernels, to a file that ``tvm.runtime.load_module`` reads.

        Parameters
        ----------
        file_name : str
            An object file (``.o``), a shared library (``.so``), or an archive (``.tar``).
        **options
            Accepted as TVM does.

        Raises
        ------
        ArgumentError
            If the module was loaded from a file itself.
        BuildError
            If the file cannot be written.
        """
        write_exported(str(file_name), self.exported(str(file_name)))

    def exported(self, file_name: str) -> bytes:
        """Return what :meth:`export_library` writes to a file of this name.

        Parameters
        ----------
        file_name : str

        Returns
        -------
        bytes

        Raises
        ------
        ArgumentError
            If the module was loaded from a file itself.
        """
        if self._exporter is None:
            raise ArgumentError("export_library: this module was loaded from a file; copy that file")
        program = b"" if self.program is None else marked(PROGRAM_MARK, self.program())
        return self._exporter(file_name, self.imported_data() + program)

    def save(self, file_name: str, fmt: str = "") -> None:
        """Write the module to a file.

        Parameters
        ----------
        file_name : str
            Where to.
        fmt : str
            ``ll``, ``bc``, ``asm``, ``o``, …; what the file's ending says when left out.  ``load_module`` reads all
            but assembly.

        Raises
        ------
        ArgumentError
            If the file cannot be written.
        """
        content = self.saved(file_name, fmt)
        try:
            Path(file_name).write_bytes(content)
        except OSError as exc:
            raise ArgumentError(f"save: cannot write {show(str(file_name))}: {exc.strerror}") from None

    def saved(self, file_name: str, fmt: str = "") -> bytes:
        """Return what :meth:`save` writes to a file of this name.

        Parameters
        ----------
        file_name : str
        fmt : str
            As of :meth:`save`.

        Returns
        -------
        bytes
        """
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

    # Executors look it up here when they are measured: a program may put another function in its place.
    time_evaluator = timing.time_evaluator

    def __repr__(self) -> str:
        return f"Module({', '.join(self._functions)})"


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.runtime.module", __all__)
