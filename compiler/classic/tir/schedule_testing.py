"""Test helpers for schedules: ``tvm.tir.schedule.testing``."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.module import IRModule
from compiler.ir.structural import assert_structural_equal
from compiler.tir.schedule.schedule import Schedule
from compiler.tir.schedule.trace import Trace
from compiler.tir.script import tir as T
from compiler.tir.statements.function import PrimFunc


def assert_structural_equal_ignore_global_symbol(
    mod1: PrimFunc | IRModule, mod2: PrimFunc | IRModule, *args: object, **kwargs: bool
) -> None:
    """Check that two functions or modules have the same structure, whatever the functions are called outside."""
    assert_structural_equal(_unnamed(mod1), _unnamed(mod2), *args, **kwargs)  # type: ignore[arg-type]


def _unnamed(mod: PrimFunc | IRModule) -> PrimFunc | IRModule:
    if isinstance(mod, PrimFunc):
        return mod.without_attr("global_symbol")
    return mod.with_functions({var: _unnamed(func) for var, func in mod.items()})


def verify_trace_roundtrip(
    sch: Schedule,
    mod: PrimFunc | IRModule,
    *,
    debug_mask: str | int = "all",
    text_format: str | Sequence[str] = ("python", "json"),
) -> Schedule:
    """Check that the trace of a schedule, saved and read back, makes the same program.

    Raises ValueError if the form is neither ``json`` nor ``python``.
    """
    result = None
    for form in (text_format,) if isinstance(text_format, str) else text_format:
        result = Schedule(mod, debug_mask=debug_mask)
        if form == "json":
            Trace.apply_json_to_schedule(sch.trace.as_json(), result)
        elif form == "python":
            exec("\n".join(sch.trace.as_python()), {"sch": result, "T": T})
        else:
            raise ValueError(f"verify_trace_roundtrip: text_format must be 'json' or 'python', got {form!r}")
        assert_structural_equal(result.mod, sch.mod)
    assert result is not None
    return result
