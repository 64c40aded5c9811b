"""The primitives of schedules: importing this room registers them."""

from compiler.tir.schedule.primitives import (  # noqa: F401
    annotations,
    cache,
    compute_at,
    decompose_reduction,
    inline,
    loop_kinds,
    loop_nest,
    navigation,
    rfactor,
    sampling,
    storage,
)
