"""``tvm.contrib.pickle_memoize``: memoises slow functions of tests."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["memoize"]

Function = TypeVar("Function", bound=Callable[..., Any])

_RESULTS: dict[str, dict[bytes, bytes]] = {}


def memoize(key: str, save_at_exit: bool = False) -> Callable[[Function], Function]:
    """Return the decorator of a function that is called once for the same arguments while the process lives.

    Functions of one key share their results, of which copies are returned.  They are not written to disk, whatever
    ``save_at_exit`` says: another version would read them.
    """
    results = _RESULTS.setdefault(key, {})

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def call(*args: object, **named: object) -> Any:
            arguments = pickle.dumps((function.__qualname__, args, sorted(named.items())))
            if arguments not in results:
                results[arguments] = pickle.dumps(function(*args, **named))
            return pickle.loads(results[arguments])

        return call  # type: ignore[return-value]  # has the same signature

    return decorate
