"""Integer attributes: plain numbers inside the compiler, constants for programs that read their value."""

from __future__ import annotations


class IntAttr(int):
    """An integer that is an attribute: a number that also answers as the ``IntImm`` that TVM keeps.

    Examples
    --------
    >>> func = func.with_attr("calling_conv", 1)
    >>> func.attrs["calling_conv"] == 1, func.attrs["calling_conv"].value
    (True, 1)
    """

    __slots__ = ()

    @property
    def value(self) -> int:
        """The number."""
        return int(self)

    @property
    def dtype(self) -> str:
        """The data type that TVM's constant of the number has."""
        return "int32" if -(1 << 31) <= self < 1 << 31 else "int64"


class BoolAttr(IntAttr):
    """A truth value that is an attribute, and answers as the ``IntImm`` of type ``bool`` that TVM keeps."""

    __slots__ = ()

    @property
    def dtype(self) -> str:
        """The data type: ``bool``."""
        return "bool"

    def __repr__(self) -> str:
        return str(bool(self))

    __str__ = __repr__


def kept_attr(value: object) -> object:
    """Return a free attribute in the form in which it is kept: lists as tuples, integers with their value."""
    if isinstance(value, (list, tuple)):
        return tuple(kept_attr(v) for v in value)
    return IntAttr(value) if type(value) is int else value
