"""``te.gradient``: the adjoints of a graph of operations, from the output to the inputs."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.arith import Analyzer
from compiler.classic.te.autodiff.adjoint import vector_jacobian_product
from compiler.classic.te.autodiff.tensors import identity, sum_of, zeros
from compiler.ir.error import ArgumentError, show
from compiler.ir.origin import derived_from, mint_source
from compiler.te.definition.dataflow import post_dfs_order
from compiler.te.definition.tensor import Operation, Tensor


def gradient(output: Tensor, inputs: Tensor | Sequence[Tensor], head: Tensor | None = None) -> list[Tensor]:
    """Differentiate a tensor by others in reverse mode.

    Only iterations that contribute are summed up: of a convolution's gradient those that read the element in question.
    Raises ArgumentError if ``head`` does not end with the dimensions of ``output``, or on the way from an input there
    is an operation other than a computation, or a function whose derivative is not known.

    Parameters
    ----------
    inputs : Tensor or sequence of Tensor
        Placeholders, or what is computed on the way.
    head : Tensor, optional
        The gradient of some other value by ``output``, whose last dimensions are those of ``output``.  When left out,
        the result is the Jacobian of ``output``.

    Returns
    -------
    list of Tensor
        For each input a tensor of the shape of ``head`` without the dimensions of ``output`` (without ``head`` of the
        shape of ``output``), followed by the shape of the input.

    References
    ----------
    S. Grechanik, Automatic differentiation for tensor expressions, TVM RFC 2498, 2019.

    Examples
    --------
    >>> x = te.placeholder((32, 3, 28, 28), name="x")
    >>> w = te.placeholder((10, 3, 3, 3), name="w")
    >>> y = topi.sum(topi.nn.conv2d(x, w, 1, 0, 1))
    >>> [dw] = te.gradient(y, [w])
    """
    sources = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    for tensor in (output, *sources):
        if not isinstance(tensor, Tensor):
            raise ArgumentError(f"gradient: expected tensors, got {show(tensor)}")
    with derived_from(mint_source(f"gradient of {output.op.name}")):
        if head is None:
            head = identity(output)
        leading = len(head.shape) - len(output.shape)
        if leading < 0 or not _same_shape(head, leading, output):
            raise ArgumentError(
                f"gradient: head must end with the dimensions of the output, {show(output.shape)}, "
                f"got {show(head.shape)}"
            )
        adjoints = _adjoints(output, sources, head)
        shape = head.shape[:leading]
        return [
            adjoints[t] if t in adjoints else zeros((*shape, *t.shape), t.dtype, f"{t.op.name}.zero") for t in sources
        ]


def _same_shape(head: Tensor, leading: int, output: Tensor) -> bool:
    analyzer = Analyzer()
    pairs = zip(head.shape[leading:], output.shape, strict=True)
    return all(analyzer.can_prove_equal(a, b) for a, b in pairs)


def _adjoints(output: Tensor, sources: Sequence[Tensor], head: Tensor) -> dict[Tensor, Tensor]:
    """Return the gradients of all tensors between some inputs and the output, as far as there are some."""
    order = post_dfs_order([output.op])
    between: set[Operation] = {t.op for t in sources}
    for op in order:
        if any(t.op in between for t in op.input_tensors):
            between.add(op)
    summands: dict[Tensor, list[Tensor]] = {output: [head]}
    adjoints: dict[Tensor, Tensor] = {}
    for op in reversed(order):
        reads = [tensor for tensor in op.input_tensors if tensor.op in between]
        for tensor in op.outputs:
            if tensor not in summands:
                continue
            adjoints[tensor] = adjoint = sum_of(summands[tensor], f"{tensor.op.name}.grad")
            for read in reads:
                part = vector_jacobian_product(tensor, read, adjoint)
                if part is not None:
                    summands.setdefault(read, []).append(part)
    return adjoints
