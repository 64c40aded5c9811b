"""RunningThread a case: import, type inference, execution, comparison with what the suite expects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from compiler.ir.error import TVMError
from compiler.relay.frontend import from_onnx
from compiler.relay.interpreter import Interpreter
from tests.outside.onnx_backend.cases import Case, feeds_of, freeze


@dataclass(frozen=True)
class Outcome:
    """What became of a case; no reason means that it passed."""

    case: Case
    reason: str = ""
    clean: bool = True
    """Whether a failure was an error that a user can read."""

    @property
    def passed(self) -> bool:
        return not self.reason


def run(case: Case, compiled: bool = False, frozen: bool = True) -> Outcome:
    """Run one case on the NumPy interpreter, or compiled; inputs that decide about shapes are frozen, or not."""
    try:
        model, feeds = freeze(case) if frozen else (case.model, feeds_of(case))
        shapes = {name: value.shape for name, value in feeds.items() if isinstance(value, np.ndarray)}
        mod, _ = from_onnx(model, shape=shapes)
        got = (_compiled if compiled else _interpreted)(mod, feeds)
        return Outcome(case, _difference(case, got))
    except TVMError as exc:
        return Outcome(case, f"{type(exc).__name__}: {exc}")
    except Exception as exc:  # what escapes is counted, not hidden: a suite goes on after a failure
        return Outcome(case, f"{type(exc).__name__}: {exc}", clean=False)


def _interpreted(mod: Any, feeds: dict[str, Any]) -> list[Any]:
    found = Interpreter(mod).evaluate("main", feeds)
    return list(found) if isinstance(found, tuple) else [found]


def _compiled(mod: Any, feeds: dict[str, Any]) -> list[Any]:
    from compiler.driver.relay.build import build
    from compiler.runtime.device import cpu
    from compiler.runtime.graph.graph_module import GraphModule

    module = GraphModule(build(mod, "llvm")["default"](cpu()))
    for name, value in feeds.items():
        module.set_input(name, np.asarray(value))
    module.run()
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())]


def _difference(case: Case, got: list[Any]) -> str:
    if len(got) != len(case.outputs):
        return f"{len(got)} outputs instead of {len(case.outputs)}"
    for i, (have, want) in enumerate(zip(got, case.outputs, strict=True)):
        have = have.numpy() if hasattr(have, "numpy") else np.asarray(have)
        want = np.asarray(want)
        if have.shape != want.shape or have.dtype != want.dtype:
            return f"output {i} is {have.dtype}{list(have.shape)} instead of {want.dtype}{list(want.shape)}"
        exact = have.dtype.kind in "biu"
        close = np.array_equal(have, want) if exact else np.allclose(have, want, case.rtol, case.atol, equal_nan=True)
        if not close:
            with np.errstate(all="ignore"):
                worst = np.nanmax(np.abs(have.astype(np.float64) - want.astype(np.float64)))
            return f"output {i} differs by {worst:.3g}"
    return ""
