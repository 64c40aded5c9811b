"""Indentation that a pasted text has lost comes back."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from app.recorder.scripts.indentation import indented

LESSONS = Path(__file__).parents[4] / "app" / "lessons" / "texts"
SCRIPTS = [
    # a method is known by self, what follows the class by the class's own name
    """class Counter(relay.ExprVisitor):
    def __init__(self):
        super().__init__()
        self.ops = {}
    def visit_call(self, call):
        if isinstance(call.op, tvm.ir.Op):
            name = call.op.name
            self.ops[name] = self.ops.get(name, 0) + 1
        # on to the arguments
        super().visit_call(call)
counter = Counter()
print(counter.ops)
""",
    # a function inside of another one, which gives its result
    """def analyze(mod):
    counts = {}
    def visit(node):
        nonlocal total
        if isinstance(node, relay.Call): return None
        counts[node] = 1
    relay.analysis.post_order_visit(mod["main"], visit)
    for name, param in params.items():
        total += np.prod(param.shape)
    return counts
analyze(mod)
""",
    # what names a loop's variable is in the loop, and so is all that comes before
    """for name, apply in configs:
    s = te.create_schedule(C.op)
    try:
        apply(s, C)
    except Exception:
        pass
    func = tvm.build(s, [A, B, C],
        target=target)
    def run():
        func(a, b, c)
    for _ in range(20): run()
    for _ in range(5):
        run()
    t = timeit.timeit(run, number=100)
    print(f"{name}: {t}")
print("done")
""",
    # a block of TVMScript has its own variables
    """@T.prim_func
def product(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 8):
        with T.block("product"):
            vi, vk = T.axis.remap("SR", [i, k])
            T.writes(C[vi])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vk]
sch = tir.Schedule(product)
""",
    # decorators, branches, strings over several lines
    '''@pass_of(opt_level=1)
class Replacer:
    """Replace
what there is."""
    def transform_function(self, func, mod, ctx):
        class Inner(relay.ExprMutator):
            def visit_call(self, call):
                if call.op.name == "nn.relu":
                    return relay.clip(call.args[0])
                elif call.op.name == "exp":
                    return call
                else:
                    return None
        return Inner().visit(func)
changed = Replacer()(mod)
''',
]


def flat(text: str) -> str:
    return "\n".join(line.strip() for line in text.split("\n"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_blocks_are_indented_as_they_were(script: str) -> None:
    assert indented(flat(script)) == script.replace("        target=target", "        target=target")


def test_lines_from_the_first_indented_block_on_stay_as_they_are() -> None:
    rest = "@decorated\ndef g():\n    return 1\nfor i in y:\nz"
    assert indented("for i in x:\nprint(i)\n" + rest) == "for i in x:\n    print(i)\n" + rest


@pytest.mark.parametrize("text", ["for i in x:", "x = (", "try:\nx = 1\n", "y = x +\n", "return 1\n" * 700, ""])
def test_what_no_indentation_makes_python_stays_as_it_is(text: str) -> None:
    assert indented(text) is None


def test_a_nest_that_has_too_many_readings_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "if x:\n" * 3 + "y = 1\n" * 3
    assert indented(text) is not None
    monkeypatch.setattr("app.recorder.scripts.indentation.MAX_LOOKED", 50)
    assert indented(text) is None


def test_the_lessons_scripts_read_as_before() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted(LESSONS.glob("*.md"))]
    scripts = [block for text in texts for block in re.findall(r"```python \w+\n(.*?)```", text, re.S)]
    structured = [script for script in scripts if re.search(r":\n +", script)]
    equal = [ast.dump(ast.parse(indented(flat(script)) or "")) == ast.dump(ast.parse(script)) for script in structured]
    assert len(equal) > 6
    assert sum(equal) >= 0.8 * len(equal)  # where two readings are as likely, one is taken
