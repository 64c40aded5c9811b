"""``type_checked``: arguments are of the types that a function is annotated with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from compiler.classic.tir.schedule_type_checker import type_checked


def checked(annotation: object) -> Callable[[object], str]:
    def f(x: object) -> str:
        return "called"

    f.__annotations__ = {"x": annotation}
    return type_checked(f)


ACCEPTED = [
    (int, 1),
    (list[int], [1, 2]),
    (dict[str, int], {"a": 1}),
    (tuple[int, str], (1, "a")),
    (tuple[int, ...], (1, 2, 3)),
    (int | None, None),
    (list[str] | str, "a"),
    (Callable[[int], int], len),
    (Callable, len),
    (Any, 3),
    (dict, {1: 2}),
]


@pytest.mark.parametrize(("annotation", "value"), ACCEPTED)
def test_a_value_of_its_type_is_passed_on(annotation: object, value: object) -> None:
    assert checked(annotation)(value) == "called"


REFUSED = [
    (int, "x", '"x" has wrong type. Expected "int", but gets: "str"'),
    (list[int], [1, "a"], '"x[1]" has wrong type. Expected "int", but gets: "str"'),
    (dict[str, int], {1: 1}, '"x[1]" has wrong type. Expected "str", but gets: "int"'),
    (dict[str, int], {"a": "b"}, '"x[a]" has wrong type. Expected "int", but gets: "str"'),
    (tuple[int, str], (1,), '"x" has wrong type. Expected "Tuple[int, str]", but gets: "Tuple[int]"'),
    (tuple[int, ...], (1, "a"), '"x[1]" has wrong type. Expected "int", but gets: "str"'),
    (int | None, "a", '"x" has wrong type. Expected "int", but gets: "str"'),
    (int | str, 1.5, '"x" has wrong type. Expected "Union[int, str]", but gets: "float"'),
    (list[str] | str, [1], '"x" has wrong type. Expected "Union[List[str], str]", but gets: "List[int]"'),
    (list[int | str], [2.0], '"x[0]" has wrong type. Expected "Union[int, str]", but gets: "float"'),
    (list[int] | None, [None], '"x[0]" has wrong type. Expected "int", but gets: "None"'),
    (Callable[[int], int], 5, '"x" has wrong type. Expected "Callable", but gets: "int"'),
]


@pytest.mark.parametrize(("annotation", "value", "message"), REFUSED)
def test_a_value_of_another_type_is_named_with_its_place(annotation: object, value: object, message: str) -> None:
    with pytest.raises(TypeError) as raised:
        checked(annotation)(value)
    assert str(raised.value) == f'In "checked.<locals>.f", {message}'


def test_defaults_are_checked_and_what_has_no_annotation_is_not() -> None:
    @type_checked
    def f(a: int, b: str = "b", *rest: int, **options: int) -> tuple[object, ...]:
        return a, b, rest, options

    assert f(1) == (1, "b", (), {})
    assert f(1, "c", "free", other="free") == (1, "c", ("free",), {"other": "free"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match='"b" has wrong type'):
        f(1, b=3)  # type: ignore[arg-type]
