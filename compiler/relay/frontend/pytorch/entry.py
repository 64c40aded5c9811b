"""``relay.frontend.from_pytorch``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from compiler.ir.error import ArgumentError, UnavailableError, show
from compiler.ir.module import IRModule
from compiler.ir.origin import derived_from, mint, mint_use
from compiler.relay.frontend.span_filling import begin_import
from compiler.runtime.arrays.ndarray import NDArray

if TYPE_CHECKING:
    from compiler.relay.frontend.pytorch.inputs import Infos
    from compiler.relay.frontend.pytorch.reader import ModelSource
    from compiler.relay.frontend.pytorch.registry import Convert

_VOCABULARY = (str(Path(__file__).parent.parent),)


def from_pytorch(script_module: ModelSource, input_infos: Infos | None = None,
                 custom_convert_map: Mapping[str, Convert] | None = None, default_dtype: str = "float32",
                 use_parser_friendly_name: bool = False,
                 keep_quantized_weight: bool = False) -> tuple[IRModule, dict[str, NDArray]]:  # fmt: skip
    """Convert a PyTorch model to a Relay module.

    Raises UnsupportedOperatorError if operators are not supported; names all of them, with their places in the model.
    Raises ModelError if a file is damaged or not a model. Raises ConversionError if a node cannot be converted; names
    the node and its line. Raises ArgumentError if ``input_infos`` does not match the model. Raises UnavailableError if
    PyTorch is not installed.

    Parameters
    ----------
    script_module : torch.jit.ScriptModule, torch.export.ExportedProgram, bytes, str or path
        A traced, scripted or exported model, or the file saved by ``torch.jit.save`` or ``torch.export.save``.  Models
        must be in eval mode.
    input_infos : sequence of tuple, optional
        The name of each input, with its shape or a pair of shape and data type: ``("x", (1, 3, 224, 224))``,
        ``("ids", ((1, 128), "int64"))``.  For a dict of tensors, those of each key: ``("batch", {"ids": (1, 128)})``;
        its tensors become inputs named like ``batch_ids``.  By default those of the trace or export.
    custom_convert_map : mapping of str to callable, optional
        Converters by operator name (``aten::relu``), which override the built-in ones.  Each takes the list of a node's
        arguments and the list of their data types, and returns an expression.
    default_dtype : str
        The data type of inputs without one, and of floating-point constants.
    use_parser_friendly_name : bool
        Whether colons and dots in names of parameters and nodes are replaced by underscores.
    keep_quantized_weight : bool
        Whether the weights of quantized layers are integer parameters; by default they are floating-point parameters,
        which the module quantizes.

    Returns
    -------
    mod : IRModule
        The parameters of ``main`` are the inputs, followed by the weights.
    params : dict of str to NDArray
        The weights by their parameter names in ``main``.
    """
    try:
        from compiler.relay.frontend.pytorch.program import convert_model
    except ModuleNotFoundError as exc:
        if exc.name != "torch":
            raise
        raise UnavailableError(
            "relay.frontend.from_pytorch: PyTorch, which reads such models, is not installed here "
            "(pip install 'strata-explorer[pytorch]'); one that torch.onnx.export has written can be read without it"
        ) from exc
    _check_custom(custom_convert_map)
    begin_import()
    span = mint("graph", type(script_module).__name__, mint_use("from_pytorch", _VOCABULARY))
    with derived_from(span):
        return convert_model(
            script_module,
            input_infos,
            dict(custom_convert_map or {}),
            default_dtype,
            use_parser_friendly_name,
            keep_quantized_weight,
            span,
        )


def _check_custom(given: Mapping[str, Convert] | None) -> None:
    for name, convert in (given or {}).items():
        if not isinstance(name, str) or not callable(convert):
            raise ArgumentError(
                f"from_pytorch: custom_convert_map must map operators to callables, got {show({name: convert})}"
            )
