"""Lowers kernels for a device: for a process that has another TVM, which knows nothing of this project.

Reads a list of programs as JSON, and prints one line of JSON for each: the outlines of its functions after each pass
of the device pipeline, and the text of the function whose threads wait for each other; or an error.  A program is
TVMScript of one function, or the number of a random schedule.
"""

import importlib.util
import json
import sys
from pathlib import Path

PASSES = (
    ("ThreadSync", "shared"),
    ("ThreadSync", "shared.dyn"),
    ("MergeSharedMemoryAllocations",),
    ("ThreadSync", "warp"),
    ("InferFragment",),
    ("LowerThreadAllreduce",),
    ("AnnotateDeviceRegions",),
    ("SplitHostDevice",),
)
SYNCHRONIZED = "ThreadSync shared.dyn"


def outline(node):
    """Return what matters of a function to a device, a line each: memory, launches, loops, branches, barriers, stores.

    Where memory is allocated and an axis is launched again does not matter, nor how a condition is divided.
    """
    memory, launches = [], []
    lines = _statements(node, 0, memory, launches)
    return [*sorted(memory), *launches, *lines]


def _statements(node, depth, memory, launches):
    kind, pad = type(node).__name__, "  " * depth

    def inner(body, deeper=1):
        return _statements(body, depth + deeper, memory, launches)

    if kind == "SeqStmt":
        return [line for each in node.seq for line in inner(each, 0)]
    if kind in ("For", "While"):
        return [f"{pad}{kind.lower()}", *inner(node.body)]
    if kind == "IfThenElse":
        nested = type(node.then_case).__name__ == "IfThenElse" and node.then_case.else_case is None
        if nested and node.else_case is None:
            return inner(node.then_case, 0)
        other = [] if node.else_case is None else [f"{pad}else", *inner(node.else_case)]
        return [f"{pad}if", *inner(node.then_case), *other]
    if kind == "Allocate":
        scope = node.buffer_var.type_annotation.storage_scope
        memory.append(f"allocate {scope} {node.dtype} {' '.join(str(extent) for extent in node.extents)}")
    if kind == "AttrStmt" and node.attr_key == "thread_extent":
        launch = f"{node.node.thread_tag} {node.value}"
        launches += [] if launch in launches else [launch]
    if kind in ("Allocate", "AttrStmt", "LetStmt", "DeclBuffer", "AssertStmt"):
        return inner(node.body, 0)
    if kind == "BufferStore":
        return [f"{pad}store {node.buffer.dtype} {node.buffer.scope()}"]
    if kind == "Evaluate":
        name = getattr(getattr(node.value, "op", None), "name", "value")
        scope = f" {node.value.args[0].value}" if name == "tir.tvm_storage_sync" else ""
        return [f"{pad}{name}{scope}"]
    raise TypeError(kind)


def random_schedule(seed, tvm):
    """Return the schedule of a number, and its arguments, made by the TVM that is given."""
    path = Path(__file__).parents[1] / "compiler" / "driver" / "gpu_programs.py"
    spec = importlib.util.spec_from_file_location("gpu_programs", path)
    programs = importlib.util.module_from_spec(spec)
    present = {name: module for name, module in sys.modules.items() if name == "compiler"}
    sys.modules["compiler"] = tvm
    try:
        spec.loader.exec_module(programs)
    finally:
        sys.modules.pop("compiler")
        sys.modules.update(present)
    made = programs.random_program(seed)
    return made.schedule, made.args


def lowered(program, tvm):
    """Return a program's module, lowered, for a device."""
    if isinstance(program, str):
        words = {"T": tvm.script.tir} if hasattr(tvm.script, "tir") else {}
        module = tvm.lower(tvm.script.from_source(program, words))
    else:
        module = tvm.lower(*random_schedule(program, tvm))
    return tvm.tir.transform.BindTarget(tvm.target.Target("cuda", host="llvm"))(module)


def run(program, tvm):
    """Return the outlines of all functions after each pass and the text that the threads run, or ``{"error": …}``."""
    try:
        mod = lowered(program, tvm)
        answer = {"outlines": {}}
        for name, *options in PASSES:
            mod = getattr(tvm.tir.transform, name)(*options)(mod)
            step = " ".join((name, *options))
            parts = sorted((str(var.name_hint), outline(func.body)) for var, func in mod.functions.items())
            answer["outlines"][step] = [[name, *lines] for name, lines in parts]
            if step == SYNCHRONIZED:
                answer["text"] = mod["main"].script()
        return answer
    except Exception as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return {"error": f"{type(error).__name__}: {lines[-1] if lines else ''}"}


if __name__ == "__main__":
    import tvm

    importlib.import_module("tvm.script.tir")
    for program in json.load(sys.stdin):
        print(json.dumps(run(program, tvm)), flush=True)
