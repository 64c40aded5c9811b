"""What is shown of output that is meant for a terminal."""

from __future__ import annotations

import pytest

from app.recorder.scripts.terminal import as_shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[1;31mred\x1b[0m and \x1b[38;5;208morange\x1b[m", "red and orange"),
        ("\x1b]0;title\x07text \x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "text link"),
        ("\x1b[2K\x1b[1Gdone\x07\x00", "done"),
        ("10 %\r50 %\r100 %\nready", "100 %\nready"),
        ("half\r", "half"),
        ("dos\r\nlines\r\n", "dos\nlines\n"),
        ("an escape \x1b at the end \x1b", "an escape  at the end "),
    ],
)
def test_colours_and_lines_that_are_written_over_are_left_out(written: str, shown: str) -> None:
    assert as_shown(written) == shown
