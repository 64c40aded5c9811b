"""The gallery's loader: names and words are where they should be, or it says what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.gallery import load_gallery, read_example


def test_the_gallery_is_in_order_and_says_what_it_shows() -> None:
    gallery = load_gallery()
    assert len(gallery.examples) >= 10
    assert len({example.name for example in gallery}) == len(gallery.examples)
    assert len({example.title for example in gallery}) == len(gallery.examples)
    for example in gallery:
        assert gallery.find(example.name) is example
        assert example.script.endswith("\n")
        assert "\n" not in example.title + example.words
        assert example.words.endswith((".", "?"))
    assert gallery.find("nothing") is None
    assert gallery.examples[0].name == "matmul-scheduled"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("add.py", '"""Title\n\nWords.\n"""\n', "must be named"),
        ("01_add.py", "x = 1\n", "must begin with a docstring"),
        ("01_add.py", '"""Title alone"""\n', "must begin with a docstring"),
    ],
)
def test_scripts_that_say_too_little(tmp_path: Path, name: str, text: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=words):
        read_example(path)
