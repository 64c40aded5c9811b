"""The runtime functions of ``custom[myfloat]32``, TVM's example of a custom data type.

The type is single precision in disguise: 32 bits, which each function takes for a number, and returns one as.
"""

from __future__ import annotations

from functools import cache

from compiler.runtime.llvm import LinkedCode, position_independent

_BINARY = {"Add": "fadd", "Sub": "fsub", "Mul": "fmul", "Div": "fdiv"}
_UNARY = {"Sqrt": "sqrtf", "Exp": "expf", "Log": "logf", "Tanh": "tanhf"}
_LARGEST_BITS = 0x7F7FFFFF
_SIGN_BIT = 1 << 31

_OF_TWO = """
define i32 @Custom32{name}(i32 %a, i32 %b) {{
  %x = bitcast i32 %a to float
  %y = bitcast i32 %b to float
  {compute}
  %bits = bitcast float %value to i32
  ret i32 %bits
}}
"""
_OF_ONE = """
define i32 @Custom32{name}(i32 %a) {{
  %x = bitcast i32 %a to float
  {compute}
  %bits = bitcast float %value to i32
  ret i32 %bits
}}
"""
_CONVERSIONS = """
define i32 @FloatToCustom32(float %x) {
  %bits = bitcast float %x to i32
  ret i32 %bits
}
define float @Custom32ToFloat(i32 %bits) {
  %x = bitcast i32 %bits to float
  ret float %x
}
"""
_MAXIMUM = """%greater = fcmp ogt float %x, %y
  %value = select i1 %greater, float %x, float %y"""
_SIGMOID = """%negative = fneg float %x
  %power = call float @expf(float %negative)
  %sum = fadd float %power, 1.0
  %value = fdiv float 1.0, %sum"""


def _source() -> str:
    parts = [f"declare float @{function}(float)\n" for function in _UNARY.values()]
    parts += [_OF_TWO.format(name=n, compute=f"%value = {op} float %x, %y") for n, op in _BINARY.items()]
    parts += [_OF_ONE.format(name=n, compute=f"%value = call float @{f}(float %x)") for n, f in _UNARY.items()]
    parts += [_OF_TWO.format(name="Max", compute=_MAXIMUM), _OF_ONE.format(name="Sigmoid", compute=_SIGMOID)]
    smallest = f"define i32 @MinCustom32() {{ ret i32 {_LARGEST_BITS | _SIGN_BIT} }}\n"
    return "".join([*parts, _CONVERSIONS, smallest])


FUNCTIONS = frozenset(
    {"FloatToCustom32", "Custom32ToFloat", "MinCustom32", "Custom32Max", "Custom32Sigmoid"}
    | {f"Custom32{name}" for name in (*_BINARY, *_UNARY)}
)
"""Their names."""


@cache
def _code() -> LinkedCode:
    return LinkedCode(position_independent(_source()), {})


def myfloat_address(name: str) -> int:
    """Return where one of the functions starts; they are compiled when the first is asked for."""
    return _code().address(name)
