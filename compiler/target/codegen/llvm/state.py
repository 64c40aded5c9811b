"""The state of code generation for an LLVM module and for its current function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from llvmlite import ir

from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.runtime.modules.signature import Signature
from compiler.target.codegen.llvm.builder import Builder
from compiler.target.codegen.llvm.tracing.debug_locations import DebugLocations
from compiler.target.codegen.llvm.types import (
    I8,
    I32,
    POINTER,
    VOID,
    Literal,
    lane_mask,
    lanes_of,
    poison,
    scalar_of,
    with_lanes,
)
from compiler.target.target import Target
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc

_STACK_BITS = 128
"""The alignment of the stack on x86-64: of wider vectors that are spilled to it, many cross lines of the cache."""


def cpu_attributes(target: Target) -> list[str]:
    """Return the function attributes of the CPU, as clang emits them: name, features, vector sizes."""
    attributes = [f'"target-cpu"="{target.cpu}"'] if target.mcpu else []
    features = ",".join(target.mattr) if target.mcpu in ("", "native") else target.llvm_features
    if features:
        attributes.append(f'"target-features"="{features}"')
    if any(feature.startswith("+sve") for feature in target.mattr):
        attributes.append("vscale_range(1,16)")
    if target.triple.startswith("x86_64") and target.vector_bits > _STACK_BITS:
        attributes.append('"frame-pointer"="all"')  # without one, LLVM cannot align the stack once vectors are spilled
    return attributes


@dataclass(frozen=True, slots=True)
class DeclaredFunction:
    """A declared function of the module; its shape variables (``sizes``) are passed after the arguments."""

    code: ir.Function
    func: PrimFunc
    signature: Signature
    sizes: tuple[Var, ...]


@dataclass(slots=True)
class ModuleState:
    """The state that the functions of an LLVM module share."""

    module: ir.Module
    debug: DebugLocations | None
    target: Target
    parallel: bool
    """Whether parallel loops call an OpenMP runtime; otherwise they are serial."""
    functions: dict[str, DeclaredFunction] = field(default_factory=dict)
    """The functions by their names in the module and by their symbols."""
    messages: list[str] = field(default_factory=list)
    """Messages of assertions; a function that returns ``n > 0`` failed with message ``n - 1``."""
    imported: list[str] = field(default_factory=list)
    """LLVM IR, or paths of such files, from the pragma ``import_llvm``."""
    turns: ir.GlobalVariable | None = None

    def declare(self, name: str, result: ir.Type, args: Sequence[ir.Type]) -> ir.Function:
        """Return an external function, declaring it at its first use."""
        declared = self.module.globals.get(name)
        if declared is not None:
            return declared
        function = ir.Function(self.module, ir.FunctionType(result, args), name)
        function.attributes.add("nounwind")
        return function

    def define(self, name: str, result: ir.Type, args: Sequence[ir.Type]) -> ir.Function:
        """Define a function with the attributes of the target CPU."""
        function = ir.Function(self.module, ir.FunctionType(result, args), name)
        function.attributes.add("nounwind")
        for attribute in cpu_attributes(self.target):
            set.add(function.attributes, attribute)  # llvmlite's own ``add`` does not accept target attributes
        return function

    def intrinsic(
        self, name: str, result: ir.Type, args: Sequence[ir.Type], overloads: Sequence[ir.Type]
    ) -> ir.Function:
        """Declare an LLVM intrinsic, e.g. ``llvm.fabs`` overloaded on ``<8 x float>``."""
        return self.declare(".".join([name, *(suffix(t) for t in overloads)]), result, args)

    def variable(self, typ: ir.Type, name: str) -> ir.GlobalVariable:
        """Define an internal, zero-initialised global variable."""
        variable = ir.GlobalVariable(self.module, typ, self.module.get_unique_name(name))
        variable.initializer, variable.linkage = ir.Constant(typ, None), "internal"
        return variable

    def constant_bytes(self, data: bytes, name: str, alignment: int) -> ir.GlobalVariable:
        """Define an internal constant."""
        typ = ir.ArrayType(I8, len(data))
        constant = ir.GlobalVariable(self.module, typ, self.module.get_unique_name(name))
        constant.initializer, constant.linkage = ir.Constant(typ, bytearray(data)), "internal"
        constant.global_constant, constant.align = True, alignment
        return constant

    def message(self, text: str) -> int:
        """Return the status code of a failure with ``text``."""
        if text not in self.messages:
            self.messages.append(text)
        return self.messages.index(text) + 1


def suffix(typ: ir.Type) -> str:
    """Return the mangled type in the name of an overloaded intrinsic."""
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


NOT_UNROLLED = "llvm.loop.unroll.disable"
"""The hint that keeps a loop as it is."""
UNROLLED_AS_VECTORS = "llvm.loop.vectorize.followup_all"
"""The hint that keeps a loop until it is one of vectors, of which LLVM writes out few."""


def _hinted(module: ir.Module, hint: str) -> ir.MDValue:
    """Return the metadata node of a loop: a self-reference, followed by the hint."""
    loop, hints = ir.MDValue(module, [], name=str(len(module.metadata))), [module.add_metadata([hint])]
    if hint == UNROLLED_AS_VECTORS:
        made = module.add_metadata(["llvm.loop.isvectorized", ir.Constant(I32, 1)])
        hints = [module.add_metadata([hint, made]), module.add_metadata([NOT_UNROLLED])]
    loop.operands = (loop, *hints)
    return loop


@dataclass(slots=True)
class FunctionState:
    """The state of the current function, with the insertion point.

    Attributes
    ----------
    wide : dict
        The 64-bit values of index variables in scope.
    alignments : dict
        The alignment in bytes of the memory that a pointer variable points to.
    definitions : dict
        The index expressions that variables of bindings stand for, without such variables.
    distinct : set
        Pointer variables that alias no other pointer.
    accumulated : set
        Pointer variables of buffers that some statement both reads and writes.
    chosen : dict
        The values in single precision that ones in half precision are, as they were chosen from such.
    cleanups : list
        Heap allocations to free before the function returns, innermost last.
    stack_bytes : int
        Total size of the allocations on the stack.
    in_parallel : bool
        Whether this is the body of a parallel loop.
    result, returns : ir.Value or None, str
        The address at which the value of ``tir.ret`` is stored, and its data type; None and empty if there is none.
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
    definitions: dict[Var, PrimExpr] = field(default_factory=dict)
    distinct: set[Var] = field(default_factory=set)
    accumulated: frozenset[Var] = frozenset()
    chosen: dict[ir.Value, ir.Value] = field(default_factory=dict)
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

    def joined(self, pieces: list[ir.Value]) -> ir.Value:
        """Put vectors behind each other, neighbours first: all but the last have the same length."""
        while len(pieces) > 1:
            pairs = zip(pieces[::2], pieces[1::2], strict=False)
            rest = pieces[-1:] if len(pieces) % 2 else []
            pieces = [*(self._pair(a, b) for a, b in pairs), *rest]
        return pieces[0]

    def _pair(self, a: ir.Value, b: ir.Value) -> ir.Value:
        first, second = a.type.count, b.type.count
        if second < first:
            b = self.builder.shuffle_vector(b, poison(b.type), lane_mask([min(i, second - 1) for i in range(first)]))
        return self.builder.shuffle_vector(a, b, lane_mask(list(range(first + second))))

    def extended(self, value: ir.Value, typ: ir.Type) -> ir.Value:
        """Return a number in a wider type; not by converting it twice where it was narrowed without rounding."""
        known = self.chosen.get(value)
        return known if known is not None and known.type == typ else self.builder.fpext(value, typ)

    def call_intrinsic(
        self, name: str, args: Sequence[ir.Value], flags: Sequence[str] = (), overloads: Sequence[ir.Type] = ()
    ) -> ir.Value:
        """Call an intrinsic that is overloaded on the type of its first argument, which it returns, and others."""
        typ = args[0].type
        callee = self.shared.intrinsic(name, typ, [a.type for a in args], [typ, *overloads])
        return self.builder.call(callee, args, fastmath=flags)

    def alloca(self, typ: ir.Type, align: int, name: str = "") -> ir.Value:
        """Allocate stack memory in the entry block."""
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
        """Create a basic block, which :meth:`enter` inserts into the function."""
        return ir.Block(self.function, name)

    def enter(self, block: ir.Block) -> None:
        """Insert a block at the end of the function and continue there."""
        self.function.blocks.append(block)
        self.builder.position_at_end(block)

    @contextmanager
    def loop(
        self, var: Var, begin: ir.Value, end: ir.Value, hint: str = "", may_be_empty: bool = False
    ) -> Iterator[None]:
        """Write a bottom-tested loop from ``begin`` to ``end``, exclusive, around what is written within."""
        body, after, before = self.block(f"for.{var.name}"), self.block(f"for.{var.name}.end"), self.builder.block
        if may_be_empty:
            self.builder.cbranch(self.builder.icmp_signed("<", begin, end), body, after)
        else:
            self.builder.branch(body)
        self.enter(body)
        counter = self.wide[var] = self.builder.phi(begin.type, name=var.name)
        counter.add_incoming(begin, before)
        yield
        following = self.builder.add(counter, ir.Constant(counter.type, 1), flags=("nsw",))
        counter.add_incoming(following, self.builder.block)
        back = self.builder.cbranch(self.builder.icmp_signed("<", following, end), body, after)
        if hint:
            back.set_metadata("llvm.loop", _hinted(self.shared.module, hint))
        self.enter(after)

    def require(self, condition: ir.Value, code: int | ir.Value) -> None:
        """Return ``code`` from the function unless ``condition`` holds."""
        passed, failed = self.block("passed"), self.block("failed")
        self.builder.cbranch(condition, passed, failed)
        self.enter(failed)
        self.leave(code)
        self.enter(passed)

    def leave(self, code: int | ir.Value) -> None:
        """Return ``code`` from the function after freeing heap memory."""
        for pointer in reversed(self.cleanups):
            self.free(pointer)
        self.builder.ret(code if isinstance(code, ir.Value) else ir.Constant(I32, code))

    def free(self, pointer: ir.Value) -> None:
        """Free heap memory."""
        self.builder.call(self.shared.declare("free", VOID, [POINTER]), [pointer])

    def lanewise(
        self,
        function: ir.Function,
        args: Sequence[ir.Value],
        result: ir.Type,
        attributes: Mapping[int, Sequence[str]] | None = None,
    ) -> ir.Value:
        """Call a scalar function for each lane; arguments may have attributes, by position."""
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
    """The interface through which calls of operators emit code."""

    state: FunctionState

    def visit(self, n: PrimExpr, *args: object) -> ir.Value:
        """Return the value of an expression."""

    def convert(self, value: ir.Value, source: str, target: str) -> ir.Value:
        """Convert a value to another data type."""

    def branch(self, condition: PrimExpr, then: Callable[[], ir.Value], other: Callable[[], ir.Value]) -> ir.Value:
        """Return one of two values; only the selected one is evaluated."""

    def address(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> ir.Value:
        """Return a pointer to an element."""
