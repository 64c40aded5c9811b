"""Passes over quantised operators: ``relay.qnn.transform``."""

from __future__ import annotations

from compiler.relay.transform.layout.legalize import Legalize as LegalizeBy
from compiler.relay.transform.quantize import qnn_legalizations  # noqa: F401  its rules are what Legalize applies


class CanonicalizeQnn(LegalizeBy, opt_level=0, required=("InferType",)):
    """Write quantised operators as arithmetic on integers: ``qnn.transform.CanonicalizeOps()``.

    Level 0; requires InferType.  Kernels are made of the operators that it leaves.  The attribute
    ``legalize_map_attr_name`` of the operators says how.

    Examples
    --------
    ``CanonicalizeQnn()``::

        def @main(%x: Tensor[(4), int8]) { qnn.dequantize(%x, 0.5f, 3) }
        ->
        def @main(%x: Tensor[(4), int8]) {
          multiply(cast(subtract(cast(%x, dtype="int32"), 3), dtype="float32"), 0.5f)
        }
    """

    legalize_map_attr_name: str = "FTVMQnnCanonicalize"


def Legalize() -> LegalizeBy:
    """Return the pass that brings layers of integers into the data types that the current target is fast at.

    It applies the operators' attribute ``FTVMQnnLegalize``, which ``qnn.op.register_qnn_legalize`` sets.

    Examples
    --------
    ``qnn.transform.Legalize()`` for ``llvm``, with bytes ``%x`` and ``%w``::

        qnn.dense(%x, %w, 3, 0, 1f, 1f, units=4)
        ->
        nn.dense(subtract(cast(%x, dtype="int16"), cast(3, dtype="int16")), cast(%w, dtype="int16"), out_dtype="int32")
    """
    return LegalizeBy("FTVMQnnLegalize")


def CanonicalizeOps() -> CanonicalizeQnn:
    """Return the pass that writes quantised operators as arithmetic on integers.

    It applies the operators' attribute ``FTVMQnnCanonicalize``, which ``qnn.op.register_qnn_canonicalize`` sets.
    """
    return CanonicalizeQnn()
