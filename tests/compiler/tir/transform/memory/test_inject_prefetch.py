"""What a later iteration reads is fetched ahead."""

from __future__ import annotations

from compiler.ir.transform import Sequential
from compiler.tir.transform import InjectPrefetch, Simplify
from tests.compiler.tir.transform.programs import assert_pass

PARAMS = "A: T.Buffer((80,), 'int32'), C: T.Buffer((80,), 'int32')"
INJECT = Sequential([InjectPrefetch(), Simplify()])


def test_a_prefetch_names_the_box_of_a_later_iteration() -> None:
    assert_pass(
        INJECT,
        """
        for i in range(60):
            T.attr(A, "prefetch_scope", 2)
            for j in range(64):
                C[i, j] = A[i, j] + A[i, 63 - j]
        """,
        """
        for i in range(60):
            T.prefetch(A, [T.Range(i + 2, i + 2 + 1), T.Range(0, 64)])
            for j in range(64):
                C[i, j] = A[i, j] + A[i, 63 - j]
        """,
        params="A: T.Buffer((64, 64), 'int32'), C: T.Buffer((64, 64), 'int32')",
        values=(),
    )


def test_a_prefetch_of_something_never_read_is_dropped() -> None:
    assert_pass(
        INJECT,
        """
        for i in range(8):
            T.attr(A, "prefetch_scope", 2)
            C[i] = i
        """,
        """
        for i in range(8):
            C[i] = i
        """,
        params=PARAMS,
    )
