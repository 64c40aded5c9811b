"""Lowers kernels for a device: for a process that has another TVM, which knows nothing of this project.

Reads a list of programs as JSON, and prints one line of JSON for each: the outlines of its functions after each pass
that is for devices, and the text of the function whose threads wait for each other; or an error.  A program is
TVMScript of one function, or the number of a random schedule; a negative number is that of a definition without a
schedule, less one, which the default schedule is for.
"""

import importlib.util
import json
import sys
from pathlib import Path

LOWERING = ("tir.InjectVirtualThread", "tir.InjectDoubleBuffer")
"""Passes of ``lower`` whose outlines count too."""
PASSES = (
    ("ThreadSync", "shared"),
    ("ThreadSync", "shared.dyn"),
    ("MergeSharedMemoryAllocations",),
    ("ThreadSync", "warp"),
    ("InferFragment",),
    ("LowerThreadAllreduce",),
    ("AnnotateDeviceRegions",),
    ("SplitHostDevice",),
    ("LowerDeviceKernelLaunch",),
    ("LowerWarpMemory",),
    ("LowerDeviceStorageAccessInfo",),
)
LIMITS = (
    {"max_threads_per_block": 64}, {"max_shared_memory_per_block": 1024}, {"max_local_memory_per_block": 64},
    {"max_thread_x": 16}, {"max_vthread": 2}, {"max_vector_bytes": 8},
)  # fmt: skip
"""What a device may be too small for."""
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
    if kind == "For" and node.thread_binding is not None:
        return [f"{pad}{node.thread_binding.thread_tag} {node.extent}", *inner(node.body)]
    if kind in ("BlockRealize", "Block"):
        return inner(node.block if kind == "BlockRealize" else node.body, 0)
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


def random_programs(tvm):
    """Return the module that makes random programs, with the TVM that is given."""
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
    return programs


def bound_by_default(number, tvm):
    """Return the outlines of a definition whose blocks get the default schedule, and of its launches."""
    made = random_programs(tvm).random_program(number)
    target = tvm.target.Target("cuda")
    mod = tvm.tir.transform.BindTarget(target)(tvm.IRModule({"main": tvm.te.create_prim_func(made.args)}))
    answer = {}
    with target:
        for name in ("DefaultGPUSchedule", "UnifyThreadBinding"):
            mod = getattr(tvm.tir.transform, name)()(mod)
            answer[name] = outline(mod["main"].body)
    return answer


def lowered(program, tvm, outlines):
    """Return a program's module, lowered, for a device; the outlines after some passes of ``lower`` are added."""
    if isinstance(program, str):
        words = {"T": tvm.script.tir} if hasattr(tvm.script, "tir") else {}
        module = tvm.lower(tvm.script.from_source(program, words))
    else:
        make = random_programs(tvm)
        made = (make.warp_program if program % 5 == 4 else make.random_program)(program)

        @tvm.instrument.pass_instrument
        class Outlines:
            def run_after_pass(self, mod, info):
                if info.name in LOWERING:
                    outlines[info.name] = outline(mod["main"].body)

        with tvm.transform.PassContext(instruments=[Outlines()]):
            module = tvm.lower(made.schedule, made.args)
    return tvm.tir.transform.BindTarget(tvm.target.Target("cuda", host="llvm"))(module)


def run(program, tvm):
    """Return the outlines of all functions after each pass and the text that the threads run, or ``{"error": …}``."""
    try:
        answer = {"outlines": {}}
        if isinstance(program, int) and program < 0:
            return {"outlines": bound_by_default(-1 - program, tvm)}
        mod = lowered(program, tvm, answer["outlines"])
        fits = tvm.tir.analysis.verify_gpu_code
        answer["outlines"]["VerifyGPUCode"] = [bool(fits(mod["main"], limits)) for limits in LIMITS]
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
