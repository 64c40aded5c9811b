"""Code generation for calls of operators: a table from their names to the functions that emit code."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from llvmlite import ir

from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.expr.primexpr import Broadcast, Call, FloatImm, IntImm, StringImm
from compiler.ir.op import Op
from compiler.ir.origin import user_place
from compiler.target.codegen.llvm.argument_stacks import call_packed_lowered, stack_alloca, struct_get, struct_set
from compiler.target.codegen.llvm.packed_calls import call_packed, call_traced, text_constant
from compiler.target.codegen.llvm.selection.constant_quotients import constant_quotient
from compiler.target.codegen.llvm.selection.speculation import is_speculatable
from compiler.target.codegen.llvm.selection.tile_products import call_on_tiles, configure_tiles
from compiler.target.codegen.llvm.selection.vector_math import VECTOR_FUNCTIONS, Lanes, power
from compiler.target.codegen.llvm.state import Emitter
from compiler.target.codegen.llvm.subroutines import call_function, return_value
from compiler.target.codegen.llvm.types import (
    I1,
    I32,
    POINTER,
    VOID,
    constant,
    lane_mask,
    lanes_of,
    memory_type,
    null,
    poison,
    register_type,
    scalar_of,
    with_lanes,
)
from compiler.target.cpu.cpu_features import tile_features
from compiler.target.cpu.cpu_lineage import features_of
from compiler.target.cpu.vector_registers import vector_bits
from compiler.target.target import Target
from compiler.tir.statements.buffer import BufferLoad

_CHOICES = frozenset(Op.get(f"tir.{name}") for name in ("fmaximum", "fminimum"))
Handler = Callable[[Emitter, Call], ir.Value]
Compute = Callable[[Emitter, list[ir.Value]], ir.Value]


def _in_single(compute: Compute, e: Emitter, n: Call) -> ir.Value:
    """Evaluate the arguments and compute, in single precision for half-precision values, as NumPy does."""
    if dt.is_integral(n.dtype):
        raise BuildError(
            f"LLVM code generation: {n} needs a floating-point operand, got {n.dtype}; cast it with .astype"
        )
    values = [e.visit(a) for a in n.args]
    if dt.bits(n.args[0].dtype) != 16:
        return compute(e, values)
    single = with_lanes(ir.FloatType(), lanes_of(values[0].type))
    half = values[0].type
    result = compute(e, [e.state.extended(v, single) if v.type == half else v for v in values])
    narrow = e.state.builder.fptrunc(result, half)
    if n.op in _CHOICES:
        e.state.chosen[narrow] = result
    return narrow


def _llvm(name: str) -> Handler:
    """Call an LLVM intrinsic that is overloaded on one floating-point type."""
    return partial(_in_single, lambda e, values: e.state.call_intrinsic(name, values))


def _of_two(name: str, order: str) -> Handler:
    """Call ``llvm.maximum`` or ``llvm.minimum``, one instruction where an operand is a constant number.

    GPUs' back ends do not have them: there the first value is taken where it comes first, or is NaN.
    """

    def compute(e: Emitter, values: list[ir.Value]) -> ir.Value:
        if not e.state.shared.target.triple.startswith(("nvptx", "amdgcn")):
            return e.state.call_intrinsic(name, values, ("nsz",))
        builder, (a, b) = e.state.builder, values
        first = builder.or_(builder.fcmp_ordered(order, a, b), builder.fcmp_unordered("uno", a, a))
        return builder.select(first, a, b)

    return partial(_in_single, compute)


def _libm(name: str) -> Handler:
    """Call a function of the C library, lane by lane."""

    def compute(e: Emitter, values: list[ir.Value]) -> ir.Value:
        scalar = scalar_of(values[0].type)
        symbol = name if isinstance(scalar, ir.DoubleType) else name + "f"
        function = e.state.shared.declare(symbol, scalar, [scalar_of(v.type) for v in values])
        return e.state.lanewise(function, values, scalar)

    return partial(_in_single, compute)


def _to_integer(name: str, e: Emitter, n: Call) -> ir.Value:
    """Round to the nearest integer."""
    quotient = constant_quotient(e, n.args[0])
    return _llvm(name)(e, n) if quotient is None else e.state.call_intrinsic(name, [quotient])


_LARGEST_PRODUCT = 4
"""The largest whole exponent whose power is a product: three roundings, at most three units in the last place."""


def _pow(e: Emitter, n: Call) -> ir.Value:
    """Multiply for a small whole exponent; the C library's function takes a hundred times as long per element."""
    exponent = n.args[1].value if isinstance(n.args[1], Broadcast) else n.args[1]
    if not isinstance(exponent, FloatImm) or exponent.value not in range(1, _LARGEST_PRODUCT + 1):
        return _in_single(lambda e, values: power(Lanes(e.state, values[0].type), *values), e, n)
    count = int(exponent.value)
    return _in_single(lambda e, values: _product(e.state.builder, values[0], count), e, n)


def _product(builder: ir.IRBuilder, x: ir.Value, count: int) -> ir.Value:
    """Multiply ``count`` times the same factor, by squaring."""
    if count == 1:
        return x
    root = _product(builder, x, count // 2)
    square = builder.fmul(root, root)
    return builder.fmul(square, x) if count % 2 else square


def _vector(name: str) -> Handler:
    write = VECTOR_FUNCTIONS[name]
    return partial(_in_single, lambda e, values: write(Lanes(e.state, values[0].type), values[0]))


def _rsqrt(e: Emitter, values: list[ir.Value]) -> ir.Value:
    root = e.state.call_intrinsic("llvm.sqrt", values)
    return e.state.builder.fdiv(constant(root.type, 1.0), root)


def _ldexp(e: Emitter, n: Call) -> ir.Value:
    value, exponent = e.visit(n.args[0]), e.visit(n.args[1])
    count = dt.lanes(n.dtype)
    exponent = e.convert(exponent, n.args[1].dtype, dt.with_lanes("int32", count))
    single = value.type if dt.bits(n.dtype) != 16 else with_lanes(ir.FloatType(), count)
    wide = e.state.builder.fpext(value, single)
    types = [single, exponent.type]
    function = e.state.shared.intrinsic("llvm.ldexp", single, types, types)
    return e.state.builder.fptrunc(e.state.builder.call(function, [wide, exponent]), value.type)


def _nextafter(e: Emitter, n: Call) -> ir.Value:
    """Step through the bit patterns, which are ordered like the numbers for each sign."""
    builder = e.state.builder
    x, y = e.visit(n.args[0]), e.visit(n.args[1])
    integer = with_lanes(ir.IntType(dt.bits(n.dtype)), lanes_of(x.type))
    zero, bits = constant(x.type, 0.0), builder.bitcast(x, integer)
    away = builder.xor(builder.fcmp_ordered("<", x, y), builder.fcmp_ordered("<", x, zero))
    step = builder.select(away, constant(integer, 1), constant(integer, -1))
    stepped = builder.bitcast(builder.add(bits, step), x.type)
    smallest = e.state.call_intrinsic("llvm.copysign", [builder.bitcast(constant(integer, 1), x.type), y])
    moved = builder.select(builder.fcmp_ordered("==", x, zero), smallest, stepped)
    result = builder.select(builder.fcmp_ordered("==", x, y), y, moved)
    return builder.select(builder.fcmp_unordered("uno", x, y), builder.fadd(x, y), result)


def _isnan(e: Emitter, n: Call) -> ir.Value:
    value = e.visit(n.args[0])
    return e.state.builder.fcmp_unordered("uno", value, value)


def _if_then_else(e: Emitter, n: Call) -> ir.Value:
    condition, then, other = n.args
    if is_speculatable(then) and is_speculatable(other):
        return e.state.builder.select(e.visit(condition), e.visit(then), e.visit(other))
    return e.branch(condition, lambda: e.visit(then), lambda: e.visit(other))


def _bitwise(signed: str, unsigned: str) -> Handler:
    def handle(e: Emitter, n: Call) -> ir.Value:
        write = getattr(e.state.builder, signed if dt.is_int(n.dtype) else unsigned)
        return write(*[e.visit(a) for a in n.args])

    return handle


def _not(e: Emitter, n: Call) -> ir.Value:
    value = e.visit(n.args[0])
    return e.state.builder.xor(value, constant(value.type, -1 if dt.bits(n.dtype) > 1 else 1))


def _popcount(e: Emitter, n: Call) -> ir.Value:
    return e.state.call_intrinsic("llvm.ctpop", [e.visit(n.args[0])])


def _clz(e: Emitter, n: Call) -> ir.Value:
    value = e.visit(n.args[0])
    function = e.state.shared.intrinsic("llvm.ctlz", value.type, [value.type, I1], [value.type])
    count = e.state.builder.call(function, [value, ir.Constant(I1, 0)])
    unsigned = dt.with_lanes(f"uint{dt.bits(n.args[0].dtype)}", dt.lanes(n.dtype))
    return e.convert(count, unsigned, n.dtype)


def _reinterpret(e: Emitter, n: Call) -> ir.Value:
    value, typ, builder = e.visit(n.args[0]), register_type(n.dtype), e.state.builder
    if typ == POINTER:
        return builder.inttoptr(value, typ)
    return builder.ptrtoint(value, typ) if value.type == POINTER else builder.bitcast(value, typ)


def _half_of(upper: bool, e: Emitter, n: Call) -> ir.Value:
    value, count = e.visit(n.args[0]), dt.lanes(n.dtype)
    start = count if upper else 0
    return e.state.builder.shuffle_vector(value, poison(value.type), lane_mask(list(range(start, start + count))))


def _combine(e: Emitter, n: Call) -> ir.Value:
    return e.state.builder.shuffle_vector(
        e.visit(n.args[0]), e.visit(n.args[1]), lane_mask(list(range(dt.lanes(n.dtype))))
    )


def _isnullptr(e: Emitter, n: Call) -> ir.Value:
    return e.state.builder.icmp_unsigned("==", e.visit(n.args[0]), null())


def _address_of(e: Emitter, n: Call) -> ir.Value:
    element = n.args[0]
    if not isinstance(element, BufferLoad):
        raise BuildError(f"LLVM code generation: address_of takes an element of a buffer, got {element}")
    return e.address(element.buffer, element.indices)


def _access_ptr(e: Emitter, n: Call) -> ir.Value:
    kind, data, offset = n.args[:3]
    return e.state.builder.gep(e.visit(data), [e.visit(offset)], inbounds=True, source_etype=memory_type(kind.dtype))


def _assume(e: Emitter, n: Call) -> ir.Value:
    e.state.builder.call(e.state.shared.declare("llvm.assume", VOID, [I1]), [e.visit(n.args[0])])
    return ir.Constant(I1, 1)


def _ignored(e: Emitter, n: Call) -> ir.Value:
    """Return a value for an annotation that has no meaning on a CPU."""
    return ir.Constant(ir.IntType(32), 0)


def _prefetch(e: Emitter, n: Call) -> ir.Value:
    address = e.visit(n.args[0])
    return _prefetch_of(e, [address, *([e.visit(a) for a in n.args[1:]] or [constant(I32, v) for v in (0, 3, 1)])])


def _prefetch_of(e: Emitter, values: Sequence[ir.Value]) -> ir.Value:
    function = e.state.shared.declare("llvm.prefetch.p0", VOID, [POINTER, I32, I32, I32])
    return e.state.builder.call(function, values)


def _static_handle(e: Emitter, n: Call) -> ir.Value:
    """Return the address of a static pointer, which is initially null."""
    return e.state.shared.variable(POINTER, "static_handle")


def _atomic_add(e: Emitter, n: Call) -> ir.Value:
    address, value = (e.visit(a) for a in n.args)
    return e.state.builder.atomic_rmw("fadd" if dt.is_float(n.dtype) else "add", address, value, "monotonic")


def _undef(e: Emitter, n: Call) -> ir.Value:
    return constant(register_type(n.dtype), 0)


def _name_of(n: Call) -> str:
    name = n.args[0]
    if not isinstance(name, StringImm):
        raise BuildError(f"LLVM code generation: {n.op} takes the name of a function first, got {name}")
    return name.value


_SYMBOL = re.compile(r"[A-Za-z_.$][\w.$@]*", re.ASCII)
"""Valid names of symbols."""


def _extern(e: Emitter, n: Call) -> ir.Value:
    name = _name_of(n)
    if name in e.state.shared.functions:
        return call_function(e, n, e.state.shared.functions[name], n.args[1:])
    if not _SYMBOL.fullmatch(name):
        raise BuildError(
            f"call_extern: {name!r}{user_place(n.span)} is not a function name: letters, digits and underscores"
        )
    values = [text_constant(e.state, a.value) if isinstance(a, StringImm) else e.visit(a) for a in n.args[1:]]
    result = VOID if dt.is_void(n.dtype) else register_type(n.dtype)
    if isinstance(result, ir.VectorType):
        function = e.state.shared.declare(name, scalar_of(result), [scalar_of(v.type) for v in values])
        return e.state.lanewise(function, values, result, _extensions(e, n))
    function = e.state.shared.declare(name, result, [v.type for v in values])
    if list(function.function_type.args) != [v.type for v in values] or function.function_type.return_type != result:
        raise BuildError(
            f"call_extern: {name!r} is called{user_place(n.span)} with arguments of other types than before; cast them"
        )
    return e.state.builder.call(function, values, arg_attrs=_extensions(e, n))


def _extensions(e: Emitter, n: Call) -> dict[int, tuple[str]]:
    """Return the extension attributes of narrow arguments, on which functions in C may rely.

    On RISC-V, 32-bit arguments are narrow, too, and are sign-extended even if they are unsigned.
    """
    word = 64 if e.state.shared.target.triple.startswith("riscv64") else 32
    by_lane = dt.lanes(n.dtype) > 1
    attributes: dict[int, tuple[str]] = {}
    for place, argument in enumerate(n.args[1:]):
        dtype = argument.dtype
        if dt.is_integral(dtype) and dt.bits(dtype) < word and (by_lane or dt.lanes(dtype) == 1):
            signed = dt.is_int(dtype) or dt.bits(dtype) == 32
            attributes[place] = ("signext" if signed else "zeroext",)
    return attributes


_WITHOUT_OVERLOADS = (
    *("llvm.x86.", "llvm.aarch64.", "llvm.arm.", "llvm.riscv.", "llvm.wasm."),
    *("llvm.amdgcn.mfma.", "llvm.amdgcn.sdot", "llvm.amdgcn.udot"),
)


def _llvm_intrinsic(e: Emitter, n: Call) -> ir.Value:
    name = _name_of(n)
    if not name.startswith("llvm."):
        raise BuildError(f"call_llvm_intrin: expected the name of an intrinsic such as 'llvm.fma', got {name!r}")
    _check_processor(e, name, user_place(n.span))
    # As in TVM, the first argument is the number of arguments in the signature.
    counted = len(n.args) > 1 and isinstance(n.args[1], IntImm) and dt.is_uint(n.args[1].dtype)
    args = n.args[2:] if counted else n.args[1:]
    values = [e.visit(a) for a in args]
    if name == "llvm.prefetch":
        return _prefetch_of(e, values)  # it returns void, whatever the type of the call
    if _ON_TILES.match(name):
        return call_on_tiles(e.state, name, values)
    result = VOID if dt.is_void(n.dtype) else register_type(n.dtype)
    named_fully = result is VOID or name.startswith(_WITHOUT_OVERLOADS) or _has_suffix(name)
    overloads: Sequence[ir.Type] = () if named_fully else (result,)
    function = e.state.shared.intrinsic(name, result, [v.type for v in values], overloads)
    return e.state.builder.call(function, values)


_PROCESSORS = {
    "x86": ("x86_64", "i386", "i686"),
    "aarch64": ("aarch64", "arm64"),
    "arm": ("arm", "thumb"),
    "hexagon": ("hexagon",),
    "amdgcn": ("amdgcn",),
    "nvvm": ("nvptx",),
    "riscv": ("riscv",),
    "wasm": ("wasm",),
}
"""Prefixes of the triples that support the intrinsics of an architecture, by the second word of their names."""


_AMDGPU = {
    r"mfma\.i32\.\d+x\d+x\d+i8$": (r"gfx90[8a]$", "gfx908 or gfx90a"),
    r"mfma\.": (r"gfx9(08|0a|4\d|50)$", "matrix cores, as gfx90a and gfx942 have"),
    r"[su]dot4$": (r"gfx(90[68a]|94\d|950|101[12]|103\d|1[12]\d\d)$", "gfx906 or a later processor"),
}
"""The processors that have an instruction, and their description for messages, by the name after ``llvm.amdgcn.``."""


def _check_processor(e: Emitter, name: str, place: str) -> None:
    """Raise an error for an intrinsic of another architecture, for which LLVM would abort the process."""
    target = e.state.shared.target
    triples = _PROCESSORS.get(name.split(".")[1], ())
    if triples and not target.triple.startswith(triples):
        raise BuildError(f"call_llvm_intrin: {name} is an intrinsic of {triples[0]}, the target is {target.triple}")
    width = vector_bits(target.triple, target.cpu, target.llvm_features) if name.startswith("llvm.x86.avx512.") else 512
    if width < 512:
        raise BuildError(f"call_llvm_intrin: {name} needs a processor with AVX-512, the target is {target}")
    _check_x86_features(target, name, place)
    instruction = name.removeprefix("llvm.amdgcn.")
    processors, needed = next((row for names, row in _AMDGPU.items() if re.match(names, instruction)), ("", ""))
    if not re.match(processors, target.cpu):
        raise BuildError(f"call_llvm_intrin: {name} needs {needed}, the target is {target.cpu}: name one by -mcpu")


_ON_TILES = re.compile(r"llvm\.x86\.(t(ile|dp)|(ld|st)tilecfg)")
_X86_FEATURES = {
    r"avx512\.vpdp": (("avx512vnni", "avxvnni"), "cascadelake"),
    r"avx512bf16\.": (("avx512bf16",), "cooperlake"),
    r"tdpb[su]{2}d$": (("amx-int8",), "sapphirerapids"),
    r"tdpbf16ps$": (("amx-bf16",), "sapphirerapids"),
    r"tdpfp16ps$": (("amx-fp16",), "graniterapids"),
    r"(ld|st)?tile": (("amx-tile",), "sapphirerapids"),
}
"""Features of which an intrinsic needs one, and a processor that has it, by the name after ``llvm.x86.``."""


def _check_x86_features(target: Target, name: str, place: str) -> None:
    instruction = name.removeprefix("llvm.x86.")
    needed = next((row for names, row in _X86_FEATURES.items() if re.match(names, instruction)), None)
    architecture = target.triple.split("-")[0]
    if needed and not features_of(architecture, target.cpu, target.llvm_features).intersection(needed[0]):
        raise BuildError(
            f"call_llvm_intrin{place}: {name} needs a processor with {needed[0][0].upper()}, such as -mcpu={needed[1]},"
            f" and the target is {target}"
        )


def _tile_configuration(e: Emitter, n: Call) -> ir.Value:
    target = e.state.shared.target
    if not tile_features(target.triple, target.cpu, target.llvm_features):
        raise BuildError(
            f"tile_configuration{user_place(n.span)}: x86-64 processors with AMX have tile registers, under Linux, such"
            f" as -mcpu=sapphirerapids, and the target is {target}: leave out what is tensorized for it"
        )
    sizes = [a.value for a in n.args if isinstance(a, IntImm)]
    if len(sizes) < len(n.args) or len(sizes) not in range(2, 17, 2):
        raise BuildError(
            f"tile_configuration: expected the rows and the bytes of a row of 1 to 8 tiles, got {n}{user_place(n.span)}"
        )
    configure_tiles(e.state, list(zip(sizes[::2], sizes[1::2], strict=True)))
    return ir.Constant(I32, 0)


def _has_suffix(name: str) -> bool:
    last = name.rsplit(".", 1)[-1]
    return last[:1] in "vifp" and last[-1:].isdigit()


_LLVM = (
    "sqrt", "tan", "asin", "acos", "atan", "sinh", "cosh", "exp2", "exp10", "log2", "log10", "floor", "ceil", "trunc",
    "fabs", "fma", "copysign", "atan2",
)  # fmt: skip
_LIBM = (
    "log1p", "asinh", "acosh", "atanh", "hypot", "fmod",
)  # fmt: skip


def _by_rule(e: Emitter, n: Call) -> ir.Value:
    """Generate code for a call after the operator's lowering rule for all targets."""
    assert isinstance(n.op, Op)
    return e.visit(n.op.get_attr("default.FLowerIntrinsic")(n))


def _vscale(e: Emitter, n: Call) -> ir.Value:
    typ = register_type(n.dtype)
    return e.state.builder.call(e.state.shared.intrinsic("llvm.vscale", typ, [], [typ]), [])


def _active_lanes(e: Emitter, n: Call) -> ir.Value:
    """Return the mask of the lanes ``base, base + 1, …`` below a limit."""
    base, limit = (e.visit(a) for a in n.args)
    mask = register_type(n.dtype)
    function = e.state.shared.intrinsic("llvm.get.active.lane.mask", mask, [base.type] * 2, [mask, base.type])
    return e.state.builder.call(function, [base, limit])


INTRINSICS: dict[str, Handler] = {
    **{f"tir.{name}": _llvm(f"llvm.{name}") for name in _LLVM},
    **{f"tir.{name}": partial(_to_integer, f"llvm.{name}") for name in ("round", "nearbyint")},
    **{f"tir.{name}": _libm(name) for name in _LIBM},
    **{name: _vector(name) for name in VECTOR_FUNCTIONS},
    "tir.pow": _pow,
    "tir.rsqrt": partial(_in_single, _rsqrt),
    "tir.ldexp": _ldexp,
    "tir.nextafter": _nextafter,
    "tir.fmaximum": _of_two("llvm.maximum", ">"),
    "tir.fminimum": _of_two("llvm.minimum", "<"),
    "tir.isnan": _isnan,
    "tir.if_then_else": _if_then_else,
    "tir.likely": lambda e, n: e.visit(n.args[0]),
    "tir.bitwise_and": _bitwise("and_", "and_"),
    "tir.bitwise_or": _bitwise("or_", "or_"),
    "tir.bitwise_xor": _bitwise("xor", "xor"),
    "tir.bitwise_not": _not,
    "tir.shift_left": _bitwise("shl", "shl"),
    "tir.shift_right": _bitwise("ashr", "lshr"),
    "tir.popcount": _popcount,
    "tir.clz": _clz,
    "tir.reinterpret": _reinterpret,
    "tir.vscale": _vscale,
    "tir.get_active_lane_mask": _active_lanes,
    "tir.vectorlow": partial(_half_of, False),
    "tir.vectorhigh": partial(_half_of, True),
    "tir.vectorcombine": _combine,
    "tir.isnullptr": _isnullptr,
    "tir.address_of": _address_of,
    "tir.tvm_access_ptr": _access_ptr,
    "tir.tvm_struct_get": struct_get,
    "tir.tvm_struct_set": struct_set,
    "tir.tvm_stack_alloca": stack_alloca,
    "tir.tvm_call_packed_lowered": call_packed_lowered,
    "tir.q_multiply_shift": _by_rule,
    "tir.q_multiply_shift_per_axis": _by_rule,
    "tir.assume": _assume,
    "tir.start_profile_intrinsic": _ignored,
    "tir.end_profile_intrinsic": _ignored,
    "tir.prefetch": _prefetch,
    "tir.undef": _undef,
    "tir.atomic_add": _atomic_add,
    "tir.tvm_static_handle": _static_handle,
    "tir.tile_configuration": _tile_configuration,
    "tir.ret": return_value,
    "tir.call_extern": _extern,
    "tir.tvm_call_packed": call_packed,
    "tir.tvm_call_trace_packed": call_traced,
    "tir.call_pure_extern": _extern,
    "tir.call_llvm_intrin": _llvm_intrinsic,
    "tir.call_llvm_pure_intrin": _llvm_intrinsic,
}
"""The code generators of calls, by operator."""
