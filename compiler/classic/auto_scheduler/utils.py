"""``tvm.auto_scheduler.utils``: helpers for workload keys and numbers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import fmean

from compiler.classic.autotvm.task.workload import deserialize_args, serialize_args
from compiler.classic.autotvm.utils import get_func_name
from compiler.classic.rpc.devices import check_remote, request_remote
from compiler.topi.utils import get_const_int, get_const_tuple

__all__ = [
    "array_mean", "calc_workload_dis_factor", "check_remote", "decode_workload_key", "deserialize_args",
    "get_const_int", "get_const_tuple", "get_func_name", "list_to_tuple", "request_remote", "serialize_args",
    "to_str_round",
]  # fmt: skip

Key = tuple[str, tuple[object, ...] | None]


def list_to_tuple(x: Sequence[object]) -> tuple[object, ...]:
    """Return a list as a tuple, and the lists in it too."""
    return tuple(list_to_tuple(v) if isinstance(v, list | tuple) else v for v in x)


def array_mean(arr: Sequence[float]) -> float:
    """Return the mean of numbers."""
    return fmean(map(float, arr))


def to_str_round(x: str | float | Sequence[object], decimal: int = 6) -> str:
    """Return numbers as a text with so many decimals."""
    if isinstance(x, str):
        return x
    if isinstance(x, list | tuple):
        return "[" + ", ".join(to_str_round(value, decimal) for value in x) + "]"
    return str(x) if isinstance(x, int) else f"{x:.{decimal}f}"


def decode_workload_key(workload_key: str) -> Key:
    """Return the name of a key's function, or a computation's digest, and all numbers behind it.

    There are no numbers (None) if the text is not JSON.
    """
    try:
        name, *args = json.loads(workload_key)
    except ValueError:
        return workload_key, None
    return name, tuple(_flat(args))


def _flat(values: Sequence[object]) -> list[object]:
    return [leaf for value in values for leaf in (_flat(value) if isinstance(value, list | tuple) else [value])]


def calc_workload_dis_factor(target_workload_pair: Key, workload_pair: Key) -> float:
    """Return how many times larger one workload is than another one of the same function.

    It is the product of the quotients of all numbers; infinite where the functions differ, or a number is no multiple.
    """
    (name, larger), (other, smaller) = target_workload_pair, workload_pair
    if name != other or larger is None or smaller is None or len(larger) != len(smaller):
        return float("inf")
    factor = 1.0
    for big, small in zip(larger, smaller, strict=True):
        if not isinstance(big, int) or not isinstance(small, int) or big == 0 or small == 0 or big % small:
            if big != small:
                return float("inf")
        else:
            factor *= big / small
    return factor
