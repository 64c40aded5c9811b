"""The inputs of a model, from ``input_infos``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from compiler.ir.error import ArgumentError, TVMError, show
from compiler.ir.expr import RelayExpr
from compiler.relay.expr import Tuple, Var
from compiler.relay.frontend.pytorch.dtypes import dtype_name
from compiler.relay.frontend.pytorch.values import TorchKey, TorchValue
from compiler.relay.inference import infer_expr
from compiler.relay.ty import AnyDim, Dim, TensorType

Infos: TypeAlias = Sequence[tuple[str, object]]
"""The name of each input with what is known of it, as :func:`from_pytorch` takes them."""

Described: TypeAlias = "Var | Tuple | dict[TorchKey, Described]"
"""The parameters of ``main`` for one input of the model."""


def input_variables(infos: Infos, names: Sequence[str], dtypes: Sequence[str | None], default: str) -> list[Described]:
    """Create the parameters of ``main`` for the inputs of a model, of which several lists or dicts may be one."""
    if not isinstance(infos, (list, tuple)):
        raise ArgumentError(f"from_pytorch: input_infos must be a list of (name, shape), got {show(infos)}")
    if len(infos) != len(names):
        raise ArgumentError(
            f"from_pytorch: the model has {len(names)} inputs ({', '.join(names)}), input_infos gives {len(infos)}: "
            f"{show([info[0] if isinstance(info, (list, tuple)) and info else info for info in infos])}"
        )
    variables = [_variable(info, dtype or default) for info, dtype in zip(infos, dtypes, strict=True)]
    own = [v.name_hint for v in parameters(variables)]
    twice = sorted({name for name in own if own.count(name) > 1})
    if twice:
        raise ArgumentError(f"from_pytorch: input_infos names {', '.join(map(repr, twice))} twice")
    return variables


def as_value(described: Described) -> TorchValue:
    """Return the value of an input: a list for a tuple, a dict for a dict."""
    if isinstance(described, dict):
        return {key: as_value(inner) for key, inner in described.items()}
    return list(described.fields) if isinstance(described, Tuple) else described


def parameters(given: Iterable[Described | RelayExpr]) -> list[Var]:
    """Flatten the parameters of ``main``, including those in lists and dicts."""
    own: list[Var] = []
    for item in given:
        if isinstance(item, dict):
            own += parameters(item.values())
        elif isinstance(item, Tuple):
            own += parameters(item.fields)
        elif isinstance(item, Var):
            own.append(item)
    return own


def _variable(info: object, dtype: str) -> Described:
    if not isinstance(info, (list, tuple)) or len(info) != 2 or not isinstance(info[0], str):
        raise ArgumentError(
            f"from_pytorch: each of input_infos must be (name, shape) or (name, (shape, dtype)), got {show(info)}"
        )
    name, shape = info
    if isinstance(shape, Mapping):
        return {key: _variable((f"{name}_{key}", inner), dtype) for key, inner in shape.items()}
    if _is_typed(shape):
        shape, dtype = shape
    if isinstance(shape, (list, tuple)) and shape and all(isinstance(s, (list, tuple)) for s in shape):
        parts = [_variable((f"{name}_{i}", s), dtype) for i, s in enumerate(shape)]
        return Tuple(tuple(part for part in parts if not isinstance(part, dict)))
    try:
        variable = Var(name, TensorType(_dims(name, shape), dtype_name(dtype)))
    except TVMError as exc:
        raise ArgumentError(f"from_pytorch: input {name!r}: {exc}") from exc
    infer_expr(variable)
    return variable


def _is_typed(shape: object) -> bool:
    """Return whether an input description has a data type."""
    return (
        isinstance(shape, (list, tuple))
        and len(shape) == 2
        and isinstance(shape[0], (list, tuple))
        and not isinstance(shape[1], (int, list, tuple, AnyDim))
    )


def _dims(name: str, shape: object) -> tuple[Dim, ...]:
    if isinstance(shape, (list, tuple)) or (hasattr(shape, "__iter__") and not isinstance(shape, str)):
        dims = tuple(shape)
        if all(isinstance(d, AnyDim) or _is_extent(d) for d in dims):
            return tuple(d if isinstance(d, AnyDim) else int(d) for d in dims)
    raise ArgumentError(f"from_pytorch: shape of input {name!r} must be a tuple of ints, got {show(shape)}")


def _is_extent(value: Any) -> bool:
    return not isinstance(value, bool) and hasattr(value, "__index__") and value >= 0
