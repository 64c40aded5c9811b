"""``tensorize``: replaces a block by an intrinsic."""

from __future__ import annotations

from compiler.ir.error import ArgumentError
from compiler.ir.node import rebuild
from compiler.ir.origin import current_span, derived_from, inheriting
from compiler.tir.expressions.intrin_registry import TensorIntrin
from compiler.tir.schedule.error import refuse
from compiler.tir.schedule.facts.matching import DescriptionMatcher
from compiler.tir.schedule.facts.roles import BLOCK_OR_LOOP
from compiler.tir.schedule.primitives.blockize import blockize_loop
from compiler.tir.schedule.registry import primitive
from compiler.tir.schedule.sref import StmtSRef
from compiler.tir.schedule.state import ScheduleState
from compiler.tir.statements.block import Block, BlockRealize, MatchBufferRegion
from compiler.tir.statements.renewal import RenewDefs


@primitive("Tensorize", block_or_loop=BLOCK_OR_LOOP)
def tensorize(
    state: ScheduleState, block_or_loop: StmtSRef, tensor_intrin: str, preserve_unit_iters: bool = True
) -> None:
    """Let an intrinsic compute a block, or what is inside of a loop.

    For example ``sch.tensorize(j_1, "dot_16x4")``::

        for i, j_0, j_1, k in …:                           for i, j_0 in …:
            with T.block("C"):               →                 with T.block("C_o"):
                C[vi, vj] = C[vi, vj] + …                          C_1 = T.match_buffer(C[vi_o, vj_o * 16:…], (16,))
                                                                   … the intrinsic, with C_1

    A loop has nothing but loops around one block inside, and becomes one block; the intrinsic was registered by
    ``tir.TensorIntrin.register``. Raises ScheduleError if the block does not do what the intrinsic describes, and
    ArgumentError if there is no such intrinsic.
    """
    intrin = TensorIntrin.get(tensor_intrin)
    assert intrin is not None
    block = block_or_loop
    if not block.is_block:
        block = blockize_loop(state, block_or_loop, preserve_unit_iters)
    matching = DescriptionMatcher()
    description = _root(intrin, is_description=True)
    if not matching.blocks(block.block, description):
        refuse(
            f"The block {{0}} does not match the description of intrinsic {tensor_intrin!r}: {matching.difference}",
            block,
        )
    span = current_span() | block.block.span
    with derived_from(span), inheriting(span):
        new = _implemented(block.block, intrin, matching)
    state.replace(block, new, {block.block: new})


def _root(intrin: TensorIntrin, is_description: bool) -> Block:
    func = intrin.desc if is_description else intrin.impl
    assert isinstance(func.body, BlockRealize)
    return func.body.block


def _implemented(block: Block, intrin: TensorIntrin, matching: DescriptionMatcher) -> Block:
    """Return a block that an intrinsic computes."""
    renewal = RenewDefs()
    matches: list[MatchBufferRegion] = []
    for described, param in zip(intrin.desc.params, intrin.impl.params, strict=True):
        buffer = intrin.desc.buffer_map.get(described)
        if buffer is None:
            raise ArgumentError("tensorize: the parameters of an intrinsic must be buffers")
        if buffer in matching.buffers:
            own = renewal.buffer(intrin.impl.buffer_map[param])
            matches.append(MatchBufferRegion(own, matching.region(buffer)))
    implementation = renewal.visit(_root(intrin, is_description=False))
    assert isinstance(implementation, Block)
    return rebuild(
        block,
        body=implementation.body,
        init=implementation.init,
        alloc_buffers=implementation.alloc_buffers,
        match_buffers=tuple(matches),
        annotations={**block.annotations, **implementation.annotations},
    )
