"""Hybrid scripts: each runs as Python on NumPy arrays, and what it describes computes the same, however scheduled."""

# ruff: noqa: F821

import numpy as np
import pytest

import compiler as tvm
from compiler import te
from compiler.classic.te import hybrid
from compiler.classic.te.hybrid import HybridError, HybridModule, script
from compiler.classic.te.hybrid.runtime import HYBRID_GLOBALS
from compiler.ir.error import ArgumentError, ScheduleError
from compiler.tir.interpreter import interpret

SCALE = 3


@script
def window(n, a):
    """Means of neighbours, by a local variable."""
    width = 3.0
    b = output_tensor((n - 2,), a.dtype)
    for i in range(n - 2):
        total = 0.0
        for j in range(3):
            total += a[i + j]
        total = total / width
        b[i] = -1.0 if i % 2 == 0 else total
    return b


@script
def branches(a):
    b = output_tensor((8, 6), "float32")
    t = allocate((6,), "float32")
    for i in range(8):
        for j in range(1, 5):
            t[j] = sqrt(abs_of[1] * a[i, j] * a[i, j])
            if t[j] > 0.5 and not (a[i, j] < 0 or j == 3):
                b[i, j] = t[j]
            elif 2 <= i < 4 or j >= 4:
                b[i, j] = max(t[j], 3.0, 1.0)
            else:
                b[i, j] = float32(i) * SCALE
        for k in vectorize(2):
            b[i, k * 5] = min(a[i, k], 0.25) ** 2
    return b


abs_of = [4.0, 1.0]


@script
def triangle(a):
    c = output_tensor((7, 7), "float32")
    for i in range(7):
        for j in range(7):
            c[i, j] = 0.0
    for i2 in range(7):
        for j2 in range(i2, 7):
            c[i2, j2] = a[i2] * a[j2]
    return c


@script
def two_outputs(a, b):
    c = output_tensor(a.shape, "int32")
    d = output_tensor(a.shape, a.dtype)
    for i in parallel(len(a)):
        c[i] = int32(popcount(a[i])) + b[1][1]
        for j in const_range(len(b)):
            d[i] = a[i] // 2 if j == 0 else d[i] + b[j][0]
    return c, d


@script
def caller(a):
    rows = window(10, a)
    d = output_tensor(rows.shape, rows.dtype)
    for i in range(8):
        d[i] = rows[i] + i
    return d


def _float(*shape):
    return np.random.default_rng(7).standard_normal(shape).astype("float32")


def _run(s, args, inputs, outputs):
    """Return what the machine code computes; the interpreter must agree."""
    by_interpreter = [np.zeros(tuple(int(e) for e in t.shape), t.dtype) for t in outputs]
    interpret(tvm.lower(s, args)["main"], [*inputs, *by_interpreter])
    built = [tvm.nd.array(np.zeros_like(x)) for x in by_interpreter]
    tvm.build(s, args)(*[tvm.nd.array(x) for x in inputs], *built)
    for x, y in zip(by_interpreter, built, strict=True):
        np.testing.assert_allclose(x, y.numpy(), rtol=1e-6)
    return by_interpreter


def _check(s, arguments, outputs, inputs, expected):
    results = _run(s, [*arguments, *outputs], inputs, outputs)
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-5, atol=1e-6)


def _case(function):
    if function is branches:
        return [te.placeholder((8, 6), name="a")], [_float(8, 6)], []
    if function is two_outputs:
        rng = np.random.default_rng(3)
        listed = [[1, 2], [3, 4]]
        return [te.placeholder((8,), "int32", name="a")], [rng.integers(0, 99, 8).astype("int32")], [listed]
    if function is triangle:
        return [te.placeholder((7,), name="a")], [_float(7)], []
    return [te.placeholder((10,), name="a")], [_float(10)], []


@pytest.mark.parametrize("function", [branches, triangle, two_outputs, caller], ids=lambda f: f.__name__)
def test_a_script_computes_what_it_says_in_python(function):
    tensors, arrays, lists = _case(function)
    outputs = function(*tensors, *lists)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    expected = function(*arrays, *lists)
    expected = expected if isinstance(expected, tuple) else (expected,)
    s = te.create_schedule(outputs[0].op)
    _check(s, tensors, outputs, arrays, expected)
    written = hybrid.build(s, tensors, outputs)
    again = written(*tensors)
    again = again if isinstance(again, list) else [again]
    _check(te.create_schedule(again[0].op), tensors, again, arrays, expected)
    by_text = written(*arrays)
    for x, y in zip(by_text if isinstance(by_text, tuple) else (by_text,), expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def test_extents_are_variables_and_text_is_saved(tmp_path):
    n = te.size_var("n")
    a = te.placeholder((n,), name="a")
    b = window(n, a)
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], 4)
    written = hybrid.build(s, [n, a], [b])
    written.save(tmp_path / "window.py")
    loaded = HybridModule()
    loaded.load(tmp_path / "window.py")
    x = _float(11)
    for function in (window, written, loaded):
        tensor = function(n, a)
        run = tvm.build(
            s if function is window else te.create_schedule(tensor.op), [n, a, b if function is window else tensor]
        )
        result = tvm.nd.array(np.zeros(9, "float32"))
        run(11, tvm.nd.array(x), result)
        np.testing.assert_allclose(result.numpy(), window(11, x), rtol=1e-5)
        np.testing.assert_allclose(function(11, x), window(11, x), rtol=1e-5)


def _outer():
    @script
    def outer(a, b):
        c = output_tensor((24, 20), a.dtype)
        for i in range(24):
            for j in range(20):
                c[i, j] = a[i] * b[j] + j
        return c

    a, b = te.placeholder((24,), name="a"), te.placeholder((20,), name="b")
    return outer, a, b, outer(a, b)


@pytest.mark.parametrize("seed", range(12))
def test_loops_are_split_fused_reordered_and_annotated(seed):
    rng = np.random.default_rng(seed)
    outer, a, b, c = _outer()
    s = te.create_schedule(c.op)
    stage = s[c]
    for _ in range(4):
        leaves = list(stage.leaf_iter_vars)
        at = int(rng.integers(len(leaves)))
        step = rng.integers(3)
        if step == 0:
            stage.split(leaves[at], int(rng.integers(1, 9)))
        elif step == 1 and at + 1 < len(leaves):
            stage.fuse(leaves[at], leaves[at + 1])
        else:
            stage.reorder(*[leaves[i] for i in rng.permutation(len(leaves))])
    stage.parallel(stage.leaf_iter_vars[0])
    x, y = _float(24), _float(20)
    _check(s, [a, b], [c], [x, y], [outer(x, y)])


def test_each_band_of_loops_is_changed_by_itself():
    tensors, arrays, _ = _case(branches)
    b = branches(*tensors)
    s = te.create_schedule(b.op)
    i, j, k = b.op.axis
    s[b].split(j, 3)
    s[b].unroll(k)
    outer, _ = s[b].split(i, 3)
    s[b].pragma(outer, "note", 1)
    _check(s, tensors, [b], arrays, [branches(*arrays)])
    lowered = str(tvm.lower(s, [*tensors, b], simple_mode=True))
    assert "i_outer" in lowered
    assert "j_outer" in lowered
    s[b].fuse(*s[b].leaf_iter_vars[-2:])
    with pytest.raises(ScheduleError, match="fuse: loops of a hybrid script must stand directly in each other"):
        tvm.lower(s, [*tensors, b])


def test_a_loop_stays_within_the_one_that_its_extent_depends_on():
    tensors, arrays, _ = _case(triangle)
    c = triangle(*tensors)
    *_, i, j = c.op.axis
    s = te.create_schedule(c.op)
    s[c].split(j, 2)
    _, inner = s[c].split(i, 3)
    _check(s, tensors, [c], arrays, [triangle(*arrays)])
    s[c].reorder(s[c].leaf_iter_vars[-2], inner)
    with pytest.raises(
        ScheduleError, match="reorder: the extent of axis 'j2' of stage 'triangle' depends on loop 'i2'"
    ):
        tvm.lower(s, [*tensors, c])


def test_stages_before_and_behind_a_script():
    outer, a, b, _ = _outer()
    before = te.compute((24,), lambda i: a[i] * 2.0, name="before")
    c = outer(before, b)
    out = te.compute((24, 20), lambda i, j: c[i, j] - 1.0, name="out")
    s = te.create_schedule(out.op)
    s[before].compute_at(s[c], c.op.axis[0])
    copy = s.cache_read(b, "local", [c])
    s[copy].compute_at(s[s[c].op], s[c].op.axis[0])
    x, y = _float(24), _float(20)
    _check(s, [a, b], [out], [x, y], [outer(x * 2, y) - 1])


def test_the_words_of_scripts_stay_out_of_the_users_names():
    assert not HYBRID_GLOBALS.keys() & window.__globals__.keys()


def _loop_of(text):
    source = "def f(a):\n    b = output_tensor((8,), 'float32')\n" + text + "    return b\n"
    return hybrid.source_to_op(source, [te.placeholder((8,), name="a")], {})


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("    while True:\n        b[0] = 1.0\n", 3, "While is not supported in hybrid script"),
        ("    b[0] = unheard\n", 3, "undeclared variable 'unheard'"),
        ("    for i in range(8):\n        t = a[i]\n    b[0] = t\n", 5, "'t' is used outside of the scope"),
        ("    for i in range(8):\n        i = 3\n", 4, "loop variable 'i' cannot be assigned"),
        ("    for i in range(0, 8, 2):\n        b[i] = 1.0\n", 3, "a loop must have one argument or two"),
        ("    b[0, 1] = 3.0\n", 3, "expected 1 index, got 2"),
        ("    for i in range(8):\n        break\n", 4, "Break is not supported"),
        ("    s = 0\n    s += a[0]\n", 4, "'s' holds int32, and cannot be assigned float32"),
        ("    for i in range(8):\n        c = output_tensor((8,), 'float32')\n", 4, "outside of loops and branches"),
        ("    c = output_tensor((8,), 'float32')\n", 1, "output 'c' must be returned"),
        ("    b[0] = x\n    x = 1.0\n", 3, "'x' is used before it is assigned"),
        ("    return a\n", 3, "outputs must be made by output_tensor"),
        ("    return 3\n", 3, "outputs must be made by output_tensor, got 3"),
        ("    return\n", 3, "the outputs must be returned at the end of the function"),
        ("    if a[0] > 0.0:\n        return b\n", 4, "the outputs must be returned at the end of the function"),
        ("    return b\n    b[0] = 1.0\n", 4, "nothing may follow the return of the outputs"),
        ("    for i, j in range(8):\n        pass\n", 3, r"a loop must be `for i in range\(…\)`"),
        ("    for i in a:\n        pass\n", 3, r"a loop must be `for i in range\(…\)`"),
        ("    for i in a.range(8):\n        pass\n", 3, r"a loop must be `for i in range\(…\)`"),
        ("    for i in range(8):\n        pass\n    else:\n        b[0] = 1.0\n", 6, "the else of a loop is not"),
        ("    i = 3\n    for i in range(8):\n        pass\n", 4, "loop variable 'i' is a variable already"),
        ("    for i in reversed(8):\n        pass\n", 3, "a loop must be one of .*, got 'reversed'"),
        ("    for i in range(8, step=2):\n        pass\n", 3, "a loop must have one argument or two"),
        ("    for i in range(2.0):\n        pass\n", 3, "the bounds of a loop must be integers, got float32"),
        ("    for i in bind('threadIdx.x'):\n        pass\n", 3, "bind: expected a thread axis and an extent"),
        ("    for i in bind(3, 8):\n        pass\n", 3, "bind: expected the name of a thread axis, got 3"),
        ("    for i in range(8):\n        for j in const_range(i):\n            pass\n", 4, "be a constant int, got i"),
        ("    x = y = a[0]\n", 3, "one target must be assigned at a time"),
        ("    b[0] = a\n", 3, "expected a scalar, got"),
        ("    b[0] = a + 1.0 if a else a\n", 3, "expected a scalar, got"),
        ("    a.shape = 3\n", 3, "a.shape cannot be assigned"),
        ("    x = a\n    x = b\n", 3, "'x' must be assigned once, as it is not a scalar"),
        ("    c[0] = allocate((8,), 'float32')\n", 3, "allocate: the tensor must be given a name of its own"),
        ("    c = allocate((8,), 'float32')\n    c = 3\n", 3, "allocate: the tensor must be given a name of its own"),
        ("    c = allocate(dtype='float32')\n", 3, "allocate: expected a shape and a data type"),
        ("    c = allocate((8,), 32)\n", 3, "allocate: expected a shape and a data type"),
        ("    c = allocate((8,), 'float32', 3)\n", 3, "allocate: expected a shape and a data type"),
        ("    c = allocate((8,), where='local')\n", 3, "allocate: expected a shape and a data type"),
        ("    b[0] = {}\n", 3, "Dict is not supported in hybrid script"),
        ("    b[0] = b'x'\n", 3, "a constant of type bytes is not supported"),
        ("    b[0] = a.name\n", 3, "only the attributes shape and dtype of a tensor are supported, got 'name'"),
        ("    b[0] = a[0] @ a[1]\n", 3, "operator MatMult is not supported in hybrid script"),
        ("    b[0] = 1.0 if a[0] is a[1] else 2.0\n", 3, "operator Is is not supported in hybrid script"),
        ("    b[0] = a[0](3)\n", 3, r"a\[0\] is not a function"),
        ("    b[0] = len(3)\n", 3, "len: expected a tensor or a list, got 3"),
        ("    b[0] = max(a[0])\n", 3, "min and max compare two values or more, got 1"),
    ],
)
def test_errors_show_the_line(text, line, message):
    with pytest.raises(HybridError, match=message) as raised:
        _loop_of(text)
    assert raised.value.line == line


def test_a_script_is_a_function_that_returns_its_outputs():
    a = te.placeholder((8,), name="a")
    with pytest.raises(ArgumentError, match="a function must be defined, got none"):
        hybrid.source_to_op("x = 3\n", [a], {})
    with pytest.raises(TypeError, match="f takes 1 arguments, got 2"):
        hybrid.source_to_op("def f(a):\n    return a\n", [a, a], {})
    with pytest.raises(HybridError, match="function 'f' must return its outputs"):
        hybrid.source_to_op("def f(a):\n    b = output_tensor((8,), 'float32')\n", [a], {})
    with pytest.raises(ArgumentError, match=r"hybrid\.script: expected a function, got 3"):
        hybrid.script(3)
    with pytest.raises(ArgumentError, match="there is no script yet; load one"):
        hybrid.HybridModule()(a)


def test_each_output_of_another_script_has_a_name_of_its_own():
    for text, message in (
        ("x = two_outputs(a, ((1, 2), (3, 4)))", "two_outputs has 2 outputs, which need a name each"),
        ("b[0], y = two_outputs(a, ((1, 2), (3, 4)))", "two_outputs: each output must be given a name of its own"),
        ("x, y = two_outputs(a, ((1, 2), (3, 4)))\n    x = 3", "each output must be given a name of its own"),
    ):
        source = f"def f(a):\n    b = output_tensor((8,), 'int32')\n    {text}\n    return b\n"
        with pytest.raises(HybridError, match=message):
            hybrid.source_to_op(source, [te.placeholder((8,), "int32", name="a")], {"two_outputs": two_outputs})


def test_arguments_are_tensors_or_arrays():
    with pytest.raises(ValueError, match="tensors or NumPy arrays, got both"):
        two_outputs(te.placeholder((8,), "int32"), np.zeros((2, 2)))
    with pytest.raises(TypeError, match="missing a required argument"):
        window(3)
