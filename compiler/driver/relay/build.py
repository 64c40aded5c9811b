"""``relay.build`` and ``relay.create_executor``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from compiler.driver.build_device import is_device
from compiler.driver.relay.aot.factory import AOTExecutorFactoryModule, CompiledModel, require_interface
from compiler.driver.relay.external import with_external_code
from compiler.driver.relay.graph import GraphProgram, KernelCall, graph_program
from compiler.driver.relay.groups import KernelNames, StructuralKey, hash_of, structural_key
from compiler.driver.relay.kernels import KernelCompiler, KernelModule, NamedKernel
from compiler.driver.relay.lower import LoweredKernel, lower_group
from compiler.driver.relay.memory import MemoryPlan, plan_memory
from compiler.driver.relay.metadata import FunctionInfo, function_metadata, main_info
from compiler.driver.relay.options import as_executor, as_runtime, mangle_module_name
from compiler.driver.relay.params import bind_params
from compiler.ir.error import ArgumentError, BuildError, TargetError, expected, show
from compiler.ir.expr.primexpr import IntImm
from compiler.ir.instrument import active_instruments, uninstrumented
from compiler.ir.module import IRModule
from compiler.relay.function import Function
from compiler.relay.transform.pipeline import optimize
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.marked_data import PARAMS_MARK, marked
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray
from compiler.runtime.arrays.params import save_param_dict
from compiler.runtime.graph import ALIAS, REFERENCE, Graph, Node
from compiler.runtime.graph.factory import GraphExecutorFactory
from compiler.runtime.modules.module import Module
from compiler.target.target import Target

TargetLike = str | Target | Mapping[str, Any]
"""A target, its text, its options, or ``{device: target}``."""


class BuiltGraph(GraphExecutorFactory):
    """What :func:`build` returns; ``kernels`` have tensor expressions, loops, floating-point operations and bytes."""

    def __init__(
        self, module: IRModule, program: GraphProgram, memory: MemoryPlan, lib: KernelModule, name: str, graph: Graph
    ) -> None:
        values = (value for _, value in program.constants)
        params = dict(zip(program.constant_names, values, strict=True))
        super().__init__(graph.to_json(), lib, params, name, self._export)
        self.module = module
        self.program = program
        self.memory = memory
        self.kernels = lib.kernels
        self._kernel_module = lib

    @property
    def ir_mod(self) -> IRModule:
        """The graph after all passes, under TVM's name for it."""
        return self.module

    @property
    def function_metadata(self) -> dict[str, FunctionInfo]:
        """The memory that the model, ``__tvm_main__``, and its kernels need, by the names of the functions."""
        program, target = self.program, self._kernel_module.compiled_for
        values = [*(value for _, value in program.inputs), *program.outputs]
        main = main_info(
            self.memory.workspace(program.outputs),
            [program.types[value] for value in values],
            sum(int(value.view().nbytes) for _, value in program.constants),
            (target, self.module["main"], None),
        )
        return function_metadata(main, self.kernels, target)

    def as_operators_say(self) -> GraphExecutorFactory:
        """Return the same model without the kernels that instruments have defined: to compare with."""
        kernels = self._kernel_module.as_operators_say()
        return GraphExecutorFactory(self.graph_json, kernels, self.params, self.libmod_name)

    def _export(self, file_name: str, params: Mapping[str, NDArray]) -> bytes:
        attached = marked(PARAMS_MARK, bytes(save_param_dict(params))) + self._kernel_module.imported_data()
        return self._kernel_module.exported_with(file_name, attached, self.graph_json, self.libmod_name)


def build(
    ir_mod: IRModule | Function,
    target: TargetLike | Sequence[TargetLike] | None = None,
    target_host: str | Target | None = None,
    executor: object = None,
    runtime: object = None,
    workspace_memory_pools: object = None,
    constant_memory_pools: object = None,
    params: Mapping[str, ArrayLike] | None = None,
    mod_name: str = "default",
) -> BuiltGraph | AOTExecutorFactoryModule:
    """Compile a graph: run the passes of the context's level, make kernels of what they fused, plan memory.

    Raises ArgumentError if the graph needs the virtual machine, or ``params`` does not fit. Raises BuildError if the
    executor cannot run an operator, or does not go with the runtime.

    Parameters
    ----------
    ir_mod : IRModule or Function
        Its function ``main`` is the model.
    target : str or Target, optional
        E.g. ``llvm -mcpu=native``; by default the current target, or else this machine.
    executor : Executor or str, optional
        ``graph``, the usual one, runs a list of kernels; ``aot`` a function that calls them.
    params : mapping of str to array, optional
        Constant parameters of ``main``: the passes compute with them.
    mod_name : str
        ``lib[mod_name](dev)`` makes an executor.
    """
    how, linked = as_executor(executor), as_runtime(runtime)
    module, chosen = as_module("relay.build", ir_mod), build_target(target, how.name == "aot", how.name == "graph")
    if how.name == "aot":
        require_interface(how, linked)
        with uninstrumented():
            optimized, external = _optimized(module, chosen, params)
            if external:
                raise BuildError('Executor("aot") has no code of external compilers; Executor("graph") calls it')
            model = _compile_ahead(optimized, chosen, str(mod_name))
            return AOTExecutorFactoryModule(module, model, chosen, how, linked, str(mod_name))
    return build_graph(module, chosen, params, str(mod_name))


def build_graph(
    module: IRModule,
    target: Target,
    params: Mapping[str, ArrayLike] | None = None,
    mod_name: str = "default",
    is_emulated: bool = False,
) -> BuiltGraph:
    """Compile a graph for the graph executor; kernels of a device may be made to run on this machine's CPU."""
    for instrument in active_instruments():
        instrument.graph_build_begin(module, target)
    built: BuiltGraph | None = None
    try:
        optimized, external = _optimized(module, target, params)
        built = _compile(optimized, target, mod_name, is_emulated)
        for library in external:
            built.lib.import_module(library)
    finally:
        for instrument in active_instruments():
            instrument.graph_build_end(built)
    return built


def _optimized(
    module: IRModule, target: Target, params: Mapping[str, ArrayLike] | None
) -> tuple[IRModule, list[Module]]:
    """Return the module after all passes, and what external compilers made of parts of it."""
    module, external = with_external_code(module)
    return optimize(bind_params(module, params or {}), target), external


def _compile(module: IRModule, target: Target, name: str, is_emulated: bool) -> BuiltGraph:
    """Make kernels of an optimised module, plan memory, and put both together."""
    program = graph_program(module["main"])
    calls: list[NamedKernel | None] = []
    with KernelCompiler(target, is_emulated, mangle_module_name(name)) as compiler:
        for call in program.calls:
            calls.append(None if call.alias or call.reference else compiler.kernel(call.function))
    _own_constants(program, [None if named is None else named.kernel.lowered for named in calls])
    memory = plan_memory(program)
    lib = KernelModule(compiler.kernels, target, compiler.launched())
    return BuiltGraph(module, program, memory, lib, name, _graph(program, calls, memory))


def _compile_ahead(module: IRModule, target: Target, name: str) -> CompiledModel:
    """Lower the kernels of an optimised module and plan memory."""
    program = graph_program(module["main"])
    names = KernelNames(mangle_module_name(name))
    lowered: dict[StructuralKey, LoweredKernel] = {}
    kernels: list[LoweredKernel | None] = []
    for call in program.calls:
        if call.alias or call.reference:
            kernels.append(None)
            continue
        key = structural_key(call.function)
        if key not in lowered:
            lowered[key] = lower_group(call.function, names.name(call.function), target)
        kernels.append(lowered[key])
    _own_constants(program, kernels)
    return CompiledModel(module, program, plan_memory(program), kernels)


def lower_graph(module: IRModule, target: Target) -> tuple[str, IRModule, dict[str, NDArray]]:
    """Lower the kernels of an optimised module for the graph executor, without compiling them."""
    model = _compile_ahead(module, target, "default")
    kernels = IRModule({kernel.name: kernel.prim_func for kernel in model.kernels.values()})
    values = [value for _, value in model.program.constants]
    params = dict(zip(model.program.constant_names, values, strict=True))
    return _graph(model.program, model.calls, model.memory).to_json(), kernels, params


def as_module(who: str, ir_mod: object) -> IRModule:
    """Return a module whose function ``main`` is a graph."""
    if isinstance(ir_mod, Function):
        ir_mod = IRModule({"main": ir_mod})
    if not isinstance(ir_mod, IRModule):
        expected(who, "mod", "an IRModule or a Function of a graph", ir_mod)
    if "main" not in ir_mod or not isinstance(ir_mod["main"], Function):
        raise ArgumentError(f"{who}: the module must have a function 'main' that is a graph")
    return ir_mod


def build_target(
    target: TargetLike | Sequence[TargetLike] | None, ahead: bool = False, devices: bool = False
) -> Target:
    """Return the target of a build: by default the current target, else this machine's.

    A mapping names one target for its kind of device, or gives a target's options, a sequence has one target.  Calls
    that are compiled ahead of time may also be written in C.
    """
    several: Sequence[TargetLike] | None = None
    if isinstance(target, Mapping) and "kind" not in target:
        several = list(target.values())
    elif isinstance(target, (list, tuple)):
        several = target
    if several is not None and len(several) != 1:
        raise TargetError(f"relay.build: code is made for one device, got {show(target)}")
    given: Any = target if several is None else several[0]
    chosen = Target(given) if given is not None else Target.current() or Target("llvm")
    if chosen.kind == "llvm" or (is_device(chosen) and devices) or (chosen.kind == "c" and ahead):
        return chosen
    hint = '; Executor("aot") writes C' if chosen.kind == "c" else ""
    hint = '; Executor("graph") launches its kernels' if is_device(chosen) else hint
    raise TargetError(f"relay.build: target {chosen.kind!r} is not supported{hint}")


def _own_constants(program: GraphProgram, kernels: list[LoweredKernel | None]) -> None:
    """Make constants inside of kernels values of the graph, which the kernels get as their last inputs."""
    for call, kernel in zip(program.calls, kernels, strict=True):
        for value in kernel.constants if kernel is not None else ():
            number = len(program.types)
            program.types.append(TensorType(value.shape, value.dtype))
            program.constants.append((number, value))
            call.inputs.append(number)


def _graph(program: GraphProgram, calls: Sequence[NamedKernel | LoweredKernel | None], memory: MemoryPlan) -> Graph:
    """Return the graph as the executor reads it."""
    order = [v for _, v in program.inputs] + [v for v, _ in program.constants]
    names = [n for n, _ in program.inputs] + program.constant_names
    nodes = [Node(op="null", name=name, inputs=[]) for name in names]
    entry: dict[int, tuple[int, int, int]] = {v: (i, 0, 0) for i, v in enumerate(order)}
    rows = list(range(len(nodes)))
    for call, named in zip(program.calls, calls, strict=True):
        for position, value in enumerate(call.outputs):
            entry[value] = (len(nodes), position, 0)
        rows.append(len(order))
        order += call.outputs
        nodes.append(_node(call, named, entry, len(nodes)))
    rows.append(len(order))
    return Graph(
        nodes=nodes,
        arg_nodes=list(range(len(names))),
        heads=[entry[v] for v in program.outputs],
        attrs={
            "dltype": ["list_str", [program.types[v].dtype for v in order]],
            "device_index": ["list_int", [1] * len(order)],
            "storage_id": ["list_int", [memory.storage[v] for v in order]],
            "shape": ["list_shape", [list(program.types[v].concrete_shape) for v in order]],
        },
        node_row_ptr=rows,
    )


def _node(
    call: KernelCall, named: NamedKernel | LoweredKernel | None, entry: dict[int, tuple[int, int, int]], index: int
) -> Node:
    function = named.name if named is not None else ALIAS if call.alias else REFERENCE
    attrs = {
        "func_name": function,
        "num_inputs": str(len(call.inputs)),
        "num_outputs": str(len(call.outputs)),
        "flatten_data": "0",
        "hash": hash_of(call.function),
    }
    name = function
    if function is REFERENCE:
        name = call.operator.name
        attrs["operator"] = call.operator.name
        attrs["operator_attrs"] = json.dumps({k: _plain(v) for k, v in call.attrs.items()})
        attrs["nest"] = json.dumps(call.nest)
    elif function is ALIAS:
        name = f"reshape_nop_{index}"
    return Node(op="tvm_op", name=name, attrs=attrs, inputs=[entry[v] for v in call.inputs])


def _plain(value: object) -> object:
    """Return an attribute as JSON has it."""
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return value.value if isinstance(value, IntImm) else value
