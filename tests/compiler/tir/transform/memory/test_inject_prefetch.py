"""What a later iteration reads is fetched ahead."""

from __future__ import annotations

import pytest

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


SHARES = "A: T.Buffer((9, 64, 16), 'int32'), C: T.Buffer((9, 12), 'int32')"


def test_loops_that_read_the_same_again_each_fetch_a_share_of_what_comes_next() -> None:
    """Twelve iterations fetch 64 rows: six in each, row after row, of which an eighth is fetched by the next, too."""
    assert_pass(
        INJECT,
        """
        for j in range(8):
            for h, i in T.grid(3, 4):
                for k in range(64):
                    T.attr(A, "prefetch_share", 1)
                    for v in range(16):
                        C[j, h * 4 + i] = C[j, h * 4 + i] + A[j, k, v]
        """,
        """
        for j, h, i, k in T.grid(8, 3, 4, 64):
            T.prefetch(A, [
                T.Range(j + 1, j + 1 + 1), T.Range(h * 24 + i * 6 + k // 8, h * 24 + i * 6 + k // 8 + 1), T.Range(0, 16)
            ])
            for v in range(16):
                C[j, h * 4 + i] = C[j, h * 4 + i] + A[j, k, v]
        """,
        params=SHARES,
        values=(),
    )


def test_a_share_of_what_several_loops_read_is_in_their_order() -> None:
    assert_pass(
        INJECT,
        """
        for j, i, k, l in T.grid(8, 2, 64, 16):
            T.attr(A, "prefetch_share", 1)
            C[j, i] = C[j, i] + A[j, k, l]
        """,
        """
        for j, i, k, l in T.grid(8, 2, 64, 16):
            T.prefetch(A, [
                T.Range(j + 1, j + 1 + 1),
                T.Range(i * 32 + k // 2, i * 32 + k // 2 + 1),
                T.Range(k % 2 * 8 + l // 2, k % 2 * 8 + l // 2 + 1),
            ])
            C[j, i] = C[j, i] + A[j, k, l]
        """,
        params=SHARES,
        values=(),
    )


COPIES = "A: T.Buffer((36, 64), 'int32'), B: T.Buffer((4, 64), 'int32'), C: T.Buffer((9, 12), 'int32')"


def test_loops_that_read_a_copy_fetch_what_is_copied_next() -> None:
    """Three iterations fetch four rows of 64: two rows in each, four elements in each of 32 steps."""
    assert_pass(
        INJECT,
        """
        for j in range(8):
            for r, c in T.grid(4, 64):
                B[r, c] = A[j * 4 + r, c]
            for i, k in T.grid(3, 32):
                T.attr(A, "prefetch_share", 1)
                for r, c in T.grid(4, 64):
                    C[j, i] = C[j, i] + B[r, c] * k
        """,
        """
        for j in range(8):
            for r, c in T.grid(4, 64):
                B[r, c] = A[j * 4 + r, c]
            for i, k in T.grid(3, 32):
                T.prefetch(A, [
                    T.Range(j * 4 + i * 2 + k % 2 + 4, j * 4 + i * 2 + k % 2 + 4 + 1),
                    T.Range(k // 2 * 4, k // 2 * 4 + 4),
                ])
                for r, c in T.grid(4, 64):
                    C[j, i] = C[j, i] + B[r, c] * k
        """,
        params=COPIES,
        values=(),
    )


@pytest.mark.parametrize(
    ("place", "turns"),
    [("r, c", "3"), ("j * 4 + r, B[0, c]", "3"), ("j * 4 + r, c", "n")],
    ids=["it copies the same again", "a place from memory", "unknown turns"],
)
def test_nothing_is_fetched_of_a_copy_where(place: str, turns: str) -> None:
    body = f"""
        for j in range(8):
            for r, c in T.grid(4, 64):
                B[r, c] = A[{place}]
            for i, k in T.grid({turns}, 32):
                T.attr(A, "prefetch_share", 1)
                C[j, 0] = C[j, 0] + B[0, k]
    """
    plain = body.replace('T.attr(A, "prefetch_share", 1)', "pass")
    assert_pass(INJECT, body, plain, params=COPIES + ", n: T.int32", values=())


@pytest.mark.parametrize(
    ("shape", "place", "loop"),
    [
        ("(256,)", "j * 32 + c % 32", "for i, k in T.grid(3, 32)"),
        ("(9, 4, 64)", "r, j % 4, c", "for i, k in T.grid(3, 32)"),
        ("(36, 64)", "j * 4 + r, c", "if j < 7"),
    ],
    ids=["it has no rows", "it has several boxes of rows", "no loop reads it"],
)
def test_nothing_is_fetched_of_a_copy_if(shape: str, place: str, loop: str) -> None:
    body = f"""
        for j in range(8):
            for r, c in T.grid(4, 64):
                B[r, c] = A[{place}]
            {loop}:
                T.attr(A, "prefetch_share", 1)
                C[j, 0] = C[j, 0] + B[0, 1]
    """
    plain = body.replace('T.attr(A, "prefetch_share", 1)', "pass")
    assert_pass(INJECT, body, plain, params=COPIES.replace("(36, 64)", shape), values=())


@pytest.mark.parametrize(
    ("loops", "read"),
    [
        ("j, k in T.grid(8, 64)", "A[j, k, 0]"),
        ("i, k in T.grid(8, 64)", "A[0, k, 0]"),
        ("j, i in T.grid(8, 4)", "A[j, 0, 0]"),
        ("j, i, k in T.grid(8, n, 64)", "A[j, k, 0]"),
    ],
    ids=["nothing is read again", "nothing comes next", "the innermost loop reads the same", "unknown turns"],
)
def test_no_share_is_fetched_where(loops: str, read: str) -> None:
    body = f"C[0, 0] = C[0, 0] + {read}"
    marked = f"for {loops}:\n    T.attr(A, 'prefetch_share', 1)\n    {body}"
    assert_pass(INJECT, marked, f"for {loops}:\n    {body}", params=SHARES + ", n: T.int32", values=(3,))


@pytest.mark.parametrize("index", ["j, B[k], 0", "j, k, B[v]"])
@pytest.mark.parametrize("key", ["prefetch_scope", "prefetch_share"])
def test_what_is_read_at_a_place_from_memory_is_not_fetched(key: str, index: str) -> None:
    """The place would be read where it may not be stored: after the last iteration."""
    body = f"""
        for j, i, k in T.grid(8, 4, 64):
            T.attr(A, "{key}", 1)
            for v in range(16):
                C[0, v % 12] = C[0, v % 12] + A[{index}]
    """
    plain = body.replace(f'T.attr(A, "{key}", 1)', "pass")
    assert_pass(INJECT, body, plain, params=SHARES + ", B: T.Buffer((64,), 'int32')", values=())
