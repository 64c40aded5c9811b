"""Runs exported programs: for a process that has TVM 0.27, which knows nothing of this project.

Takes the paths of programs, and prints one line of JSON for each.  What a program computes is saved beside it, with the
arguments that it was given.
"""

import json
import runpy
import sys
import time

import numpy as np


def run(path):
    """Return what came of a program: ``ran``, ``compiled`` for a device that may not be here, or an error."""
    began = time.process_time()
    stage = "scheduled"
    try:
        program = runpy.run_path(path)
        values = program["inputs"]()
        target = program["target"]
        kind = target if isinstance(target, str) else target["kind"]
        if kind not in ("llvm", "c"):
            stage = "compiled"
            program["tvm"].compile(program["sch"].mod, target=target)
            return {"state": "compiled", "detail": f"for {kind}, and not run"}
        stage = "ran"
        cpu = program["tvm"].cpu()
        got = program["run"](program["sch"].mod, values, "llvm", cpu)
        plain = program["run"](program["Module"], values, "llvm", cpu)
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return {"state": f"not {stage}", "detail": f"{type(error).__name__}: {' | '.join(lines[-3:])}"[:600]}
    given = {f"given{i}": v for i, v in enumerate(values)}
    outputs = {f"got{i}": v for i, v in enumerate(got)} | {f"plain{i}": v for i, v in enumerate(plain)}
    np.savez(f"{path}.npz", **given, **outputs)
    return {"state": "ran", "seconds": time.process_time() - began}


if __name__ == "__main__":
    for path in sys.argv[1:]:
        print(json.dumps(run(path)), flush=True)
