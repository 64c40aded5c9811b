"""``from_pytorch``: from a script module or an exported program to a module and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from compiler.ir.error import ArgumentError, UnavailableError, show
from compiler.ir.instrument import active_instruments
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from, mint, mint_use
from compiler.relay.frontend.span_filling import begin_import
from compiler.runtime.ndarray import NDArray

if TYPE_CHECKING:
    from compiler.relay.frontend.pytorch.reader import ModelSource

__all__ = ["from_pytorch"]

_VOCABULARY = (str(Path(__file__).parent.parent),)


def from_pytorch(
    script_module: ModelSource,
    input_infos: Sequence[tuple[str, Any]] | None = None,
    custom_convert_map: Mapping[str, Callable[..., Any]] | None = None,
    default_dtype: str = "float32",
    use_parser_friendly_name: bool = False,
    keep_quantized_weight: bool = False,
) -> tuple[IRModule, dict[str, NDArray]]:
    """Convert a model of PyTorch to a module of graphs.

    Parameters
    ----------
    script_module : torch.jit.ScriptModule, torch.export.ExportedProgram, bytes, str or path
        A model that was traced, scripted or exported, or the file that ``torch.jit.save`` or ``torch.export.save``
        made of it.  Put it into eval mode first.
    input_infos : sequence of tuple, optional
        For each input its name, and its shape, or a pair of shape and data type: ``("x", (1, 3, 224, 224))``,
        ``("ids", ((1, 128), "int64"))``.  For a dict of tensors, those of each key: ``("batch", {"ids": (1, 128)})``;
        its tensors are inputs of the name ``batch_ids``.  By default those that it was traced or exported with.
    custom_convert_map : mapping of str to callable, optional
        Converters of operators by name (``aten::relu``), which come before those that there are: each takes the list
        of a node's arguments and the list of their data types, and returns an expression.
    default_dtype : str
        The data type of inputs that are given without one, and of numbers with a fraction.
    use_parser_friendly_name : bool
        Whether names of parameters and nodes have underscores instead of colons and dots.
    keep_quantized_weight : bool
        Whether the weights of layers that PyTorch has quantized are parameters of bytes; by default they are real
        numbers, which the module quantizes.

    Returns
    -------
    mod : IRModule
        Its ``main`` has the inputs in their order, then the weights.
    params : dict of str to NDArray
        The weights by the names that ``main`` has for them.

    Raises
    ------
    UnsupportedOperatorError
        Naming all operators that nothing converts, with the places in the model.
    ModelError
        If a file is damaged or holds something else.
    ConversionError
        If a node cannot be converted; it names the node and its line.
    ArgumentError
        If ``input_infos`` does not fit the model.
    UnavailableError
        If PyTorch is not installed.
    """
    try:
        from compiler.relay.frontend.pytorch.program import convert_model
    except ModuleNotFoundError as exc:
        if exc.name != "torch":
            raise
        raise UnavailableError(
            "relay.frontend.from_pytorch: PyTorch is not installed; install it with pip install -e '.[pytorch]'"
        ) from exc
    _check_custom(custom_convert_map)
    begin_import()
    span = mint("graph", type(script_module).__name__, mint_use("from_pytorch", _VOCABULARY))
    with derived_from(span):
        mod, params = convert_model(
            script_module,
            input_infos,
            dict(custom_convert_map or {}),
            default_dtype,
            use_parser_friendly_name,
            keep_quantized_weight,
            span,
        )
        for instrument in active_instruments():
            instrument.module_created(mod)
    return mod, params


def _check_custom(given: Mapping[str, Callable[..., Any]] | None) -> None:
    for name, convert in (given or {}).items():
        if not isinstance(name, str) or not callable(convert):
            raise ArgumentError(
                f"from_pytorch: custom_convert_map must map operators to callables, got {show({name: convert})}"
            )
