"""What operations make of a NaN: one rule each, the same in all executors and on all processors.

The rules follow classic TVM for TE and TIR, and NumPy for the operators of graphs, as the frameworks do that models
come from.  :func:`table` is the documentation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from compiler.tir.expressions.evaluation import Value


@dataclass(frozen=True, slots=True)
class Rule:
    """What some operations make of a NaN."""

    operations: str
    rule: str
    places: str
    functions: dict[str, Callable[..., Value]]  # the operations on arrays of NumPy, by the names of nodes and operators


RULES = (
    Rule(
        "`te.max`, `te.min`, `T.max`, `T.min`",
        "`a > b ? a : b`, with `<` for the minimum: of a NaN and another value, `b`. So a reduction forgets a NaN that "
        "a number follows, as in classic TVM, and its result may depend on the order of its loops.",
        "`larger` and `smaller` in `ir/expr/number_operations.py`; `visit_Max` of `target/codegen/llvm/expressions.py`;"
        " the helpers `max` and `min` of source languages, whose own functions differ",
        {"Max": lambda a, b: np.where(a > b, a, b), "Min": lambda a, b: np.where(a < b, a, b)},
    ),
    Rule(
        "`tir.fmaximum`, `tir.fminimum`; Relay's `maximum`, `minimum`, `clip`, `nn.relu`, `max`, `min`, "
        "`nn.max_pool2d` and its relatives, scattering by `max` and `min`",
        "NaN if any operand is.",
        "`topi/extrema.py`, made of `fmaximum` in `tir/expressions/math.py`: `llvm.maximum`, helpers of source "
        "languages, `numpy.maximum`",
        {"tir.fmaximum": np.maximum, "tir.fminimum": np.minimum},
    ),
    Rule(
        "Relay's `argmax`, `argmin`",
        "The first NaN, or with `select_last_index` the last one.",
        "`topi/extrema.py`",
        {"argmax": np.argmax, "argmin": np.argmin},
    ),
    Rule(
        "`<`, `<=`, `>`, `>=`, `==`, `!=`",
        "False, but `!=` is true (false in classic TVM). So `not a < b` is not `a >= b`.",
        "`_compare` of `target/codegen/llvm/expressions.py`; the operators of the source languages and of NumPy; the "
        "rules of `arith/rules/comparisons.py` that ask `is_ordered`",
        {
            "LT": np.less,
            "LE": np.less_equal,
            "GT": np.greater,
            "GE": np.greater_equal,
            "EQ": np.equal,
            "NE": np.not_equal,
        },
    ),
    Rule(
        "casts",
        "NaN in every floating-point type, whatever its bits are; true as `bool`; an integer that is not specified, "
        "as of infinities. Of a number that an integer of fewer than 32 bits cannot hold, the low bits of the int32. "
        "`e4m3_float8` has no infinities: they and what is too large become NaN.",
        "`tir/transform/legalize/bf16_bits.py`, `tir/transform/legalize/fp8_legalize.py`, `selection/narrowing.py` and "
        "`convert` of `target/codegen/llvm/expressions.py`; `ml_dtypes` in NumPy",
        {},
    ),
    Rule(
        "`sort`, `argsort`, `topk`, `unique`",
        "Greater than every number, and equal to another NaN.",
        "`topi/arrays/sorting.py`; `precedes` in `topi/device/order.py`",
        {"sort": np.sort},
    ),
    Rule("`sign` and all other arithmetic", "NaN.", "`topi/elementwise.py`", {"sign": np.sign}),
)


def table() -> str:
    """Return the rules as a table of Markdown."""
    rows = [f"| {each.operations} | {each.rule} | {each.places} |" for each in RULES]
    return "\n".join(["| Operation | Of a NaN | Where |", "|---|---|---|", *rows])
