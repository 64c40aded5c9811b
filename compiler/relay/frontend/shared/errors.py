"""Errors of the importers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from compiler.ir.error import TVMError

MAX_PLACES = 5
"""The maximum number of nodes that an error lists per unsupported operator."""

_MISFITS = (
    ValueError, IndexError, KeyError, TypeError, OverflowError, ZeroDivisionError, MemoryError, AttributeError,
)  # fmt: skip
"""The exceptions that Python and NumPy raise for inconsistent arguments."""


class ModelError(TVMError):
    """A model that is malformed, inconsistent, or of an unsupported format."""


class ConversionError(TVMError):
    """A node that cannot be converted to Relay; the importer adds the name of the node."""


class UnsupportedOperatorError(ConversionError, NotImplementedError):
    """Unsupported operators, all of a model at once, with the nodes of each."""

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
    """Add the innermost node to the message of every error."""
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
