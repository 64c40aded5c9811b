"""Parameters and fixtures of tests, and the targets of each test."""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import os
import pickle
import types
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import pytest

from compiler.classic.testing.environment import strtobool
from compiler.classic.testing.targets import is_runnable, requested_targets

__all__ = [
    "exclude_targets", "fixture", "known_failing_targets", "parameter", "parameters", "parametrize_targets",
    "skip_parameterizations", "target_params", "xfail_parameterizations",
]  # fmt: skip

Test = TypeVar("Test", bound=Callable[..., object])
Fixture = Callable[..., Any]

EXCLUDED = "tvm_excluded_targets"
KNOWN_FAILING = "tvm_known_failing_targets"
SOME_RUNS = "tvm_some_runs"
GROUP = "parametrize_group"
"""The attribute of the function of a fixture that has its values together with others: those of its group."""
VALUES = "parametrize_values"
"""The attribute with all values of the group, a tuple for each test."""
IDS = "parametrize_ids"

_groups = itertools.count()


def parameter(
    *values: object, ids: Sequence[str] | None = None, by_dict: Mapping[str, object] | None = None
) -> Fixture:
    """Return a fixture with several values: each test that has an argument of its name runs once for each of them.

    ``ids`` is how the values are called in the names of tests; ``by_dict`` has the values by these names. Raises
    RuntimeError if values are given in both ways.

    Examples
    --------
    ::

        size = tvm.testing.parameter(1, 10, 100)

        def test_sum(target, dev, size): ...
    """
    if by_dict is not None:
        if values or ids:
            raise RuntimeError("parameter: give the values either one by one or by_dict, not both")
        ids, values = list(by_dict), tuple(by_dict.values())

    # in a class, pytest passes an instance of the class first
    @pytest.fixture(params=values, ids=ids, scope="session")
    def as_fixture(*_class: object, request: pytest.FixtureRequest) -> Any:
        return request.param

    return as_fixture


def parameters(*value_sets: Sequence[object], ids: Sequence[str] | None = None) -> list[Fixture]:
    """Return fixtures whose values go together: a test that uses some of them runs once for each set of values.

    ``ids`` is how the sets are called in the names of tests. Raises ValueError if the sets have different lengths.

    Examples
    --------
    ::

        height, width = tvm.testing.parameters((1, 2), (3, 4))
    """
    lengths = {len(values) for values in value_sets}
    if len(lengths) > 1:
        raise ValueError(f"parameters: all sets must have one length, got {sorted(lengths)}")
    group = next(_groups)

    def made(values: tuple[object, ...]) -> Fixture:
        def as_fixture(*_class: object, request: pytest.FixtureRequest) -> Any:
            return request.param

        for attribute, value in ((GROUP, group), (VALUES, values), (IDS, ids)):
            setattr(as_fixture, attribute, value)
        return pytest.fixture(scope="session")(as_fixture)

    return [made(values) for values in zip(*value_sets, strict=True)]


def parametrize_targets(*args: str | Test) -> Any:
    """Run a test on targets of its own, not on those of ``TVM_TEST_TARGETS``; those that cannot run here are skipped.

    Without any, ``@parametrize_targets`` alone, the test runs on the usual ones, as each test does that has an argument
    ``target``.

    Examples
    --------
    >>> @tvm.testing.parametrize_targets("llvm", "llvm -mcpu=skylake-avx512")
    ... def test_sum(target, dev): ...
    """
    if len(args) == 1 and not isinstance(args[0], str) and callable(args[0]):
        return args[0]
    targets = [arg for arg in args if isinstance(arg, (str, dict))]
    return pytest.mark.parametrize("target", target_params(targets), scope="session")


def exclude_targets(*args: str) -> Callable[[Test], Test]:
    """Return the decorator of tests that do not run on some targets or kinds of them."""
    return lambda test: getattr(pytest.mark, EXCLUDED)(*args)(test)


def known_failing_targets(*args: str) -> Callable[[Test], Test]:
    """Return the decorator of tests that are expected to fail on some targets or kinds of them."""
    return lambda test: getattr(pytest.mark, KNOWN_FAILING)(*args)(test)


def skip_parameterizations(*skip_params: str, reason: str) -> Callable[[Test], Test]:
    """Return the decorator of tests that do not run with some values, e.g. ``llvm-float16``."""
    return lambda test: getattr(pytest.mark, SOME_RUNS)(skip_params, pytest.mark.skip(reason=reason))(test)


def xfail_parameterizations(*xfail_params: str, reason: str) -> Callable[[Test], Test]:
    """Return the decorator of tests that are expected to fail with some values, e.g. ``llvm-float16``."""
    return lambda test: getattr(pytest.mark, SOME_RUNS)(xfail_params, pytest.mark.xfail(reason=reason))(test)


def target_params(
    targets: Iterable[str] | None = None, excluded: Iterable[str] = (), failing: Iterable[str] = ()
) -> list[Any]:
    """Return the targets of a test as parameters of pytest, with their marks."""
    left_out, expected = set(excluded), set(failing)
    params = []
    for target in requested_targets() if targets is None else targets:
        text = str(target)
        names = {text, text.split()[0]}
        if names & left_out:
            continue
        marks = [] if is_runnable(text) else [pytest.mark.skip(reason=f"no device runs {text} here")]
        if names & expected:
            marks.append(pytest.mark.xfail(reason=f"known to fail on {text}"))
        params.append(pytest.param(target, marks=marks))
    return params


def fixture(func: Fixture | None = None, *, cache_return_value: bool = False) -> Any:
    """Make a fixture of a function of other fixtures.

    With ``cache_return_value`` it is called once for the same arguments, and each test gets a deep copy of the value.
    The environment variable ``TVM_TEST_DISABLE_CACHE`` turns this off.

    Examples
    --------
    ::

        @tvm.testing.fixture(cache_return_value=True)
        def reference(size):
            return np.random.rand(size)
    """
    if func is None:
        return lambda later: fixture(later, cache_return_value=cache_return_value)
    off = strtobool(os.environ.get("TVM_TEST_DISABLE_CACHE") or "off")
    return pytest.fixture(_cached(func) if cache_return_value and not off else func)


MAX_CACHED_VALUES = 64
"""How many values of one fixture are held."""


def _cached(func: Fixture) -> Fixture:
    """Return the function that remembers its latest values and returns copies of them."""
    values: OrderedDict[Hashable, object] = OrderedDict()

    @functools.wraps(func)
    def wrapper(*args: object, **named: object) -> object:
        given = inspect.signature(func).bind(*args, **named).arguments
        # The instance of a class of tests is another one for each test, and is not an input of the fixture.
        key = tuple(_cache_key(value) for name, value in given.items() if name != "self")
        if key not in values:
            value = func(*args, **named)
            _require_copyable(value)
            values[key] = value
            if len(values) > MAX_CACHED_VALUES:
                values.popitem(last=False)
        values.move_to_end(key)
        return copy.deepcopy(values[key])

    return wrapper


def _cache_key(value: object) -> Hashable:
    """Return what stands for an argument: itself, or its bytes where it has no hash."""
    try:
        hash(value)
    except TypeError:
        return pickle.dumps(value)
    return (type(value), value)


_COPY_METHODS = ("__deepcopy__", "__getnewargs__", "__getnewargs_ex__", "__getstate__", "__reduce__", "__reduce_ex__")


def _require_copyable(value: object) -> None:
    """Reject a value whose class does not say how it is copied: a generator, or an object that holds a resource."""
    if isinstance(value, (list, tuple, set, frozenset)):
        for item in value:
            _require_copyable(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            _require_copyable(item)
    elif not _says_how_it_is_copied(type(value)):
        raise TypeError(
            f"fixture: a value of type {type(value).__name__} cannot be cached, since its class does not define"
            f" how it is copied; it must define one of {', '.join(_COPY_METHODS)}"
        )


def _says_how_it_is_copied(cls: type) -> bool:
    if cls.__module__ in ("builtins", "numpy") or cls.__module__.startswith("compiler."):
        return cls is not types.GeneratorType
    return any(getattr(cls, name, None) is not getattr(object, name, None) for name in _COPY_METHODS)
