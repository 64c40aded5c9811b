"""The primitives of schedules: importing this room registers them."""

from compiler.tir.schedule.primitives import (  # noqa: F401
    access_regions,
    annotations,
    blockize,
    cache,
    cache_index,
    compute_at,
    decompose_padding,
    decompose_reduction,
    inline,
    layout,
    loop_kinds,
    loop_nest,
    merge,
    navigation,
    pad_einsum,
    reindex,
    rfactor,
    sampling,
    storage,
    tensorize,
)
