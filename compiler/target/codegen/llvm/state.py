"""The state of code generation: of one LLVM module, and of the function that is being written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from llvmlite import ir

from compiler.ir.primexpr import PrimExpr, Var
from compiler.runtime.signature import Signature
from compiler.target.codegen.llvm.builder import Builder
from compiler.target.codegen.llvm.debug_locations import DebugLocations
from compiler.target.codegen.llvm.types import I8, I32, POINTER, VOID, Literal, lanes_of, poison, scalar_of, with_lanes
from compiler.target.target import Target
from compiler.tir.buffer import Buffer
from compiler.tir.function import PrimFunc


def cpu_attributes(target: Target) -> list[str]:
    """Return what clang writes of the CPU beside a function: its name, features that were asked for, vector sizes."""
    attributes = [f'"target-cpu"="{target.cpu}"'] if target.mcpu else []
    if target.mattr:
        attributes.append(f'"target-features"="{",".join(target.mattr)}"')
    if any(feature.startswith("+sve") for feature in target.mattr):
        attributes.append("vscale_range(1,16)")
    return attributes


@dataclass(frozen=True, slots=True)
class DeclaredFunction:
    """A function of the module that others can call.

    Attributes
    ----------
    code : llvmlite.ir.Function
    func : PrimFunc
    signature : Signature
    sizes : tuple of Var
        Variables of its shapes, which are passed after its arguments.
    """

    code: ir.Function
    func: PrimFunc
    signature: Signature
    sizes: tuple[Var, ...]


@dataclass(slots=True)
class ModuleState:
    """What the functions of one LLVM module share.

    Attributes
    ----------
    target : Target
        What the code is for.
    messages : list of str
        Texts of failed assertions; a function that returns ``n > 0`` failed with message ``n - 1``.
    parallel : bool
        Whether parallel loops call an OpenMP runtime; otherwise they are written as serial ones.
    functions : dict of str to DeclaredFunction
        By their names in the module, and by the names of their symbols.
    imported : list of str
        LLVM IR that loops bring by the pragma ``import_llvm``, or the paths of files of it.
    """

    module: ir.Module
    debug: DebugLocations | None
    target: Target
    parallel: bool
    functions: dict[str, DeclaredFunction] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)
    imported: list[str] = field(default_factory=list)

    def declare(self, name: str, result: ir.Type, args: Sequence[ir.Type]) -> ir.Function:
        """Return the external function of that name, declared at its first use."""
        declared = self.module.globals.get(name)
        if declared is not None:
            return declared
        function = ir.Function(self.module, ir.FunctionType(result, args), name)
        function.attributes.add("nounwind")
        return function

    def define(self, name: str, result: ir.Type, args: Sequence[ir.Type]) -> ir.Function:
        """Return a new function of the module, for the CPU that the target names."""
        function = ir.Function(self.module, ir.FunctionType(result, args), name)
        function.attributes.add("nounwind")
        for attribute in cpu_attributes(self.target):
            set.add(function.attributes, attribute)  # llvmlite's own ``add`` knows no attributes of targets
        return function

    def intrinsic(
        self, name: str, result: ir.Type, args: Sequence[ir.Type], overloads: Sequence[ir.Type]
    ) -> ir.Function:
        """Return an intrinsic of LLVM, e.g. ``llvm.fabs`` overloaded on ``<8 x float>``."""
        return self.declare(".".join([name, *(suffix(t) for t in overloads)]), result, args)

    def variable(self, typ: ir.Type, name: str) -> ir.GlobalVariable:
        """Return a new variable of the module's own; it is zero when the code is loaded."""
        variable = ir.GlobalVariable(self.module, typ, self.module.get_unique_name(name))
        variable.initializer, variable.linkage = ir.Constant(typ, None), "internal"
        return variable

    def constant_bytes(self, data: bytes, name: str, alignment: int) -> ir.GlobalVariable:
        """Return a new constant of the module's own."""
        typ = ir.ArrayType(I8, len(data))
        constant = ir.GlobalVariable(self.module, typ, self.module.get_unique_name(name))
        constant.initializer, constant.linkage = ir.Constant(typ, bytearray(data)), "internal"
        constant.global_constant, constant.align = True, alignment
        return constant

    def message(self, text: str) -> int:
        """Return the number that a function returns to fail with ``text``."""
        if text not in self.messages:
            self.messages.append(text)
        return self.messages.index(text) + 1


def suffix(typ: ir.Type) -> str:
    """Return how the name of an overloaded intrinsic spells a type."""
    scalar = scalar_of(typ)
    if isinstance(scalar, ir.IntType):
        text = f"i{scalar.width}"
    elif isinstance(scalar, ir.PointerType):
        text = "p0"
    else:
        text = {"half": "f16", "float": "f32", "double": "f64"}[str(scalar)]
    if not isinstance(typ, ir.VectorType):
        return text
    return f"v{typ.count}{text}" if typ.count > 0 else f"nxv{-typ.count}{text}"


@dataclass(slots=True)
class FunctionState:
    """One LLVM function and where in it the next instruction goes.

    Attributes
    ----------
    values : dict
        What each variable in scope is.
    wide : dict
        What variables in scope that count something are, in 64 bits.
    alignments : dict
        Alignment in bytes of what a pointer variable points to.
    divisors : dict
        A number that surely divides a variable.
    distinct : set
        Pointer variables whose memory no other pointer reaches.
    cleanups : list
        Pointers of heap memory that must be freed before the function returns, innermost last.
    stack_bytes : int
        What its allocations take of the stack.
    in_parallel : bool
        Whether what is written is the body of a parallel loop.
    result : ir.Value, optional
        Where the value that ``tir.ret`` returns is stored.
    returns : str
        The data type of that value; empty without one.
    """

    shared: ModuleState
    function: ir.Function
    builder: Builder
    threads: ir.Value | None = None
    values: dict[Var, ir.Value] = field(default_factory=dict)
    wide: dict[Var, ir.Value] = field(default_factory=dict)
    alignments: dict[Var, int] = field(default_factory=dict)
    cleanups: list[ir.Value] = field(default_factory=list)
    divisors: dict[Var, int] = field(default_factory=dict)
    distinct: set[Var] = field(default_factory=set)
    stack_bytes: int = 0
    in_parallel: bool = False
    result: ir.Value | None = None
    returns: str = ""

    def splat(self, scalar: ir.Value, count: int) -> ir.Value:
        """Return a vector with ``scalar`` in each lane."""
        typ = with_lanes(scalar.type, count)
        single = self.builder.insert_element(poison(typ), scalar, ir.Constant(I32, 0))
        first = Literal(with_lanes(I32, count), "zeroinitializer")
        return self.builder.shuffle_vector(single, poison(typ), first)

    def call_intrinsic(self, name: str, args: Sequence[ir.Value], flags: Sequence[str] = ()) -> ir.Value:
        """Call an intrinsic that is overloaded on the type of its first argument and returns that type."""
        typ = args[0].type
        callee = self.shared.intrinsic(name, typ, [a.type for a in args], [typ])
        return self.builder.call(callee, args, fastmath=flags)

    def alloca(self, typ: ir.Type, align: int, name: str = "") -> ir.Value:
        """Reserve memory on the stack, once for each call of the function."""
        entry = self.function.entry_basic_block
        here = self.builder.block
        self.builder.position_at_start(entry)
        saved, self.builder.debug_metadata = self.builder.debug_metadata, None
        pointer = self.builder.alloca(typ, name=name)
        pointer.type, pointer.align = POINTER, align
        self.builder.debug_metadata = saved
        self.builder.position_at_end(here)
        return pointer

    def block(self, name: str) -> ir.Block:
        """Return a basic block that can be branched to; it stands where :meth:`enter` comes to it."""
        return ir.Block(self.function, name)

    def enter(self, block: ir.Block) -> None:
        """Go on in ``block``, after everything written so far."""
        self.function.blocks.append(block)
        self.builder.position_at_end(block)

    def require(self, condition: ir.Value, code: int | ir.Value) -> None:
        """Return ``code`` from the function unless ``condition`` holds."""
        passed, failed = self.block("passed"), self.block("failed")
        self.builder.cbranch(condition, passed, failed)
        self.enter(failed)
        self.leave(code)
        self.enter(passed)

    def leave(self, code: int | ir.Value) -> None:
        """Return ``code`` from the function; heap memory is given back first."""
        for pointer in reversed(self.cleanups):
            self.free(pointer)
        self.builder.ret(code if isinstance(code, ir.Value) else ir.Constant(I32, code))

    def free(self, pointer: ir.Value) -> None:
        """Give heap memory back."""
        self.builder.call(self.shared.declare("free", VOID, [POINTER]), [pointer])

    def lanewise(
        self,
        function: ir.Function,
        args: Sequence[ir.Value],
        result: ir.Type,
        attributes: Mapping[int, Sequence[str]] | None = None,
    ) -> ir.Value:
        """Call a scalar function for each lane of its arguments; arguments may have attributes by their places."""
        count = lanes_of(args[0].type)
        if count == 1:
            return self.builder.call(function, args, arg_attrs=attributes)
        vector = poison(ir.VectorType(scalar_of(result), count))
        for lane in range(count):
            index = ir.Constant(I32, lane)
            lanes = [self.builder.extract_element(a, index) for a in args]
            one = self.builder.call(function, lanes, arg_attrs=attributes)
            vector = self.builder.insert_element(vector, one, index)
        return vector


class Emitter(Protocol):
    """What an intrinsic's code is written through."""

    state: FunctionState

    def visit(self, n: PrimExpr, *args: object) -> ir.Value:
        """Return the value of an expression."""

    def convert(self, value: ir.Value, source: str, target: str) -> ir.Value:
        """Return a value converted to another data type."""

    def branch(self, condition: PrimExpr, then: Callable[[], ir.Value], other: Callable[[], ir.Value]) -> ir.Value:
        """Return one of two values; only that one is evaluated."""

    def address(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> ir.Value:
        """Return a pointer to an element."""
