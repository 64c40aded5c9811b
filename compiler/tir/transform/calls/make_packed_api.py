"""Converts functions to the packed calling convention: arrays of values and type codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import EQ, Call, Not, Or, PrimExpr, StringImm, Var, cast, const
from compiler.ir.function import CallingConv
from compiler.ir.node import rebuild
from compiler.ir.structural import structural_equal
from compiler.ir.types import PointerType, PrimType
from compiler.runtime.arrays.c_types import DTYPE_CODES, ArgTypeCode
from compiler.runtime.device import DEVICE_TYPES
from compiler.tir.expressions.arithmetic import all as tir_all
from compiler.tir.expressions.arithmetic import any as tir_any
from compiler.tir.expressions.builtin import RET, if_then_else, isnullptr, ret
from compiler.tir.expressions.device_ops import STRUCT_GET
from compiler.tir.expressions.struct_fields import Field
from compiler.tir.statements.allocations import element_count
from compiler.tir.statements.buffer import Buffer, BufferLoad, compact_strides
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AssertStmt, AttrStmt, BufferStore, Evaluate, LetStmt, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.calls.device_targets import function_target
from compiler.tir.transform.pass_base import FunctionRewrite

_PACKED = int(CallingConv.C_PACKED_FUNC)
_POINTER_KINDS: tuple[int, ...] = (
    ArgTypeCode.HANDLE,
    ArgTypeCode.NDARRAY_HANDLE,
    ArgTypeCode.DLTENSOR_HANDLE,
    ArgTypeCode.NULL,
)
"""Pointers, arrays of both kinds, and null."""
_INTEGER_KINDS: tuple[int, ...] = (ArgTypeCode.INT, ArgTypeCode.BOOL)
"""Integers and truth values."""
_FLOAT_KINDS: tuple[int, ...] = (ArgTypeCode.FLOAT, ArgTypeCode.INT)

Wrap = Callable[[Stmt], Stmt]


class MakePackedAPI(FunctionRewrite):
    """Make functions take their arguments as TVM's registered functions do, and check them.

    A function gets the values of its arguments, their kinds, their number, room for a result and its kind, and a
    handle of resources; arrays are structures with a data type, a shape, strides and a device::

        def main(A: T.Buffer((8,))):          def main(args, arg_type_ids, num_args, out_ret_value, …) -> T.int32:
            T.evaluate(A[0])             →        assert num_args == 1, "main: num_args should be 1"
                                                  A_handle: T.handle = T.tvm_struct_get(args, 0, 12, "handle")
                                                  …
                                                  T.evaluate(A[0])
                                                  return 0

    Those without a ``global_symbol`` are only called from their module and stay as they are; so do those that have a
    calling convention already.  Own calls need none of it: the runtime checks arguments before machine code runs.
    Raises LoweringError if a function does not say which target it is for.
    """

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if "global_symbol" not in func.attrs or func.attrs.get("calling_conv", 0) != 0:
            return func
        name = str(func.attrs["global_symbol"])
        target = function_target(func, "MakePackedAPI")
        binder = _Binder(name, DEVICE_TYPES.get(str(target.kind), DEVICE_TYPES["cpu"]))
        packed = binder.packed(func)
        return packed.with_attr({"calling_conv": _PACKED, "target": target.host or target})


@dataclass(slots=True)
class _Binder:
    """Binds the variables of one function to what its arguments hold."""

    name: str
    device_type: int
    # what the body is wrapped in, outermost first; checks come behind all definitions
    definitions: list[Wrap] = field(default_factory=list)
    checks: list[Wrap] = field(default_factory=list)
    defined: set[Var] = field(default_factory=set)
    device_id: Var | None = None  # the number of the device of the first array

    def packed(self, func: PrimFunc) -> PrimFunc:
        """Return the function with the parameters of registered functions."""
        args, kinds = Var("args", "handle"), _pointer("arg_type_ids", "int32")
        count = Var("num_args", "int32")
        out = (_pointer("out_ret_value", "void"), _pointer("out_ret_tcode", "int32"), Var("resource_handle", "handle"))
        expected = len(func.params)
        self._require(EQ(count, const(expected)), f"{self.name}: num_args should be {expected}")
        if func.params:
            self._require(Not(isnullptr(args)), f"{self.name}: TVMValue* arg pointer was NULL")
            self._require(Not(isnullptr(kinds)), f"{self.name}: int* type_codes was NULL")
        codes = decl_buffer((max(expected, 1),), "int32", "arg_type_ids", data=kinds)
        handles = {p: self._argument(p, n, args, codes) for n, p in enumerate(func.params)}
        for param, buffer in func.buffer_map.items():
            self._array(buffer, handles[param], f"{self.name}.{buffer.name}")
        body: Stmt = AttrStmt(
            const(0), "compute_scope", StringImm(f"{self.name}_compute_"), _Return(out[0], out[1]).visit(func.body)
        )
        if self.device_id is not None:
            body = AttrStmt("default", "device_type", const(self.device_type), body)
            body = AttrStmt("default", "device_id", self.device_id, body)
        body = seq([body, Evaluate(ret(0))])
        for wrap in reversed([*self.definitions, *self.checks]):
            body = wrap(body)
        return rebuild(func, params=(args, kinds, count, *out), body=body, ret_type=PrimType("int32"), buffer_map={})

    def _require(self, condition: PrimExpr, message: str, late: bool = False) -> None:
        (self.checks if late else self.definitions).append(lambda body: AssertStmt(condition, StringImm(message), body))

    def _define(self, var: Var, value: PrimExpr) -> None:
        self.defined.add(var)
        self.definitions.append(lambda body: LetStmt(var, value, body))

    def _bind(self, expression: PrimExpr, value: PrimExpr, what: str) -> None:
        """Give a variable its value, or check that an expression has it."""
        if isinstance(expression, Var) and expression not in self.defined:
            self._define(expression, value)
        elif not structural_equal(expression, value):
            message = f"Argument {what} has an unsatisfied constraint: {expression} == {value}"
            self._require(EQ(expression, value), message, late=True)

    def _argument(self, param: Var, number: int, args: Var, codes: Buffer) -> Var:
        """Check the kind of an argument and read its value."""
        code = Var(f"{param.name}_code", "int32")
        self._define(code, BufferLoad(codes, (const(number),)))
        if param.dtype == "handle":
            kinds, kind, passed = _POINTER_KINDS, "pointer", "handle"
        elif dt.is_float(param.dtype):
            kinds, kind, passed = _FLOAT_KINDS, "float", "float64"
        else:
            kinds, kind, passed = _INTEGER_KINDS, "int", "int64"
        fits = tir_any(*[EQ(code, const(int(k))) for k in kinds])
        self._require(fits, f"{self.name}: Expect arg[{number}] to be {kind}")
        value = _field(args, Field.VALUE, passed, number)
        self._define(param, value if passed == "handle" else cast(param.dtype, value))
        return param

    def _array(self, buffer: Buffer, handle: Var, name: str) -> None:
        """Bind what a buffer is made of to the fields of an array, and check the rest."""
        rank = len(buffer.shape)
        self._require(Not(isnullptr(handle)), f"{name} is expected to have non-NULL DLTensor* pointer")
        self._require(EQ(const(rank), _field(handle, Field.NDIM, "int32")), f"{name}.ndim is expected to equal {rank}")
        self._type(buffer, handle, name)
        shape = self._row(handle, Field.SHAPE, f"{name}_shape", rank)
        for axis, extent in enumerate(buffer.shape):
            self._bind(extent, cast(extent.dtype, BufferLoad(shape, (const(axis),))), f"{name}.shape[{axis}]")
        self._strides(buffer, handle, name)
        start = _field(handle, Field.BYTE_OFFSET, "uint64")
        if isinstance(buffer.elem_offset, Var):
            size = const(dt.storage_bytes(buffer.dtype), "uint64")
            self._bind(buffer.elem_offset, cast(buffer.elem_offset.dtype, start // size), f"{name}.elem_offset")
        else:
            bytes_before = cast("uint64", buffer.elem_offset * dt.storage_bytes(buffer.dtype))
            self._bind(bytes_before, start, f"{name}.byte_offset")
        self._device(handle, name)
        self._data(buffer, handle, name)

    def _type(self, buffer: Buffer, handle: Var, name: str) -> None:
        parsed = dt.parse(buffer.dtype)
        expected = (
            (Field.TYPE_CODE, "uint8", DTYPE_CODES[parsed.code]),
            (Field.TYPE_BITS, "uint8", parsed.bits),
            (Field.TYPE_LANES, "uint16", parsed.lanes),
        )
        parts = [EQ(_field(handle, f, t), const(v, t)) for f, t, v in expected]
        self._require(tir_all(*parts), f"{name}.dtype is expected to be {buffer.dtype}", late=True)

    def _strides(self, buffer: Buffer, handle: Var, name: str) -> None:
        if not buffer.shape:
            return
        steps = self._row(handle, Field.STRIDES, f"{name}_strides", len(buffer.shape))
        compact, missing = compact_strides(buffer.shape), isnullptr(steps.data)
        for axis, stride in enumerate(buffer.strides):
            given = cast(stride.dtype, BufferLoad(steps, (const(axis),)))
            self._bind(
                stride, if_then_else(missing, cast(stride.dtype, compact[axis]), given), f"{name}.strides[{axis}]"
            )
        if not buffer.strides:
            equal = [EQ(e, cast(e.dtype, BufferLoad(steps, (const(axis),)))) for axis, e in enumerate(compact)]
            self._require(Or(missing, tir_all(*equal)), f"{name}.strides: expected to be compact array", late=True)

    def _row(self, handle: Var, which: Field, name: str, rank: int) -> Buffer:
        data = _pointer(name.replace(".", "_"), "int64")
        self._define(data, _field(handle, which, "handle"))
        return decl_buffer((max(rank, 1),), "int64", data.name, data=data)

    def _device(self, handle: Var, name: str) -> None:
        kind = _field(handle, Field.DEVICE_TYPE, "int32")
        self._bind(const(self.device_type), kind, f"{name}.device_type")
        if self.device_id is None:
            self.device_id = Var("dev_id", "int32")
        self._bind(self.device_id, _field(handle, Field.DEVICE_ID, "int32"), f"{name}.device_id")

    def _data(self, buffer: Buffer, handle: Var, name: str) -> None:
        self._bind(buffer.data, _field(handle, Field.DATA, "handle"), f"{name}.data")
        alignment = const(buffer.data_alignment)
        self.definitions.append(lambda body: AttrStmt(buffer.data, "storage_alignment", alignment, body))
        count = element_count(buffer.shape)
        empty = EQ(count, const(0, count.dtype))
        message = f"{name} is expected to have non-NULL data pointer"
        self._require(Or(empty, Not(isnullptr(buffer.data))), message, late=True)


class _Return(StmtMutator):
    """Stores what a function returns, and its kind, where the caller expects them; the function itself returns 0."""

    def __init__(self, value: Var, kind: Var) -> None:
        self._value, self._kind = value, kind

    def visit_Evaluate(self, n: Evaluate) -> Stmt:
        call = n.value
        if not (isinstance(call, Call) and call.op is RET and call.args):
            return n
        (value,) = call.args
        if dt.is_float(value.dtype):
            wide, code = "float64", ArgTypeCode.FLOAT
        else:
            wide, code = ("handle", ArgTypeCode.HANDLE) if value.dtype == "handle" else ("int64", ArgTypeCode.INT)
        room = decl_buffer((1,), wide, self._value.name, data=self._value)
        kind = decl_buffer((1,), "int32", self._kind.name, data=self._kind)
        stored = value if wide == "handle" else cast(wide, value)
        zero = (const(0),)
        return seq([BufferStore(room, stored, zero), BufferStore(kind, const(int(code)), zero), Evaluate(ret(0))])


def _pointer(name: str, dtype: str) -> Var:
    return Var(name, "handle", PointerType(PrimType(dtype)))


def _field(structure: Var, which: Field, dtype: str, number: int = 0) -> PrimExpr:
    return Call(dtype, STRUCT_GET, (structure, const(number), const(int(which))))
