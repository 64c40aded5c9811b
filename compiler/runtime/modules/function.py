"""Functions of compiled modules."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
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

    def takes_directly(self, arrays: Sequence[NDArray]) -> bool:
        """Return whether the code may be called with the addresses of arrays, and the number of threads if any.

        They have the static shapes of its signature; those that are written must not alias others.
        """
        expected = self._static_arrays
        return (
            expected is not None
            and len(arrays) == len(expected)
            and all(
                a.shape == shape and a.dtype == dtype and not a.address & unaligned
                for a, (shape, dtype, unaligned) in zip(arrays, expected, strict=True)
            )
        )

    @lazy_attribute
    def _static_arrays(self) -> list[tuple[tuple[object, ...], str, int]] | None:
        more_to_do = self.signature.returns or self._module.imported_functions()
        return None if more_to_do else self._binder.static_arrays()

    def run_on(self, arrays: Sequence[NDArray]) -> None:
        """Run the function on arrays, without the checks that :meth:`takes_directly` makes unnecessary."""
        if not self.takes_directly(arrays):
            self.prepare(tuple(arrays))()
            return
        threads = [num_threads()] if self.signature.threads else []
        status = self._native()(*[array.address for array in arrays], *threads)
        if status:
            raise self.failure(status)

    @property
    def address(self) -> int:
        """Where the machine code is."""
        return self._code().address(self.signature.symbol)

    @property
    def entry(self) -> Callable[..., int]:
        """The machine code; it returns 0, or the number of a failure."""
        return self._native()

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
