"""LLVM through llvmlite, which is imported when machine code is first made.

Where llvmlite is not installed, expressions, schedules, graphs and source code for other compilers work all the same.
"""

from __future__ import annotations

import importlib
import itertools
import threading
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from compiler.ir.error import BuildError, UnavailableError
from compiler.runtime.parallel.forks import hold_while_forking

__all__ = ["LinkedCode", "binding", "has_llvm", "host_target", "position_independent", "require_llvm"]

_SHARE = 64
"""Pieces of code that one linker links: it keeps the names of all, and looks through them, but alone takes 130 KB."""
_ABSENT = "Symbols not found"
"""How LLVM says that linked code has no function or variable of a name."""


@cache
def require_llvm() -> Any:
    """Return ``llvmlite.binding``.

    Raises UnavailableError if llvmlite is not installed.
    """
    try:
        loaded: Any = importlib.import_module("llvmlite.binding")
    except ImportError as error:
        raise UnavailableError(
            f"machine code is made by LLVM through llvmlite, which cannot be imported: {error}; pip install llvmlite"
        ) from None
    _LOCK.of_llvm = loaded.ffi.lib._lock
    return loaded


def has_llvm() -> bool:
    """Return whether llvmlite can be imported."""
    try:
        require_llvm()
    except UnavailableError:
        return False
    return True


class _Lock:
    """The lock of all of llvmlite, from its import on: another thread may be compiling."""

    def __init__(self) -> None:
        self.of_llvm: object = None
        self._held = threading.local()

    def __enter__(self) -> None:
        self._held.lock = self.of_llvm
        if self._held.lock is not None:
            self._held.lock.__enter__()

    def __exit__(self, *exc: object) -> None:
        if self._held.lock is not None:
            self._held.lock.__exit__(*exc)


_LOCK = _Lock()
hold_while_forking(_LOCK)  # before the locks of those who make code: the last one is taken first


class _LoadedWhenUsed:
    def __getattr__(self, name: str) -> Any:
        return getattr(require_llvm(), name)


if TYPE_CHECKING:
    from llvmlite import binding
else:
    binding = _LoadedWhenUsed()  # each use is one of `require_llvm`


@cache
def host_target() -> Any:
    """Return LLVM's target for this machine, whose back end is ready."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple()


@cache
def _host_machine() -> Any:
    return host_target().create_target_machine(reloc="pic", codemodel="default")


def position_independent(code: str) -> bytes:
    """Return object code of LLVM IR for this machine, for whatever place in memory."""
    module = binding.parse_assembly(code)
    module.verify()
    return bytes(_host_machine().emit_object(module))


_numbers = itertools.count()


@lru_cache(maxsize=1)
def _linker(number: int) -> Any:
    return binding.create_lljit_compiler(_host_machine(), use_jit_link=True, suppress_errors=True)


class LinkedCode:
    """Object code in this process's memory, from where it goes with this object.

    LLVM's JITLink puts code, data and the way to functions of other libraries into one block.  LLVM's older linker maps
    each where there is room, and ends the process where a gap of 2 GiB lies between them, as beside a large model.
    """

    def __init__(self, code: bytes, addresses: Mapping[str, int]) -> None:
        """Link code that calls functions at addresses; others are looked for among those of the process.

        Raises BuildError if this is no object code.
        """
        builder = binding.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name, address in addresses.items():
            builder.import_symbol(name, address)
        number = next(_numbers)
        self._linker, self._name = _linker(number // _SHARE), f"code{number}"
        self._addresses: dict[str, int] = {}
        try:
            self._kept = [builder.link(self._linker, self._name)]  # the code is unloaded as soon as one of them goes
        except RuntimeError as error:
            raise BuildError(f"the machine code cannot be linked: {error}") from None

    def address(self, symbol: str) -> int:
        """Return where a function or variable is, 0 if the code has none of that name.

        Raises BuildError if the code cannot be linked, which is done when the first address is asked for.
        """
        if symbol not in self._addresses:
            try:
                found = self._linker.lookup(self._name, symbol)
            except RuntimeError as error:
                if str(error).startswith(_ABSENT):
                    return 0
                raise BuildError(f"the machine code cannot be linked: {error}") from None
            self._kept.append(found)
            self._addresses[symbol] = int(found[symbol])
        return self._addresses[symbol]
