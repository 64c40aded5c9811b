"""Attributes: named, typed values that a call carries beside its arguments.

An operator family declares its attributes as a class, a line each::

    class DenseAttrs(Attrs):
        units: int | None = attr_field(optional(INT), "Number of output units.", None)
        out_dtype: str = attr_field(OPTIONAL_DTYPE, "Data type of the result.", "")

Values are checked and brought into one form where they enter, in the constructor; from there on everybody sees the
declared type.  A class of a family says which defaults are its own: ``class Conv2DAttrs(ConvAttrs, RANK=2,
data_layout="NCHW")``.  :class:`DictAttrs` are the free attributes of functions.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, cast, dataclass_transform

from compiler.ir.attrs.info import AttrFieldInfo, field_info
from compiler.ir.error import AttrsError, TVMError, show, unknown_key, unknown_name
from compiler.ir.extension import public_module

if TYPE_CHECKING:
    from typing import Self

T = TypeVar("T")


class _Required:
    def __repr__(self) -> str:
        return "<required>"


REQUIRED: Any = _Required()
"""Default of an attribute that must be given."""


class AttrKind(Generic[T]):
    """What values an attribute takes, and the one form in which they are kept.

    ``type_name`` is the type as documentation states it, e.g. ``int or sequence of int``.
    """

    __slots__ = ("type_name",)

    is_data_type: ClassVar[bool] = False
    """Whether the values are names of data types."""

    def __init__(self, type_name: str) -> None:
        self.type_name = type_name

    def convert(self, value: object, owner: type[Attrs]) -> T:
        """Return a value in the form in which it is kept.

        ``owner`` is the class that the attribute belongs to; some kinds depend on its number of spatial dimensions.
        """
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class AttrField:
    """The declaration of one attribute.

    ``given_default`` is the default as declared and documented, or :data:`REQUIRED`; ``default`` is in the kept form.
    """

    kind: AttrKind[Any]
    doc: str
    given_default: object
    default: object = REQUIRED

    @property
    def is_required(self) -> bool:
        """Whether the attribute must be given."""
        return self.default is REQUIRED


def attr_field(kind: AttrKind[T], doc: str, default: object = REQUIRED) -> T:
    """Declare an attribute in the body of an :class:`Attrs` class; it is required unless it has a default."""
    return cast(T, AttrField(kind, doc, default))


_CLASSES: dict[str, type[Attrs]] = {}


def attrs_type_key(cls: type[Attrs]) -> str:
    """Return the type key of a class of attributes: what its body says, or one of an operator's attributes."""
    return str(cls.__dict__.get("type_key", f"relay.attrs.{cls.__name__}"))


@dataclass_transform(kw_only_default=True, frozen_default=True, eq_default=False, field_specifiers=(attr_field,))
class AttrsMeta(ABCMeta):
    """Turns the fields in a class body into slots and a table of declarations."""

    __attr_fields__: dict[str, AttrField]

    def __new__(mcls, name: str, bases: tuple[type, ...], body: dict[str, Any], **own_values: object) -> AttrsMeta:
        own = {key: value for key, value in body.items() if isinstance(value, AttrField)}
        inherited: dict[str, AttrField] = {}
        for base in reversed(bases):
            inherited |= getattr(base, "__attr_fields__", {})
        plain = {key: value for key, value in body.items() if key not in own}
        plain |= {key: value for key, value in own_values.items() if key not in inherited}
        own |= {key: replace(inherited[key], given_default=own_values[key]) for key in own_values.keys() & inherited}
        plain.setdefault("__slots__", tuple(key for key in own if key not in inherited))
        made = cast("type[Attrs]", super().__new__(mcls, name, bases, plain))
        made.__attr_fields__ = {key: _with_default(made, f) for key, f in (inherited | own).items()}
        _CLASSES[attrs_type_key(made)] = made
        return made


def _with_default(cls: type[Attrs], field: AttrField) -> AttrField:
    """Return a declaration with its default in the form in which values of ``cls`` are kept."""
    if field.given_default is REQUIRED:
        return field
    try:
        default = field.kind.convert(field.given_default, cls)
    except (ValueError, TypeError):  # of an abstract family, whose default only its members know
        default = REQUIRED
    return AttrField(field.kind, field.doc, field.given_default, default)


class HasAttrs(Protocol):
    """A call, or whatever else has attributes."""

    @property
    def attrs(self) -> Attrs:
        """The attributes."""

    @property
    def op(self) -> object:
        """What is called."""


class Attrs(Mapping[str, Any], metaclass=AttrsMeta):
    """Base of all attributes: immutable, and also a mapping from names to values.

    Attributes compare and hash by class and values; those left out have their defaults.
    """

    __slots__ = ()

    UNWRITTEN: ClassVar[Mapping[str, object]] = {}
    """What a text means that leaves an attribute out, for those of which that is not the default."""

    def __init__(self, **values: object) -> None:
        self._fill(type(self).__name__, values)

    @classmethod
    def make(cls, owner: str, values: Mapping[str, object]) -> Self:
        """Return attributes made of the values given and the defaults of the others."""
        made = cls.__new__(cls)
        made._fill(owner, values)
        return made

    @classmethod
    def of(cls, call: HasAttrs) -> Self:
        """Return the attributes of a call that are of this class.

        Raises TypeError if the call has others.
        """
        attrs = call.attrs
        if not isinstance(attrs, cls):
            raise TypeError(f"expected {cls.__name__}, got {type(attrs).__name__} of {call.op}")
        return attrs

    def _fill(self, owner: str, values: Mapping[str, object]) -> None:
        fields = type(self).__attr_fields__
        for name in values:
            if name not in fields:
                names = ", ".join(fields) or "none"
                raise AttrsError(f"{owner}: there is no attribute {name!r}; there are {names}")
        put = object.__setattr__
        for name, field in fields.items():
            default = field.default
            value = values.get(name, default)
            if value is default:
                put(self, name, _required(owner, name, value))
            else:
                put(self, name, self._converted(owner, name, value))

    @classmethod
    def value_of(cls, owner: str, name: str, given: Mapping[str, object]) -> object:
        """Return the value that an attribute has among those given: checked and in its form, or its default."""
        default = cls.__attr_fields__[name].default
        value = given.get(name, default)
        return _required(owner, name, value) if value is default else cls._converted(owner, name, value)

    @classmethod
    def _converted(cls, owner: str, name: str, value: object) -> object:
        try:
            return cls.__attr_fields__[name].kind.convert(value, cls)
        except TVMError:
            raise
        except (ValueError, TypeError) as exc:
            raise AttrsError(f"{owner}: {name} must be {exc}, got {show(value)}") from None

    def __getitem__(self, key: str) -> Any:
        if key not in type(self).__attr_fields__:
            raise unknown_key(f"these attributes ({type(self).__name__})", key, type(self).__attr_fields__)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(type(self).__attr_fields__)

    def __len__(self) -> int:
        return len(type(self).__attr_fields__)

    if not TYPE_CHECKING:  # a type checker knows the attributes of each class, and refuses others

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            raise unknown_name(f"these attributes ({type(self).__name__})", name, type(self).__attr_fields__)

    def __setattr__(self, name: str, value: object) -> None:
        raise TypeError(f"attributes are immutable: use with_values({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise TypeError("attributes are immutable")

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in type(self).__attr_fields__)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Attrs):
            return type(self) is type(other) and self._values() == other._values()
        return isinstance(other, Mapping) and dict(self) == dict(other)

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.items())})"

    def __reduce__(self) -> tuple[object, ...]:
        return (_restored, (type(self), dict(self)))

    def with_values(self, **changes: object) -> Self:
        """Return these attributes with some of them changed.

        Raises AttrsError if a name is unknown or a value does not fit.
        """
        cls = type(self)
        made = cls.__new__(cls)
        fields = cls.__attr_fields__
        for name in changes:
            if name not in fields:
                raise AttrsError(f"{cls.__name__}: there is no attribute {name!r}; there are {', '.join(fields)}")
        for name in fields:
            value = cls.value_of(cls.__name__, name, changes) if name in changes else getattr(self, name)
            object.__setattr__(made, name, value)
        return made

    def list_field_info(self) -> list[AttrFieldInfo]:
        """Return name, type with default, as TVM writes them, and description of each attribute."""
        return [field_info(name, field) for name, field in type(self).__attr_fields__.items()]

    def get_int(self, key: str) -> int:
        """Return an attribute that is an int."""
        return int(self[key])

    def get_str(self, key: str) -> str:
        """Return an attribute that is a string."""
        return str(self[key])

    def get_int_tuple(self, key: str) -> tuple[int, ...]:
        """Return an attribute that is a sequence of ints."""
        return tuple(int(v) for v in self[key])


def _required(owner: str, name: str, default: T) -> T:
    """Return the default of an attribute that is left out, which must have one."""
    if default is REQUIRED:
        raise AttrsError(f"{owner}: attribute {name!r} must be given")
    return default


def _restored(cls: type[Attrs], values: dict[str, object]) -> Attrs:
    return cls.make(cls.__name__, values)


def attr_fields(cls: type[Attrs]) -> Mapping[str, AttrField]:
    """Return the declarations of a class of attributes by name."""
    return cls.__attr_fields__


def attrs_class(type_key: str) -> type[Attrs] | None:
    """Return the class of attributes that has a type key, e.g. ``relay.attrs.Conv2DAttrs``; None if none has."""
    return _CLASSES.get(type_key)


if not TYPE_CHECKING:
    __getattr__, __dir__ = public_module("tvm.ir.attrs", ["Attrs"])
