"""``relay.vm``: compiles graphs with control flow to virtual machine programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compiler.driver.relay.build import TargetLike, as_module, build_target
from compiler.driver.relay.external import with_external_code
from compiler.driver.relay.graph import as_group
from compiler.driver.relay.groups import can_lower
from compiler.driver.relay.kernels import KernelCompiler, KernelModule, NamedFunction
from compiler.driver.relay.params import bind_params
from compiler.driver.relay.vm_kernels import dynamic_kernel, reshaped_to, static_kernel
from compiler.driver.relay.vm_loops import native_loop
from compiler.ir.error import ArgumentError, show
from compiler.ir.extension import public_module
from compiler.ir.function import GlobalVar
from compiler.ir.instrument import active_instruments
from compiler.ir.module import IRModule
from compiler.ir.transform import PassContext
from compiler.relay.adt import Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar
from compiler.relay.analysis import free_vars
from compiler.relay.analysis.traversal import post_order
from compiler.relay.expr import Call, Constant, GraphExpr, If, Let, Tuple, TupleGetItem, Var
from compiler.relay.function import Function
from compiler.relay.operator import RelayOp
from compiler.relay.reference import RefCreate, RefRead, RefWrite
from compiler.relay.transform.infer_type import InferType
from compiler.relay.transform.normal_form.manifest_alloc import ManifestAlloc
from compiler.relay.transform.normal_form.to_basic_block_normal_form import ToBasicBlockNormalForm
from compiler.relay.transform.pipeline import optimize
from compiler.relay.ty import TensorType
from compiler.runtime.arrays.huge_pages import copied_together
from compiler.runtime.arrays.ndarray import ArrayLike, NDArray, array
from compiler.runtime.modules.module import Module
from compiler.runtime.vm import Executable, VirtualMachine
from compiler.runtime.vm import instructions as vm
from compiler.target.target import Target

__all__ = ["Executable", "VMCompiler", "VirtualMachine", "compile"]


def compile(
    mod: IRModule | Function,
    target: TargetLike | None = None,
    target_host: object = None,
    params: Mapping[str, ArrayLike] | None = None,
) -> Executable:
    """Compile every function of a module that ``main`` reaches for the virtual machine.

    Groups of operators over static shapes become kernels; operators over dynamic shapes, or without tensor expressions,
    run through NumPy, until shapes come again.  The target, whose host is itself, is by default the current one, or
    else this machine; ``params`` are constant parameters of ``main``.
    """
    module, chosen = as_module("relay.vm.compile", mod), build_target(target)
    for instrument in active_instruments():
        instrument.graph_build_begin(module, chosen)
    executable: Executable | None = None
    try:
        module, external = with_external_code(module)
        module = optimize(bind_params(module, params or {}), chosen)
        module = InferType()(ToBasicBlockNormalForm()(module))
        executable = _compile(module, chosen, external)
    finally:
        for instrument in active_instruments():
            instrument.graph_build_end(executable)
    return executable


def _compile(module: IRModule, target: Target, external: Sequence[Module]) -> Executable:
    with KernelCompiler(target, module="vm_mod") as kernels:
        program = _Program(module, kernels)
        program.entry(module.get_global_var("main"))
        program.finish()
    executable = program.executable
    executable.lib = lib = KernelModule(kernels.kernels, target, loops=kernels.loops)
    for library in external:
        lib.import_module(library)
    within = (constants for _, _, constants, _ in program.static)
    executable.constants[:], *own = copied_together(program.constants, *within)
    for (index, named, _, function), constants in zip(program.static, own, strict=True):
        executable.kernels[index] = static_kernel(lib, named.name, constants, function)
    return executable


class VMCompiler:
    """Compiles modules for the virtual machine step by step: :func:`compile` takes them all."""

    def __init__(self) -> None:
        self._params: dict[str, ArrayLike] = {}
        self._generate: Callable[[], Executable] | None = None
        self._executable: Executable | None = None

    def set_params(self, params: Mapping[str, ArrayLike]) -> None:
        """Set constant parameters of ``main``."""
        self._params = dict(params)

    def optimize(
        self,
        mod: IRModule | Function,
        target: TargetLike | None = None,
        target_host: object = None,
        params: Mapping[str, ArrayLike] | None = None,
    ) -> tuple[IRModule, dict[str, ArrayLike]]:
        """Return a module with its parameters bound, optimised for a target, and with its memory written down.

        The target is chosen as in :func:`compile`.
        """
        module = as_module("VMCompiler.optimize", mod)
        given = dict(self._params if params is None else params)
        return ManifestAlloc()(optimize(bind_params(module, given), build_target(target))), given

    def lower(self, mod: IRModule | Function, target: TargetLike | None = None, target_host: object = None) -> None:
        """Check what :meth:`codegen` is to compile, external compilers included, for a target as in :func:`compile`."""
        module, chosen, context = as_module("VMCompiler.lower", mod), build_target(target), PassContext.current()

        def generate() -> Executable:
            with nullcontext() if PassContext.current() is context else context:
                return compile(module, chosen, target_host, self._params)

        self._generate, self._executable = generate, None

    def codegen(self) -> None:
        """Generate the program and its machine code.

        Raises ArgumentError if :meth:`lower` was given nothing.
        """
        if self._generate is None:
            raise ArgumentError("VMCompiler.codegen: nothing was lowered, call lower first")
        self._executable = self._generate()

    def get_params(self) -> dict[str, NDArray]:
        """Return the constant parameters of ``main`` that :meth:`set_params` was given."""
        return {name: v if isinstance(v, NDArray) else array(v) for name, v in self._params.items()}

    def get_exec(self) -> Executable:
        """Return the program.

        Raises ArgumentError if nothing was compiled.
        """
        if self._executable is None and self._generate is not None:
            self.codegen()
        if self._executable is None:
            raise ArgumentError("VMCompiler.get_exec: nothing was compiled, call lower first")
        return self._executable


class _Program:
    """The functions of a module that are reached, each compiled when it is named first."""

    def __init__(self, module: IRModule, kernels: KernelCompiler) -> None:
        self.module = module
        self.executable = Executable()
        self.static: list[tuple[int, NamedFunction, list[NDArray], Function]] = []
        self.constants: list[NDArray] = []
        self._kernels = kernels
        self._functions: dict[GlobalVar | Constructor, int] = {}
        self._todo: list[tuple[int, Function, tuple[Var, ...]]] = []
        self._constants: dict[object, int] = {}

    def entry(self, var: GlobalVar) -> None:
        """Let a function be called from outside."""
        function: Function = self.module[var]
        self.executable.entries[var.name_hint] = self.function(var)
        types = [p.checked_type for p in function.params]
        self.executable.dtypes[var.name_hint] = [t.dtype if isinstance(t, TensorType) else None for t in types]

    def function(self, key: GlobalVar | Constructor) -> int:
        """Return the number of a global function, or of one that makes values of a constructor."""
        if key not in self._functions:
            if isinstance(key, Constructor):
                self._functions[key] = self._constructor(key)
            else:
                self._functions[key] = index = self.inner(self.module[key], (), key.name_hint)
                self.executable.functions[index].is_global = True
        return self._functions[key]

    def inner(self, function: object, captured: tuple[Var, ...], name: str) -> int:
        """Return the number of a new function, whose first parameters are what it captures."""
        if not isinstance(function, Function):
            raise ArgumentError(f"relay.vm.compile: {name} must be a function of a graph, got {show(function)}")
        params = tuple(v.name_hint for v in (*captured, *function.params))
        self.executable.functions.append(vm.VMFunction(name, params))
        index = len(self.executable.functions) - 1
        self._todo.append((index, function, captured))
        return index

    def _constructor(self, con: Constructor) -> int:
        count = len(con.inputs)
        made = vm.VMFunction(con.name_hint, tuple(f"p{i}" for i in range(count)), count + 1)
        made.instructions = [vm.MakeADT(count, con.tag, con.name_hint, tuple(range(count))), vm.Return(count)]
        self.executable.functions.append(made)
        return len(self.executable.functions) - 1

    def finish(self) -> None:
        """Compile every function that was named."""
        while self._todo:
            index, function, captured = self._todo.pop()
            _FunctionCompiler(self, self.executable.functions[index]).compile(function, captured)

    def constant(self, value: NDArray) -> int:
        """Return the number of a constant."""
        if id(value) not in self._constants:
            self._constants[id(value)] = len(self.constants)
            self.constants.append(value)
        return self._constants[id(value)]

    def kernel(self, call: Call) -> int:
        """Return the number of the kernel of a call."""
        group = as_group(call)
        key = ("kernel", group if group is call.op else call)
        if key not in self._constants:
            self._constants[key] = index = len(self.executable.kernels)
            self.executable.kernels.append(dynamic_kernel(group, self._kernels.target))
            if can_lower(group):
                named = self._kernels.kernel(group)
                self.static.append((index, named, named.kernel.lowered.constants, group))
        return self._constants[key]

    def loop(self, var: Var, function: Function) -> tuple[int, tuple[Var, ...]] | None:
        """Return the number of a loop's kernel, and what the loop captures; None if the machine must run it."""
        loop = native_loop(var, function, self._kernels)
        if loop is None:
            return None
        self.executable.kernels.append(dynamic_kernel(function, self._kernels.target))
        self.static.append((len(self.executable.kernels) - 1, loop.code, loop.constants, function))
        return len(self.executable.kernels) - 1, loop.captured


@dataclass(frozen=True, slots=True)
class _Loop:
    """A function that machine code runs to its end: the kernel's number, and what it takes before the arguments."""

    kernel: int
    captured: tuple[Var, ...]
    function: Function


_CALLED = (RelayOp, Function, Constructor, GlobalVar, Let)
"""What is no value when it is called, or one that instructions make."""


class _FunctionCompiler:
    """Writes the instructions of one function."""

    def __init__(self, program: _Program, function: vm.VMFunction) -> None:
        self._program = program
        self._function = function
        self._scopes: list[dict[GraphExpr, int]] = [{}]
        self._loops: dict[GraphExpr, _Loop] = {}

    def compile(self, function: Function, captured: tuple[Var, ...]) -> None:
        """Write the instructions of ``function``."""
        for var in (*captured, *function.params):
            self._scopes[0][var] = self._register()
        self._emit(vm.Return(self._value(function.body)))
        vm.mark_last_calls(self._function)

    # registers and instructions

    def _register(self) -> int:
        self._function.registers += 1
        return self._function.registers - 1

    def _emit(self, instruction: vm.Instruction) -> int:
        self._function.instructions.append(instruction)
        return instruction.target

    @property
    def _here(self) -> int:
        return len(self._function.instructions)

    @contextmanager
    def _scope(self) -> Iterator[None]:
        """Forget inside what a branch computes: the other branches have not computed it."""
        self._scopes.append({})
        try:
            yield
        finally:
            self._scopes.pop()

    # expressions

    def _value(self, expr: GraphExpr) -> int:
        """Return the register that holds an expression's value.

        What it is computed from comes first, one after the other: in a model thousands of calls are arguments of calls.
        """
        register = self._known(expr)
        if register is not None:
            return register
        for part in post_order(expr, self._unknown_parts):
            if self._known(part) is None:  # a condition before it has not read it
                self._scopes[-1][part] = self._compute(part)
        return self._scopes[-1][expr]

    def _known(self, expr: GraphExpr) -> int | None:
        return next((scope[expr] for scope in reversed(self._scopes) if expr in scope), None)

    def _unknown_parts(self, expr: GraphExpr) -> list[GraphExpr]:
        """Return what the instructions of an expression always read, and no register holds yet."""
        parts: Sequence[GraphExpr] = ()
        match expr:
            case Call() if isinstance(expr.op, _CALLED) or expr.op in self._loops:
                parts = expr.args
            case Call():
                parts = (expr.op, *expr.args)
            case Tuple():
                parts = expr.fields
            case TupleGetItem():
                parts = (expr.tuple_value,)
        return [part for part in parts if self._known(part) is None]

    def _values(self, exprs: Sequence[GraphExpr]) -> tuple[int, ...]:
        return tuple([self._value(e) for e in exprs])

    def _compute(self, expr: GraphExpr) -> int:
        match expr:
            case Var() if expr in self._loops:  # not only called: a value
                return self._recursive(expr, self._loops[expr].function)
            case Constant():
                return self._emit(vm.LoadConstant(self._register(), self._program.constant(expr.data)))
            case Call():
                return self._call(expr)
            case Let():
                return self._let(expr)
            case If():
                return self._if(expr)
            case Match():
                return self._match(expr)
            case Function():
                return self._closure(expr, self._register(), "fn")
            case GlobalVar() | Constructor():
                if isinstance(expr, Constructor) and not expr.inputs:
                    return self._emit(vm.MakeADT(self._register(), expr.tag, expr.name_hint, ()))
                return self._emit(vm.MakeClosure(self._register(), self._program.function(expr), ()))
            case _:
                return self._data(expr)

    def _data(self, expr: GraphExpr) -> int:
        match expr:
            case Tuple():
                fields = self._values(expr.fields)
                return self._emit(vm.MakeADT(self._register(), 0, "", fields))
            case TupleGetItem():
                source = self._value(expr.tuple_value)
                return self._emit(vm.GetField(self._register(), source, expr.index))
            case RefCreate():
                source = self._value(expr.value)
                return self._emit(vm.MakeRef(self._register(), source))
            case RefRead():
                source = self._value(expr.ref)
                return self._emit(vm.ReadRef(self._register(), source))
            case RefWrite():
                ref, source = self._values((expr.ref, expr.value))
                return self._emit(vm.WriteRef(self._register(), ref, source))
            case _:
                raise ArgumentError(f"relay.vm.compile: {type(expr).__name__} {show(expr)} has no value here")

    def _call(self, call: Call) -> int:
        op = call.op
        if isinstance(op, Let) and op.body is op.var:  # a loop that is written where it is called
            self._bind(op)
            op = op.var
        if op in self._loops:
            loop = self._loops[op]
            return self._emit(vm.CallKernel(self._register(), loop.kernel, self._values((*loop.captured, *call.args))))
        if isinstance(op, RelayOp) or (isinstance(op, Function) and op.attrs.get("Primitive")):
            args = self._values(call.args)
            shape = reshaped_to(as_group(call))
            if shape is not None:
                return self._emit(vm.ReshapeTensor(self._register(), args[0], shape))
            return self._emit(vm.CallKernel(self._register(), self._program.kernel(call), args))
        if isinstance(op, Constructor):
            return self._emit(vm.MakeADT(self._register(), op.tag, op.name_hint, self._values(call.args)))
        if isinstance(op, GlobalVar):
            args = self._values(call.args)
            return self._emit(vm.CallFunction(self._register(), self._program.function(op), args))
        closure = self._value(op)
        return self._emit(vm.CallClosure(self._register(), closure, self._values(call.args)))

    def _let(self, expr: Let) -> int:
        let: GraphExpr = expr
        while isinstance(let, Let):
            self._bind(let)
            let = let.body
        return self._value(let)

    def _bind(self, let: Let) -> None:
        if not isinstance(let.value, Function) or let.value.attrs.get("Primitive"):
            self._scopes[-1][let.var] = self._value(let.value)
            return
        loop = self._program.loop(let.var, let.value)
        if loop is None:
            self._recursive(let.var, let.value)
        else:
            self._loops[let.var] = _Loop(*loop, let.value)

    def _recursive(self, var: Var, function: Function) -> int:
        # A recursive function captures the register that it is about to be in.
        self._scopes[-1][var] = register = self._register()
        return self._closure(function, register, var.name_hint)

    def _closure(self, function: Function, register: int, name: str) -> int:
        captured = tuple(free_vars(function))
        index = self._program.inner(function, captured, name)
        return self._emit(vm.MakeClosure(register, index, self._values(captured)))

    def _if(self, expr: If) -> int:
        result = self._register()
        unless = vm.JumpUnless(-1, self._value(expr.cond), -1)
        self._emit(unless)
        with self._scope():
            self._emit(vm.Move(result, self._value(expr.true_branch)))
        end = vm.Jump(-1, -1)
        self._emit(end)
        unless.to = self._here
        with self._scope():
            self._emit(vm.Move(result, self._value(expr.false_branch)))
        end.to = self._here
        return result

    # matches

    def _match(self, match: Match) -> int:
        result, data = self._register(), self._value(match.data)
        ends: list[vm.Jump] = []
        for clause in match.clauses:
            with self._scope():
                tests = self._pattern(clause.lhs, data)
                self._emit(vm.Move(result, self._value(clause.rhs)))
            ends.append(vm.Jump(-1, -1))
            self._emit(ends[-1])
            for test in tests:
                test.to = self._here
        self._emit(vm.Fail(-1, "no clause of a match fits the value"))
        for end in ends:
            end.to = self._here
        return result

    def _pattern(self, pattern: Pattern, source: int) -> list[vm.JumpUnlessTag]:
        """Name what a pattern names, and return the jumps that are taken where it does not fit."""
        if isinstance(pattern, PatternVar):
            self._scopes[-1][pattern.var] = source
        tests: list[vm.JumpUnlessTag] = []
        if isinstance(pattern, PatternConstructor):
            tests.append(vm.JumpUnlessTag(-1, source, pattern.constructor.tag, -1))
            self._emit(tests[-1])
        if isinstance(pattern, (PatternConstructor, PatternTuple)):
            for index, part in enumerate(pattern.patterns):
                if isinstance(part, (PatternVar, PatternConstructor, PatternTuple)):
                    tests += self._pattern(part, self._emit(vm.GetField(self._register(), source, index)))
        return tests


if not TYPE_CHECKING:  # a type checker knows all names, and refuses others
    __getattr__, __dir__ = public_module("tvm.relay.backend.vm", __all__)
