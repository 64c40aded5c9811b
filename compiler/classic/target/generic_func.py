"""Functions that dispatch on the current target: ``tvm.target.generic_func``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.target.target import Target


class GenericFunc:
    """A function that dispatches on the keys of the current target.

    ``default`` is for targets without an implementation of their own, and for calls without a current target.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.default: Callable[..., object] | None = None
        self._variants: dict[str, Callable[..., object]] = {}

    @property
    def is_default(self) -> bool:
        """Whether there is no implementation but the default."""
        return not self._variants

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call the implementation for the current target."""
        target = Target.current()
        for key in target.keys if target is not None else ():
            if key in self._variants:
                return self._variants[key](*args, **kwargs)
        if self.default is None:
            raise ArgumentError(f"{self.__name__}: there is no variant for {target or 'no target'}, and no default")
        return self.default(*args, **kwargs)

    def get_packed_func(self) -> GenericFunc:
        """Return the function that dispatches on the current target, which is this one."""
        return self

    def set_default(self, func: Callable[..., object], allow_override: bool = False) -> None:
        """Set the default implementation.

        Raises ArgumentError if there is one already, unless it may be replaced (``allow_override``).
        """
        if self.default is not None and not allow_override:
            raise ArgumentError(f"{self.__name__}: the default is set already; pass allow_override=True to replace it")
        self.default = func

    def register(
        self,
        func: Callable[..., object] | str | Sequence[str],
        key_list: str | Sequence[str] | None = None,
        allow_override: bool = False,
    ) -> object:
        """Register an implementation for target keys, e.g. ``["cuda", "gpu"]``; given the keys alone, a decorator.

        Raises ArgumentError if a key has an implementation already, unless it may be replaced (``allow_override``).
        """
        if not callable(func):
            return functools.partial(self.register, key_list=func, allow_override=allow_override)
        for key in [key_list] if isinstance(key_list, str) else key_list or ():
            if key in self._variants and not allow_override:
                raise ArgumentError(
                    f"{self.__name__}: {key!r} has a variant already; pass allow_override=True to replace it"
                )
            self._variants[key] = func
        return func


_NATIVE: dict[str, GenericFunc] = {}


def get_native_generic_func(name: str) -> GenericFunc:
    """Get or create the generic function with a name."""
    return _NATIVE.setdefault(name, GenericFunc(name))


def override_native_generic_func(func_name: str) -> Callable[[Callable[..., object]], GenericFunc]:
    """Return a decorator that sets the default of the generic function with a name, and returns that function."""

    def decorate(func: Callable[..., object]) -> GenericFunc:
        generic = get_native_generic_func(func_name)
        generic.set_default(func, allow_override=True)
        functools.update_wrapper(generic, func)
        return generic

    return decorate


def generic_func(fdefault: Callable[..., object]) -> GenericFunc:
    """Create a generic function with a default implementation.

    Examples
    --------
    ::

        @tvm.target.generic_func
        def factor():
            return 4

        @factor.register(["cuda", "gpu"])
        def factor_gpu():
            return 32

        with tvm.target.Target("cuda"):
            factor()          # 32
    """
    generic = GenericFunc(fdefault.__name__)
    generic.set_default(fdefault)
    functools.update_wrapper(generic, fdefault)
    return generic
