"""Calls of machine code one behind the other, without Python between them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, partial

from compiler.runtime.llvm import has_llvm
from compiler.runtime.modules.function import Function
from compiler.runtime.modules.native_code import MAKING, ObjectCode, compiled, host_triple
from compiler.runtime.parallel.threads import num_threads

_WORD = ctypes.sizeof(ctypes.c_int64)


class CallSequence:
    """Calls of functions that :meth:`Function.takes_directly` their arrays.

    Each has the places of its arguments in ``addresses``, which may change between runs.
    """

    def __init__(self, calls: Sequence[tuple[Function, Sequence[int]]], addresses: Sequence[int]) -> None:
        threads = len(addresses)
        self.addresses = (ctypes.c_int64 * (threads + 1))(*addresses)
        self._calls = [(f, [*places, threads] if f.signature.threads else places) for f, places in calls]
        self._is_parallel = any(function.signature.threads for function, _ in calls)
        is_compiled = len(calls) > 1 and ctypes.sizeof(ctypes.c_void_p) == _WORD and has_llvm()
        self._run = self._caller() if is_compiled else self._call_in_turn

    def __call__(self) -> None:
        """Make the calls; one that fails is the last, and raises what its function says of it."""
        if self._is_parallel:
            self.addresses[-1] = num_threads()
        failed = self._run()
        if failed:
            at, status = divmod(failed, 1 << 32)
            raise self._calls[at][0].failure(status)

    def _caller(self) -> Callable[[], int]:
        first = ctypes.addressof(self.addresses)
        words = [
            word
            for function, places in self._calls
            for word in (function.address, len(places), *[first + place * _WORD for place in places])
        ]
        arities = frozenset([len(places) for _, places in self._calls])
        with MAKING:
            call_all = _compiled_caller(arities).entry
        return partial(call_all, (ctypes.c_int64 * len(words))(*words), len(self._calls))

    def _call_in_turn(self) -> int:
        for at, (function, places) in enumerate(self._calls):
            status = function.entry(*[self.addresses[place] for place in places])
            if status:
                return at << 32 | status
        return 0


class _Caller:
    """What makes calls of certain numbers of arguments; returns which failed, above the 32 bits that say how, or 0."""

    def __init__(self, arities: frozenset[int]) -> None:
        # Optimising it would take three times as long, and gain nanoseconds a call.
        self._code = ObjectCode(compiled(_caller_ir(sorted(arities)).encode(), "the caller of kernels", level=0))
        kind = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int64)
        self.entry = kind(self._code.address("call_all"))


_compiled_caller = cache(_Caller)


def _caller_ir(arities: Sequence[int]) -> str:
    """Return a loop over calls: of each the function, the number of arguments, and where their values are."""
    cases = " ".join(f"i64 {n}, label %call{n}" for n in arities)
    statuses = ", ".join(f"[%status{n}, %call{n}]" for n in arities)
    return f"""target triple = "{host_triple()}"
define i64 @call_all(ptr %words, i64 %count) {{
entry:
  br label %next
next:
  %at = phi i64 [0, %entry], [%following, %called]
  %word = phi ptr [%words, %entry], [%behind, %called]
  %is_end = icmp eq i64 %at, %count
  br i1 %is_end, label %end, label %call
end:
  ret i64 0
call:
  %function = load ptr, ptr %word
  %number.at = getelementptr i64, ptr %word, i64 1
  %number = load i64, ptr %number.at
  %places = getelementptr i64, ptr %word, i64 2
  %behind = getelementptr i64, ptr %places, i64 %number
  switch i64 %number, label %other [{cases}]
other:
  unreachable
{"".join(map(_call_ir, arities))}
called:
  %status = phi i32 {statuses}
  %is_good = icmp eq i32 %status, 0
  %following = add i64 %at, 1
  br i1 %is_good, label %next, label %failed
failed:
  %high = shl i64 %at, 32
  %low = zext i32 %status to i64
  %both = or i64 %high, %low
  ret i64 %both
}}
"""


def _call_ir(arity: int) -> str:
    """Return a call with a number of arguments, each a word that is an address or the number of threads."""
    values = [f"%value{arity}.{at}" for at in range(arity)]
    loads = [
        f"  {v}.word = getelementptr i64, ptr %places, i64 {at}\n"
        f"  {v}.place = load ptr, ptr {v}.word\n"
        f"  {v} = load i64, ptr {v}.place\n"
        for at, v in enumerate(values)
    ]
    given = ", ".join(f"i64 {v}" for v in values)
    call = f"  %status{arity} = call i32 %function({given})\n  br label %called\n"
    return f"call{arity}:\n{''.join(loads)}{call}"
