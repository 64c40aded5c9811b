"""C11, with nothing but the standard library."""

from __future__ import annotations

from compiler.target.codegen.source.language import Language

_INTEGERS = {f"{kind}{bits}": f"{kind}{bits}_t" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}

UNARY = (
    "exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
    "tanh", "asinh", "acosh", "atanh", "erf", "floor", "ceil", "trunc", "round", "nearbyint", "fabs",
)  # fmt: skip
BINARY = ("pow", "atan2", "hypot", "fmod", "copysign", "nextafter", "ldexp")


def _functions(suffix: str, one: str) -> dict[str, str]:
    """Return the math functions of the C library with the suffix of a floating-point type."""
    return {
        **{f"tir.{name}": f"{name}{suffix}({{0}})" for name in UNARY},
        **{f"tir.{name}": f"{name}{suffix}({{0}}, {{1}})" for name in BINARY},
        "tir.fma": f"fma{suffix}({{0}}, {{1}}, {{2}})",
        "tir.exp10": f"pow{suffix}(10, {{0}})",
        "tir.rsqrt": f"({one} / sqrt{suffix}({{0}}))",
        "tir.sigmoid": f"({one} / ({one} + exp{suffix}(-({{0}}))))",
        "tir.fmaximum": "fmaximum_{t}({0}, {1})",
        "tir.fminimum": "fminimum_{t}({0}, {1})",
        "tir.isnan": "isnan({0})",
    }


C_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true "
    "false NULL NAN INFINITY isnan memcpy free aligned_alloc asm result"
)

C = Language(
    name="c",
    prologue=(
        "#include <math.h>",
        "#include <stdbool.h>",
        "#include <stdint.h>",
        "#include <stdlib.h>",
        "#include <string.h>",
    ),
    types={
        **_INTEGERS,
        "bool": "bool",
        "float16": "_Float16",
        "float32": "float",
        "float64": "double",
        "handle": "void*",
        "void": "void",
    },
    suffixes={"float32": "f", "uint32": "u", "int64": "LL", "uint64": "ULL"},
    literals={
        "inf": "INFINITY",
        "-inf": "(-INFINITY)",
        "nan": "NAN",
        str(-(1 << 31)): "INT32_MIN",
        str(-(1 << 63)): "INT64_MIN",
    },
    functions=_functions("f", "1.0f"),
    double_functions=_functions("", "1.0"),
    operators={
        "tir.bitwise_and": "&",
        "tir.bitwise_or": "|",
        "tir.bitwise_xor": "^",
        "tir.shift_left": "<<",
        "tir.shift_right": ">>",
    },
    helpers={
        "min": ("{t} a, {t} b", "return a < b ? a : b;"),
        "max": ("{t} a, {t} b", "return a > b ? a : b;"),
        "fmaximum": ("{t} a, {t} b", "return a > b || a != a ? a : b;"),
        "fminimum": ("{t} a, {t} b", "return a < b || a != a ? a : b;"),
        "div": ("{t} a, {t} b", "return b == 0 ? 0 : b == ({t})-1 && ({t})-1 < 0 ? ({t})(0 - ({u})a) : a / b;"),
        "mod": ("{t} a, {t} b", "return b == 0 || (b == ({t})-1 && ({t})-1 < 0) ? 0 : a % b;"),
        "floordiv": (
            "{t} a, {t} b",
            "if (b == 0) return 0;",
            "if (b == ({t})-1 && ({t})-1 < 0) return ({t})(0 - ({u})a);",
            "return a / b - (a % b != 0 && (a % b < 0) != (b < 0));",
        ),
        "floormod": (
            "{t} a, {t} b",
            "if (b == 0 || (b == ({t})-1 && ({t})-1 < 0)) return 0;",
            "return a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b;",
        ),
        "popcount": ("{t} x", "{t} count = 0;", "for ({u} rest = x; rest; rest &= rest - 1) ++count;", "return count;"),
        "clz": ("{t} x", "{t} count = 8 * sizeof x;", "for ({u} rest = x; rest; rest >>= 1) --count;", "return count;"),
    },
    parameter="{type}* restrict {name}",
    reserved=frozenset(C_KEYWORDS.split()) | {f"{name}{s}" for name in (*UNARY, *BINARY, "fma") for s in ("", "f")},
)
"""The definition of the language."""
