"""Functions with a variant for each group of targets: ``tvm.target.generic_func``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from compiler.ir.error import ArgumentError
from compiler.target.target import Target

__all__ = ["GenericFunc", "generic_func", "get_native_generic_func", "override_native_generic_func"]


class GenericFunc:
    """A function that the current target chooses the variant of.

    Parameters
    ----------
    name : str
        What it is called in messages.

    Attributes
    ----------
    default : callable or None
        The variant for targets without one of their own, and for calls outside of all targets.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.default: Callable[..., object] | None = None
        self._variants: dict[str, Callable[..., object]] = {}

    @property
    def is_default(self) -> bool:
        """Whether there are no variants beside the default."""
        return not self._variants

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call the variant of the current target.

        Parameters
        ----------
        *args, **kwargs
            Passed on to it.

        Returns
        -------
        object
            What it returns.

        Raises
        ------
        ArgumentError
            If there is neither a variant for the target nor a default.
        """
        target = Target.current()
        for key in target.keys if target is not None else ():
            if key in self._variants:
                return self._variants[key](*args, **kwargs)
        if self.default is None:
            raise ArgumentError(f"{self.__name__}: there is no variant for {target or 'no target'}, and no default")
        return self.default(*args, **kwargs)

    def get_packed_func(self) -> GenericFunc:
        """Return the function that calls the variant of the current target: this one.

        Returns
        -------
        GenericFunc
        """
        return self

    def set_default(self, func: Callable[..., object], allow_override: bool = False) -> None:
        """Set the variant for targets without one of their own.

        Parameters
        ----------
        func : callable
        allow_override : bool
            Replace a default that is there.

        Raises
        ------
        ArgumentError
            If there is one, and it is not to be replaced.
        """
        if self.default is not None and not allow_override:
            raise ArgumentError(f"{self.__name__}: the default is set already; pass allow_override=True to replace it")
        self.default = func

    def register(
        self,
        func: Callable[..., object] | str | Sequence[str],
        key_list: str | Sequence[str] | None = None,
        allow_override: bool = False,
    ) -> Any:
        """Set the variant for groups of targets.

        Parameters
        ----------
        func : callable, str or sequence of str
            The variant; or the keys, and the decorator that takes the variant is returned.
        key_list : str or sequence of str, optional
            The groups, e.g. ``["cuda", "gpu"]``.
        allow_override : bool
            Replace variants that are there.

        Returns
        -------
        callable
            The variant, or the decorator.

        Raises
        ------
        ArgumentError
            If a group has a variant, and it is not to be replaced.
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
    """Return the generic function of a name; a new one without variants where there is none.

    Parameters
    ----------
    name : str

    Returns
    -------
    GenericFunc
    """
    return _NATIVE.setdefault(name, GenericFunc(name))


def override_native_generic_func(func_name: str) -> Callable[[Callable[..., object]], GenericFunc]:
    """Return the decorator that makes a function the default of the generic function of a name.

    Parameters
    ----------
    func_name : str

    Returns
    -------
    callable
        From the function to the generic function, whose ``register`` adds variants.
    """

    def decorate(func: Callable[..., object]) -> GenericFunc:
        generic = get_native_generic_func(func_name)
        generic.set_default(func, allow_override=True)
        functools.update_wrapper(generic, func)
        return generic

    return decorate


def generic_func(fdefault: Callable[..., object]) -> GenericFunc:
    """Make a function the default of a new generic function.

    Parameters
    ----------
    fdefault : callable

    Returns
    -------
    GenericFunc
        Its ``register`` adds variants.

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
