"""Functions of compiled modules."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from compiler.ir.error import TVMError
from compiler.ir.instrument import active_instruments
from compiler.ir.lazy_attribute import lazy_attribute
from compiler.runtime.arrays.arguments import Binder
from compiler.runtime.arrays.ndarray import NDArray
from compiler.runtime.modules.native_code import NativeCode
from compiler.runtime.modules.packed_call import importing, take_failure
from compiler.runtime.modules.returned import Returned, ReturnSlot
from compiler.runtime.modules.signature import Signature
from compiler.runtime.parallel.threads import num_threads
from compiler.runtime.timing.measurement import call_instrumented

if TYPE_CHECKING:
    from compiler.runtime.modules.module import Module


class Function:
    """A function of a module, callable with NDArrays, NumPy arrays and numbers.

    Its signature may not be known before it is called: ``describe`` returns it.
    """

    def __init__(
        self, module: Module, name: str, describe: Callable[[], Signature], code: Callable[[], NativeCode]
    ) -> None:
        self._module = module
        self._describe = describe
        self._code = code
        self._entry: Callable[..., int] | None = None
        self.name = name

    @lazy_attribute
    def signature(self) -> Signature:
        """Its parameters."""
        return self._describe()

    @lazy_attribute
    def _binder(self) -> Binder:
        return Binder(self.signature)

    def __call__(self, *args: object) -> Returned:
        """Run the function and return the value of its ``tir.ret``; None without one."""
        run = self.prepare(args)
        instruments = active_instruments()
        if instruments:
            return call_instrumented(instruments, self._module, self.name, args, run)
        return run()

    def prepare(self, args: tuple[object, ...]) -> Callable[[], Returned]:
        """Check arguments and return a callable that runs the function on them."""
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
                raise self.failure(status)
            return None if result is None else result.value()

        return run

    def direct_call(self) -> Callable[[Sequence[NDArray]], None]:
        """Return a callable that runs the function on arrays of static shapes, skipping the checks that these decide.

        It takes compact arrays, of which those that are written must not alias others.  Arrays that do not match the
        signature raise the same errors as in a call.
        """
        expected = self._binder.static_arrays()
        if expected is None or self.signature.returns or self._module.imported_functions():
            return self._checked_call
        return partial(self._run_directly, expected)

    def takes_directly(self, arrays: Sequence[NDArray]) -> bool:
        """Return whether the code may be called with the addresses of arrays, and the number of threads if any."""
        expected = self._binder.static_arrays()
        return (
            expected is not None
            and not self.signature.returns
            and not self._module.imported_functions()
            and len(arrays) == len(expected)
            and all(
                a.shape == shape and a.dtype == dtype and not a.address & unaligned
                for a, (shape, dtype, unaligned) in zip(arrays, expected, strict=True)
            )
        )

    @property
    def address(self) -> int:
        """Where the machine code is."""
        return self._code().address(self.signature.symbol)

    @property
    def entry(self) -> Callable[..., int]:
        """The machine code; it returns 0, or the number of a failure."""
        return self._native()

    def _checked_call(self, arrays: Sequence[NDArray]) -> None:
        self.prepare(tuple(arrays))()

    def _run_directly(self, expected: list[tuple[tuple[object, ...], str, int]], arrays: Sequence[NDArray]) -> None:
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
            raise self.failure(status)

    def device_seconds(self, args: tuple[object, ...], number: int, repeat: int) -> list[float] | None:
        """Measure seconds per call by the clock of the device; None on the CPU, which the host's clock measures."""
        return None

    def failure(self, status: int) -> BaseException:
        """Return the exception of a Python callback, or of a failed assertion."""
        return take_failure() or TVMError(f"{self.name}: {self.signature.messages[status - 1]}")

    def _native(self) -> Callable[..., int]:
        if self._entry is None:
            types = self._binder.c_types + [ctypes.c_int32] * self.signature.threads
            types += [ctypes.c_void_p] * bool(self.signature.returns)
            self._entry = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(self.address)
        return self._entry

    def __repr__(self) -> str:
        return f"Function({self.name})"
