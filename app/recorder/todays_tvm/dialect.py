"""Spells classic TVMScript as TVM 0.27 reads it."""

from __future__ import annotations

import re

from compiler.te.program import NotExpressible
from compiler.tir.script.tirx import RENAMED

RELEASE = "0.27"

_RENAMED = {old: new for new, old in RENAMED.items()}
"""Words of classic TVMScript after ``T.``, as 0.27 spells them."""
_SAME_WORDS = (
    "Add And BitwiseAnd Broadcast Buffer Cast Div EQ FloatImm FloorDiv FloorMod GE GT IntImm LE LT Max "
    "Min Mod Mul NE Not Or Ramp Select Sub abs acos acosh asin asinh atan atan2 atanh axis bfloat16 "
    "bitwise_and bitwise_not bitwise_or bitwise_xor bool cast ceil ceildiv clz copysign cos cosh erf "
    "evaluate exp exp10 exp2 fabs float16 float32 float64 floor floordiv floormod fma fmod func_attr grid "
    "handle hypot if_then_else infinity init int16 int32 int64 int8 isfinite isinf isnan ldexp likely log log10 "
    "log1p log2 match_buffer max max_value min min_value nearbyint nextafter parallel popcount pow power "
    "prim_func reads reinterpret remap round rsqrt serial shift_left shift_right sigmoid sin sinh sqrt "
    "tan tanh thread_binding trunc truncdiv truncmod uint16 uint32 uint64 uint8 unroll vectorized where "
    "writes"
)
_SAME = frozenset(_SAME_WORDS.split())
"""Words that mean the same in both."""
_WORD_OR_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|\bT\.(\w+)")
_WITH_SLICES = ("T.reads(", "T.writes(", "T.func_attr(", "T.block_attr(", "def ", "class ")
_CONSTANT_SLICE = re.compile(r"(?<=[\[ ])(\d+):(\d+)(?=[\],])")
_SLICE = re.compile(r"\w\[[^\]\"]*:")


def respelled(line: str) -> str:
    """Return a line of classic TVMScript in the spelling of 0.27.

    Raises
    ------
    NotExpressible
        It has a word that 0.27 does not know.
    """
    if line.strip() in ("@T.prim_func", "@T.prim_func(private=True)"):
        return line[: len(line) - len(line.lstrip())] + "@T.prim_func(s_tir=True)"
    if line.lstrip().startswith("T.func_attr("):
        line = line.replace("T.bool(True)", "True").replace("T.bool(False)", "False")
    if not line.lstrip().startswith(_WITH_SLICES) and "= T.match_buffer(" not in line:
        line = _CONSTANT_SLICE.sub(_ramp, line)
        if _SLICE.search(line):
            raise NotExpressible(f"TVM {RELEASE} reads no elements by a slice: {line.strip()}")
    return _WORD_OR_STRING.sub(_respelled_word, line)


def _ramp(match: re.Match[str]) -> str:
    begin, end = int(match[1]), int(match[2])
    return f"T.Ramp({begin}, 1, {end - begin})"


def _respelled_word(match: re.Match[str]) -> str:
    word = match[1]
    if word is None:
        text = match[0]
        return '"tirx.' + text[5:] if text.startswith('"tir.') else text
    if word in _RENAMED:
        return f"T.{_RENAMED[word]}"
    if word not in _SAME:
        raise NotExpressible(f"T.{word} has no counterpart in TVM {RELEASE}")
    return match[0]
