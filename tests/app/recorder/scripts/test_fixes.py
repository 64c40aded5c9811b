"""What would mend an error is offered beside it, as edits that do."""

from __future__ import annotations

import pytest

from app.artifacts import MAX_EDITS, Fix, Problem
from app.proposals import MAX_EDIT
from app.recorder.scripts.allowance import Allowance
from app.recorder.scripts.script import Script
from compiler.classic import alias
from tests.app.recorder.scripts.pasting import applied


@pytest.fixture(autouse=True)
def tvm() -> None:
    """Let scripts import it."""
    alias.install()


def problem(source: str) -> Problem:
    script = Script(source)
    with script.as_main():
        script.run(Allowance(5.0, 5.0))
    [found] = script.problems
    return found


TE = "import tvm\nfrom tvm import te\n"
BUILT = """target = '{}'
A = te.placeholder((4,), name="A")
B = te.compute((4,), lambda i: A[i], name="B")
tvm.build(te.create_schedule(B.op), [A, B], target)
"""
IF_LOST = "def f(x):\n    if x:\n    return 1\n    return 2\nf(1)\n"


@pytest.mark.parametrize(
    ("before", "label", "after"),
    [
        # names that tutorials give modules: every one that is missing
        (
            "# the sizes\nn = te.var('n')\nx = np.ones(3)\n",
            "Add from tvm import te and import numpy as np",
            "from tvm import te\nimport numpy as np\n# the sizes\nn = te.var('n')\nx = np.ones(3)\n",
        ),
        ('"""A"""\nimport tvm\nte.var\n', f"Add {TE[11:].strip()}", f'"""A"""\n{TE}te.var\n'),
        ("# %% 1\nonnx.load\n", "Add import onnx", "# %% 1\nimport onnx\nonnx.load\n"),
        ("# %% 1\n# of it\nonnx.load\n", "Add import onnx", "# %% 1\nimport onnx\n# of it\nonnx.load\n"),
        # lines end where Python ends them
        ("\x0cmatmul = '\u2028\x85'\nprint(matmull)\n", "Write matmul", "\x0cmatmul = '\u2028\x85'\nprint(matmul)\n"),
        # sizes that are left open
        (
            TE + "A = te.placeholder((M, N), name='A')\nk = te.reduce_axis((0, K))\n",
            "Add M, N, K = 64, 64, 64",
            TE + "M, N, K = 64, 64, 64\nA = te.placeholder((M, N), name='A')\nk = te.reduce_axis((0, K))\n",
        ),
        (
            TE + "def called(f):\n    f()\n@called\ndef f():\n    return te.placeholder((N, 4))\n",
            "Add N = 64",
            TE + "def called(f):\n    f()\nN = 64\n@called\ndef f():\n    return te.placeholder((N, 4))\n",
        ),
        # near names: of a variable, an attribute, a target
        (TE + "size = 4\nte.placeholder((sise,))\n", "Write size", TE + "size = 4\nte.placeholder((size,))\n"),
        ("matmul = 1\nprint(matmull, 'matmull')\n", "Write matmul", "matmul = 1\nprint(matmul, 'matmul')\n"),
        (TE + "te.plaeholder((1,))\n", "Write placeholder", TE + "te.placeholder((1,))\n"),
        (TE + "tvm.target.Target('lvm -mcpu=znver4')\n", "Write llvm", TE + "tvm.target.Target('llvm -mcpu=znver4')\n"),
        # CPUs: near ones, and those of another architecture
        (TE + BUILT.format("llvm -mcpu=znvre4"), "Write znver4", TE + BUILT.format("llvm -mcpu=znver4")),
        (
            TE + BUILT.format("llvm -mcpu=neoverse-n1"),
            "Add -mtriple=aarch64-unknown-linux-gnu",
            TE + BUILT.format("llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-n1"),
        ),
        # indentation that is lost, too deep, of no block, or of tabs
        ("if 1:\nx = 1\n", "Indent line 2 anew", "if 1:\n    x = 1\n"),
        (IF_LOST, "Indent line 3 anew", IF_LOST.replace("    return 1", "        return 1")),
        ("x = 1\n    y = 2\n    z = 3\nw = 4\n", "Indent lines 2 to 3 anew", "x = 1\ny = 2\nz = 3\nw = 4\n"),
        ("def f():\n    x = 1\n   return x\n", "Indent line 3 anew", "def f():\n    x = 1\n    return x\n"),
        ("def f():\n\tx = 1\n        return x\n", "Indent line 2 anew", "def f():\n        x = 1\n        return x\n"),
        (
            'def f():\n\tx = """\n\ta\n"""\n        return x\n',
            "Indent line 2 anew",
            'def f():\n        x = """\n\ta\n"""\n        return x\n',
        ),
        # text that is no Python
        ("pip install apache-tvm\nx = 1\n", "Comment out line 1", "# pip install apache-tvm\nx = 1\n"),
        ("x = 1\n%1 = add(%0) \u2190 it\n}\n", "Comment out lines 2 to 3", "x = 1\n# %1 = add(%0) \u2190 it\n# }\n"),
        (
            "// a nest\nfor (i, 0, 4) {\nC[i] = C[i] + 1\nC[i] = 0f\n}\n# %% next\nx = 1\n",
            "Comment out lines 1 to 5",
            "# // a nest\n# for (i, 0, 4) {\n# C[i] = C[i] + 1\n# C[i] = 0f\n# }\n# %% next\nx = 1\n",
        ),
        (
            "def @main(%x: Tensor[(2), int8]) {\nnn.relu(%x)\n}\n#%% next\nx = 1\n",
            "Read it as Relay",
            'from tvm import relay\n\nmod = relay.fromtext("""\n'
            'def @main(%x: Tensor[(2), int8]) {\nnn.relu(%x)\n}\n""")\n#%% next\nx = 1\n',
        ),
        (
            "def @main(%x: Tensor[(2), int8]) {\nnn.relu(%x)\n}\n",
            "Read it as Relay",
            'from tvm import relay\n\nmod = relay.fromtext("""\n'
            'def @main(%x: Tensor[(2), int8]) {\nnn.relu(%x)\n}\n""")\n',
        ),
    ],
)  # fmt: skip
def test_the_fix_of_an_error_mends_it(before: str, label: str, after: str) -> None:
    found = problem(before)
    assert found.fixes[0].label == label
    assert applied(before, found.fixes[0]) == after
    script = Script(after)
    with script.as_main():
        script.run(Allowance(5.0, 5.0))
    assert script.problems == []


def test_a_missing_file_can_be_chosen_under_its_name() -> None:
    [fix] = problem("import onnx\nonnx.load('resnet18.onnx')\n").fixes
    assert fix == Fix(label="Choose resnet18.onnx …", attach="resnet18.onnx")
    assert problem("open('/etc/nothing')\n").fixes == []


@pytest.mark.parametrize("line", ["import schedules_of_mine", "from schedules_of_mine import tile"])
def test_the_file_of_a_module_can_be_chosen(line: str) -> None:
    [fix] = problem(f"import tvm\n{line}\n").fixes
    assert fix == Fix(label="Choose schedules_of_mine.py …", attach="schedules_of_mine.py")


@pytest.mark.parametrize(
    "line", ["import mine.schedules", "raise ModuleNotFoundError('x', name='torch')  # import torch"]
)
def test_no_file_is_that_of_a_package_or_of_an_optional_library(line: str) -> None:
    assert problem(f"{line}\n").fixes == []


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\ny = x +\n",  # half a statement is no text about programs
        "1 / 0\n",
        "def f():\n    print(np)\n    np = 1\nf()\n",
        "print(somebody)\n",
        "raise ModuleNotFoundError('x', name='te')\n",
        "class Odd(NameError):\n    name = property(lambda self: 1 / 0)\nraise Odd('x')\n",
        "raise NameError('x; did you mean ' + chr(39) + 'y' + chr(39) + '?')\n",
        "class Far(SyntaxError):\n    pass\nraise Far('expected an indented block after x on line 99')\n",
        "for i in range(3):\n",
        '"""\nn → m\n"""\nprint(somebody)\n',
        "raise IndentationError('unexpected indent')\n",
        'def @main(%x: Tensor[(2), int8]) {\n"""\n}\n',
    ],
)
def test_what_nothing_mends_has_no_fix(source: str) -> None:
    assert problem(source).fixes == []


def test_a_cell_behind_that_is_no_python_does_not_hide_what_is_missing() -> None:
    script = Script("import onnx\n# %% 1\nx = np.pi\n# %% 2\nx =\n")
    with script.as_main():
        script.run(Allowance(5.0, 5.0))
    [fix] = script.problems[0].fixes
    assert [found.kind for found in script.problems] == ["NameError", "SyntaxError"]
    assert (fix.label, fix.edits[0].line) == ("Add import numpy as np", 2)


def test_a_fix_that_is_too_long_for_the_page_is_left_out() -> None:
    assert problem("x = mat + 1  #" + "x" * 3_000 + "\nmatt = 1\n").fixes == []
    wrong = "matmul = 1\nprint(matmull)  # {}\n"
    longest = "x" * (MAX_EDIT - len(wrong.partition("\n")[2].format("")) + len("l\n"))
    assert problem(wrong.format(longest)).fixes
    assert problem(wrong.format(f"{longest}x")).fixes == []
    many = "x = 1\n" + "    y = 2\n" * MAX_EDITS
    assert problem(many).fixes
    assert problem(f"{many}    y = 2\n").fixes == []


def test_a_fix_that_two_rules_find_is_offered_once() -> None:
    built = BUILT.replace("target = '{}'\n", "").replace("target)", "'llvm -mcpu=znvre4')")
    assert [fix.label for fix in problem(TE + built).fixes] == ["Write znver4"]
