"""What is wrong with a model, or beyond an importer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from compiler.ir.error import TVMError

__all__ = ["ConversionError", "ModelError", "UnsupportedOperatorError", "naming_node"]

MAX_PLACES = 5
"""How many nodes of an unsupported operator an error lists."""

_MISFITS = (
    ValueError, IndexError, KeyError, TypeError, OverflowError, ZeroDivisionError, MemoryError, AttributeError,
)  # fmt: skip
"""What Python and NumPy say when the arguments of a node are inconsistent."""


class ModelError(TVMError):
    """A model that cannot be read, that contradicts itself, or that is not of a kind that is converted."""


class ConversionError(TVMError):
    """A node that has no counterpart in Relay; the importer adds which node it is."""


class UnsupportedOperatorError(ConversionError, NotImplementedError):
    """Operators that nothing converts, all of a model at once.

    Parameters
    ----------
    importer : str
        E.g. ``from_pytorch``.
    operators : mapping of str to sequence of str
        Where each of them stands in the model.
    """

    def __init__(self, importer: str, operators: Mapping[str, Sequence[str]]) -> None:
        self.operators = dict(operators)
        lines = [f"  {name}: {_listed(places)}" for name, places in sorted(operators.items())]
        super().__init__(
            "\n".join([f"{importer}: The following operators are not implemented: {sorted(operators)}", *lines])
        )


def _listed(places: Sequence[str]) -> str:
    shown = ", ".join(places[:MAX_PLACES])
    return shown + (f" and {len(places) - MAX_PLACES} more" if len(places) > MAX_PLACES else "")


@contextmanager
def naming_node(importer: str, label: str) -> Iterator[None]:
    """Say in every error which node it is about; the innermost node is the one that is named.

    Parameters
    ----------
    importer : str
        E.g. ``from_pytorch``.
    label : str
        The operator, and where it stands.
    """
    try:
        yield
    except UnsupportedOperatorError:
        raise
    except TVMError as exc:
        if str(exc).startswith(f"{importer}: "):
            raise
        raise ConversionError(f"{importer}: {label}: {exc}") from exc
    except _MISFITS as exc:
        raise ConversionError(f"{importer}: {label}: its arguments are inconsistent ({exc})") from exc
