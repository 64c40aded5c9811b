"""Problems define what their NumPy expressions compute, and files of problems are read with precise errors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from app.challenges import OWN, Problem, ProblemError, Problems, own_link, own_problem
from app.challenges.problem import read_problem
from app.recorder.measuring.measure import compare
from app.recorder.measuring.random_inputs import random_arrays
from compiler import te
from compiler.classic import alias
from compiler.driver.build import build
from compiler.runtime.arrays.ndarray import array
from compiler.runtime.device import cpu
from compiler.te.definition.tensor import Tensor

PROBLEMS = [problem for members in Problems().groups.values() for problem in members]


def small_arguments(problem: Problem) -> list[Tensor]:
    """Return the arguments of the function that a problem's script builds, with its smaller sizes."""
    script, taken = problem.script, []
    names = re.search(r"^([\w, ]+) = ([\w<, ]+)$", script, re.MULTILINE)
    assert names is not None
    sizes = dict(zip(names[1].split(", "), names[2].split(", "), strict=True)) | problem.settings.small
    script = script.replace(names[0], "; ".join(f"{name} = {value}" for name, value in sizes.items()))
    alias.install()
    exec(script.replace("tvm.build(", "taken("), {"taken": lambda s, args, **_: taken.extend(args)})
    return taken


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.name)
def test_numpy_computes_what_a_problem_defines(problem: Problem) -> None:
    tensors = small_arguments(problem)
    arrays = random_arrays([[int(n) for n in t.shape] for t in tensors], [t.dtype for t in tensors], seed=7)
    *inputs, _ = arrays
    expected = eval(problem.settings.numpy, {"np": np})(*inputs)
    loaded = [array(a, cpu(0)) for a in arrays]
    build(te.create_schedule(tensors[-1].op), tensors, target="llvm").get_function("main")(*loaded)
    result: Any = loaded[-1].numpy()
    assert expected.shape == result.shape
    assert expected.dtype == result.dtype
    assert compare([result], [expected]).ok


def test_there_are_thirty_problems_and_each_has_a_hint() -> None:
    assert len(PROBLEMS) == 30
    assert all(problem.settings.hint and problem.words and "///" not in problem.script for problem in PROBLEMS)
    assert not any(problem.is_own for problem in PROBLEMS)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("1_a.py", '"""T\n\nWords.\n"""\n', "# /// challenge"),
        ("a.py", '"""T\n\nWords.\n"""\n# /// challenge\n# hint = ""\n# ///\n', "a file like"),
        ("1_a.py", '"""T\n\nWords.\n"""\n# /// challenge\n# hint = \n# ///\n', "Invalid value"),
        ("1_a.py", '"""T\n\nWords.\n"""\n# /// challenge\n# size = 3\n# ///\n', "unknown field `size`"),
        ("1_a.py", '"""T"""\n# /// challenge\n# hint = ""\n# ///\n', "docstring"),
    ],
)
def test_a_file_that_is_no_problem_is_refused(tmp_path: Path, name: str, text: str, words: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ProblemError, match=re.escape(words)):
        read_problem(tmp_path / name)


def test_a_visitors_problem_has_the_words_of_its_script() -> None:
    problem = own_problem("bcd2", '"""Mine\n\nDo\nthis.\n"""\nx = 1\n')
    assert (problem.name, problem.title, problem.words) == (f"{OWN}bcd2", "Mine", "Do this.")
    assert own_link(problem.name) == "bcd2"
    assert own_link("matmul") == ""
    assert problem.is_own
    untitled = own_problem("bcd2", "x = 1")
    assert untitled.title
    assert untitled.words
    long = own_problem("b", f'"""{"T" * 500}\n{"w" * 5000}"""')
    assert len(long.title) == 120
    assert len(long.words) <= 400
