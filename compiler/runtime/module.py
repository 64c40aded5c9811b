"""Built functions: checked calls, measurement, sources, export."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from compiler.ir.error import ArgumentError, TVMError, expected, show
from compiler.ir.instrument import active_instruments
from compiler.runtime.arguments import Binder
from compiler.runtime.device import Device
from compiler.runtime.measurement import BenchmarkResult, benchmark, call_instrumented
from compiler.runtime.native_code import NativeCode
from compiler.runtime.packed_call import take_failure
from compiler.runtime.returned import Returned, ReturnSlot
from compiler.runtime.signature import Signature
from compiler.runtime.threads import num_threads

if TYPE_CHECKING:
    from compiler.target.target import Target

__all__ = ["BenchmarkResult", "Function", "Module"]


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
        messages = self.signature.messages

        def run() -> Returned:
            status = entry(*values)
            if status:
                failure = take_failure()
                if failure is not None:
                    raise failure
                raise TVMError(f"{self.name}: {messages[status - 1]}")
            return None if result is None else result.value()

        return run

    def _native(self) -> Callable[..., int]:
        if self._entry is None:
            types = self._binder.c_types + [ctypes.c_int32] * self.signature.threads
            types += [ctypes.c_void_p] * bool(self.signature.returns)
            address = self._code().address(self.signature.symbol)
            self._entry = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(address)
        return self._entry

    def __repr__(self) -> str:
        return f"Function({self.name})"


class Module:
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
        Writes the module to a path, for :meth:`export_library`.
    target : Target or str, optional
        What the code was made for; of a loaded module, as text.
    """

    def __init__(
        self,
        signatures: Sequence[Signature],
        code: Callable[[], NativeCode],
        sources: Mapping[str, Callable[[], str]] | None = None,
        exporter: Callable[[str], None] | None = None,
        target: Target | str | None = None,
    ) -> None:
        self._code = code
        self._loaded: NativeCode | None = None
        self._sources = dict(sources or {})
        self._exporter = exporter
        self.target = target
        self._functions = {s.name: Function(self, s, self._native) for s in signatures}
        self.entry_name = signatures[0].name

    def _native(self) -> NativeCode:
        if self._loaded is None:
            self._loaded = self._code()
        return self._loaded

    @property
    def type_key(self) -> str:
        """The kind of module, as TVM names it."""
        return "llvm"

    @property
    def imported_modules(self) -> list[Module]:
        """Modules for other devices that this one launches; code for a CPU has none."""
        return []

    @property
    def entry_func(self) -> Function:
        """The function that calling the module runs."""
        return self._functions[self.entry_name]

    def get_function(self, name: str, query_imports: bool = False) -> Function:
        """Return a function by name.

        Parameters
        ----------
        name : str
            One of the module's functions.
        query_imports : bool
            Accepted as TVM does; a module here imports no others.

        Returns
        -------
        Function

        Raises
        ------
        ArgumentError
            If the module has no such function.
        """
        function = self._functions.get(name)
        if function is None:
            names = ", ".join(repr(n) for n in self._functions)
            raise ArgumentError(f"Module: no function is named {show(name)}; there are {names}")
        return function

    def __getitem__(self, name: str) -> Function:
        return self.get_function(name)

    def __call__(self, *args: object) -> Returned:
        """Run the entry function."""
        return self.entry_func(*args)

    def get_source(self, fmt: str = "") -> str:
        """Return the module as text.

        Parameters
        ----------
        fmt : str
            ``ll`` (LLVM IR, also the default) or ``asm``.

        Returns
        -------
        str

        Raises
        ------
        ArgumentError
            If the module has no such text.
        """
        make = self._sources.get(fmt or "ll")
        if make is None:
            formats = ", ".join(map(repr, self._sources)) or "nothing: a loaded module has no source"
            expected("get_source", "fmt", f"one of {formats}", fmt)
        return make()

    def export_library(self, file_name: str, **options: object) -> None:
        """Write the machine code to a file that ``tvm.runtime.load_module`` reads.

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
        """
        if self._exporter is None:
            raise ArgumentError("export_library: this module was loaded from a file; copy that file")
        self._exporter(str(file_name))

    def save(self, file_name: str, fmt: str = "") -> None:
        """Write the module to a file.

        Parameters
        ----------
        file_name : str
            Where to.
        fmt : str
            ``ll``, ``asm``, ``o``, …; what the file's ending says when left out.

        Raises
        ------
        ArgumentError
            If the file cannot be written.
        """
        path = Path(file_name)
        make = self._sources.get({"s": "asm"}.get(fmt or path.suffix[1:], fmt or path.suffix[1:]))
        if make is None:
            self.export_library(str(path))
            return
        try:
            path.write_text(make(), encoding="utf-8")
        except OSError as exc:
            raise ArgumentError(f"save: cannot write {show(str(path))}: {exc.strerror}") from None

    def time_evaluator(
        self,
        func_name: str,
        dev: Device,
        number: int = 10,
        repeat: int = 1,
        min_repeat_ms: int = 0,
        limit_zero_time_iterations: int = 100,
        cooldown_interval_ms: int = 0,
        repeats_to_cooldown: int = 1,
        f_preproc: str = "",
    ) -> Callable[..., BenchmarkResult]:
        """Return a function of the kernel's arguments that measures it.

        Parameters
        ----------
        func_name : str
            The kernel.
        dev : Device
            Where it runs.
        number : int
            Calls that one measurement averages over.
        repeat : int
            Measurements.
        min_repeat_ms : int
            A measurement lasts at least this many milliseconds: ``number`` grows until it does.
        limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown : int
            Accepted as TVM does.
        f_preproc : str
            Accepted as TVM does.

        Returns
        -------
        callable
            Returns a :class:`BenchmarkResult` in seconds a call.
        """
        for name, value, least in (("number", number, 1), ("repeat", repeat, 1), ("min_repeat_ms", min_repeat_ms, 0)):
            if not isinstance(value, int) or value < least:
                expected("time_evaluator", name, f"an int of at least {least}", value)
        if not isinstance(dev, Device):
            expected("time_evaluator", "dev", "a device such as tvm.cpu(0)", type(dev).__name__)
        dev.require("time_evaluator")
        function = self.get_function(func_name)

        def evaluate(*args: object) -> BenchmarkResult:
            run = function.prepare(args)
            return benchmark(self, function.name, args, run, number, repeat, min_repeat_ms / 1e3)

        return evaluate

    def __repr__(self) -> str:
        return f"Module({', '.join(self._functions)})"
