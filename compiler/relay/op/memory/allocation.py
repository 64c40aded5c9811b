"""Allocation of storage and tensors: ``memory.alloc_storage``, ``memory.alloc_tensor``, ``memory.kill``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from compiler.ir.attrs import AttrKind, Attrs, attr_field
from compiler.ir.attrs.kinds import DTYPE, SHAPE, optional
from compiler.ir.error import expected
from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.types import Type
from compiler.relay.expr import Call, Constant, Expr
from compiler.relay.function_devices import VIRTUAL_DEVICE
from compiler.relay.op.type_relations import tensor
from compiler.relay.op_registry import public_function, register
from compiler.relay.operator import RelationError, Types
from compiler.relay.ty import GlobalTypeVar, TensorType, TupleType
from compiler.runtime.device import Device
from compiler.target.virtual_device import VirtualDevice

if TYPE_CHECKING:
    from typing import Self


class _ConstantKind(AttrKind[Constant]):
    def convert(self, value: object, owner: type[Attrs]) -> Constant:
        if not isinstance(value, Constant):
            raise ValueError(self.type_name)
        return value


_CONSTANT = _ConstantKind("relay.Constant")
_NO_VALUE = "memory of the virtual machine is not a value of a graph"
_WAIVED = dict.fromkeys(("compute", "reference", "gradient"), _NO_VALUE)


class AllocStorageAttrs(Attrs):
    dtype: str = attr_field(DTYPE, "Data type of what the memory is for, which decides how it is aligned.", "float32")
    virtual_device: VirtualDevice = attr_field(VIRTUAL_DEVICE, "The device whose memory it is.", 1)

    @classmethod
    def make(cls, owner: str, values: Mapping[str, Any]) -> Self:
        """Return attributes of today's or older names: before 0.9, ``device_type`` and ``device_id``."""
        rest = dict(values)
        kind, number = rest.pop("device_type", None), rest.pop("device_id", 0)
        if kind is not None:
            rest["virtual_device"] = VirtualDevice(Device(int(kind), int(number)))
        return super().make(owner, rest)


def _storage_relation(types: Types, attrs: AllocStorageAttrs) -> Type:
    """Memory that no tensor is in yet, of the type ``Storage`` of ``core.rly``."""
    for t, name in zip(types, ("size", "alignment"), strict=True):
        given = tensor(t, name)
        if given.shape or given.dtype != "int64":
            raise RelationError(f"{name} must be a scalar of int64, got {given}")
    return GlobalTypeVar("Storage")()


_ALLOC_STORAGE = register(
    "memory.alloc_storage",
    doc="Allocate memory for tensors.",
    inputs={"size": "Bytes, a scalar of int64.", "alignment": "Bytes of which the address is a multiple."},
    attrs=AllocStorageAttrs,
    relation=_storage_relation,
    stateful=True,
    waived=_WAIVED,
)


@public_function(
    _ALLOC_STORAGE,
    device="VirtualDevice, Device or str: Whose memory it is.",
    dtype_hint="str: Data type of what the memory is for.",
)
def alloc_storage(
    size: Expr, alignment: Expr, device: VirtualDevice | Device | str, dtype_hint: str = "float32"
) -> Call:
    """Allocate memory for tensors."""
    return _ALLOC_STORAGE(size, alignment, virtual_device=device, dtype=dtype_hint)


class AllocTensorAttrs(Attrs):
    const_shape: Constant | None = attr_field(optional(_CONSTANT), "The extents, where they are a constant.", None)
    assert_shape: tuple[int | PrimExpr, ...] = attr_field(
        SHAPE, "The extents that the type has, where they are not constant.", ()
    )
    dtype: str = attr_field(DTYPE, "Data type of the tensor.", "float32")


def _tensor_relation(types: Types, attrs: AllocTensorAttrs) -> Type:
    """A tensor of the extents given by ``const_shape``, else by ``assert_shape``."""
    tensor(types[1], "offset")
    extents = tensor(types[2], "shape")
    if len(extents.shape) != 1:
        raise RelationError(f"shape must be a vector, got {extents}")
    if attrs.const_shape is not None:
        return TensorType(tuple(map(int, attrs.const_shape.value.reshape(-1))), attrs.dtype)
    return TensorType(attrs.assert_shape, attrs.dtype)


_ALLOC_TENSOR = register(
    "memory.alloc_tensor",
    doc="Make a tensor in memory that is allocated.",
    inputs={
        "storage": "The memory.",
        "offset": "Bytes from its beginning, a scalar of int64.",
        "shape": "The extents, a vector of int64.",
    },
    attrs=AllocTensorAttrs,
    relation=_tensor_relation,
    stateful=True,
    waived=_WAIVED,
)


@public_function(_ALLOC_TENSOR)
def alloc_tensor(
    storage: Expr, offset: Expr, shape: Expr, dtype: str = "float32", assert_shape: Sequence[int] | None = None
) -> Call:
    """Make a tensor in memory that is allocated."""
    if isinstance(shape, Constant):
        return _ALLOC_TENSOR.op(storage, offset, shape, const_shape=shape, dtype=dtype)
    if assert_shape is None:
        expected("alloc_tensor", "shape", "a constant, or extents as assert_shape", type(shape).__name__)
    return _ALLOC_TENSOR(storage, offset, shape, assert_shape=assert_shape, dtype=dtype)


def _nothing(types: Types, attrs: Attrs) -> Type:
    """Nothing: an empty tuple."""
    return TupleType(())


kill = register(
    "memory.kill",
    doc="Give the memory of a tensor back, which nothing reads afterwards.",
    inputs={"to_free": "The tensor."},
    relation=_nothing,
    stateful=True,
    waived=_WAIVED,
)
