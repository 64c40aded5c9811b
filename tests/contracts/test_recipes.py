"""The recipes of the compiler's README, followed to the letter, add what they say and touch no other file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.contracts.recipes import Recipe, read_recipe, recipes


@pytest.mark.sample(2)
@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.title)
def test_a_recipe_works(recipe: Recipe, tmp_path: Path) -> None:
    result = recipe.follow(tmp_path)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("recipe", recipes(), ids=lambda recipe: recipe.title)
def test_an_addition_touches_no_other_file_than_the_row_that_names_it(recipe: Recipe) -> None:
    assert len(recipe.files) == (2 if recipe.title == "To add an x86 schedule" else 1)


def test_the_additions_that_people_make_are_described() -> None:
    described = {recipe.title.removeprefix("To add ") for recipe in recipes()}
    assert described >= {
        "a graph operator",
        "a pass over loops",
        "a pass over graphs",
        "a schedule primitive",
        "an ONNX converter",
        "an x86 schedule",
        "a target",
    }


def test_a_recipe_that_cannot_be_followed_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a file to write"):
        read_recipe("To add nothing", "Just do it.\n")
    with pytest.raises(ValueError, match="what is the block"):
        read_recipe("To add nothing", "```python\nx = 1\n```\n")


def test_a_recipe_that_does_not_work_fails(tmp_path: Path) -> None:
    recipe = Recipe("To add nothing", [("compiler/nothing.py", "", "X = 1\n")], "from compiler.nothing import Y\n")
    assert "cannot import name 'Y'" in recipe.follow(tmp_path).stderr
