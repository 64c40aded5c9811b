"""Random scripts of tensor expressions with schedules, in the words that classic TVM and this compiler share.

A script defines tensors, schedules them, and leaves ``s`` and ``args`` (inputs first, the output last).  It imports
nothing: whoever runs it gives it ``tvm``, ``te`` and ``tir``.  Elements are small whole numbers, so that every order of
summation gives the same result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

__all__ = ["Script", "te_script"]


@dataclass
class Stage:
    """A tensor that a script computes: its name, shape, the names of its loops, which of them reduce."""

    name: str
    shape: tuple[int, ...]
    loops: list[str]
    reducing: list[str]
    inputs: list[str]
    inlinable: bool = True
    split_in_two: bool = False


@dataclass
class Script:
    """The lines of a script, and what they have defined so far."""

    lines: list[str] = field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    stages: list[Stage] = field(default_factory=list)
    parts: dict[str, Stage] = field(default_factory=dict)
    """What each step of a scan computes, by the scan."""

    @property
    def opaque(self) -> set[str]:
        """The tensors that read their inputs as they are, not by elements."""
        return {s.name for s in self.stages if not s.loops and not s.inlinable}

    def line_of(self, name: str) -> str:
        """The line that defines a tensor."""
        return next(line for line in self.lines if line.startswith(f"{name} = "))

    @property
    def text(self) -> str:
        """The whole script."""
        return "\n".join(self.lines) + "\n"


DTYPES = ("int32", "float32", "int8", "float64", "int64", "int16", "uint8", "uint32", "float16")
"""What elements are of; sums of products are exact in float16 only as long as they are not multiplied again."""


def te_script(seed: int) -> str:
    """Return the random script that belongs to a number.

    Parameters
    ----------
    seed : int

    Returns
    -------
    str
    """
    draw = Random(seed)
    script = Script()
    dtype = draw.choice(DTYPES)
    for name in "AB":
        shape = (draw.randint(2, 9), draw.randint(2, 9))
        script.shapes[name] = shape
        script.lines.append(f"{name} = te.placeholder({shape}, {dtype!r}, name={name!r})")
    for number in range(1 if dtype == "float16" else draw.randint(1, 3)):
        _define(draw, script, f"T{number}")
    _schedule(draw, script)
    return script.text


# definitions


def _define(draw: Random, script: Script, name: str) -> None:
    made = list(script.shapes)
    a, b = draw.choice(made[-2:]), draw.choice(made)
    while not draw.choice(DEFINITIONS)(draw, script, name, a, b):
        pass


def _add(script: Script, name: str, shape: tuple[int, ...], body: str, inputs: set[str], reduce: str = "") -> bool:
    """Add a tensor; ``reduce`` is the name of its reduction axis and the extent of that."""
    axes = [f"i{d}" for d in range(len(shape))]
    if reduce:
        script.lines.append(f'k{name} = te.reduce_axis((0, {reduce}), name="k")')
    script.lines.append(f"{name} = te.compute({shape}, lambda {', '.join(axes)}: {body}, name={name!r})")
    script.shapes[name] = shape
    loops = [f"{name}.op.axis[{d}]" for d in range(len(shape))]
    reducing = [f"s[{name}].op.reduce_axis[0]"] if reduce or "te.sum" in body else []
    script.stages.append(Stage(name, shape, loops + reducing, reducing, sorted(inputs)))
    return True


def _elementwise(draw: Random, script: Script, name: str, a: str, b: str) -> bool:
    shape = script.shapes[a]
    factor = draw.randint(0 if "uint" in script.lines[0] else -3, 3)
    at = ", ".join(f"i{d}" for d in range(len(shape)))
    if script.shapes[b] == shape:
        return _add(script, name, shape, f"{a}[{at}] * {factor} + {b}[{at}]", {a, b})
    return _add(script, name, shape, f"te.max({a}[{at}], te.const({factor}, {a}.dtype))", {a})


def _transposed(draw: Random, script: Script, name: str, a: str, b: str) -> bool:
    shape = script.shapes[a]
    return len(shape) == 2 and _add(script, name, shape[::-1], f"{a}[i1, i0] - te.const(1, {a}.dtype)", {a})


def _padded(draw: Random, script: Script, name: str, a: str, b: str) -> bool:
    shape = script.shapes[a]
    if len(shape) != 2:
        return False
    before, after = draw.randint(0, 2), draw.randint(0, 2)
    condition = f"tir.all(i0 >= {before}, i0 < {shape[0] + before})"
    body = f"tir.if_then_else({condition}, {a}[i0 - {before}, i1], te.const(7, {a}.dtype))"
    return _add(script, name, (shape[0] + before + after, shape[1]), body, {a})


def _window(draw: Random, script: Script, name: str, a: str, b: str) -> bool:
    shape = script.shapes[a]
    if len(shape) != 2:
        return False
    stride, width = draw.randint(1, 2), draw.randint(1, min(3, shape[1]))
    columns = (shape[1] - width) // stride + 1
    body = f"te.sum({a}[i0, i1 * {stride} + k{name}], axis=k{name})"
    return _add(script, name, (shape[0], columns), body, {a}, str(width))


def _rows(draw: Random, script: Script, name: str, a: str, b: str) -> bool:
    shape = script.shapes[a]
    if len(shape) != 2:
        return False
    reducer = draw.choice(["sum", "max", "min"])
    where = f", where=k{name} % 2 == 0" if draw.random() < 0.2 and reducer == "sum" else ""
    return _add(script, name, shape[:1], f"te.{reducer}({a}[i0, k{name}], axis=k{name}{where})", {a}, str(shape[1]))


def _product(draw: Random, script: Script, name: str, a: str, b: str) -> bool:
    first, second = script.shapes[a], script.shapes[b]
    if len(first) != 2 or len(second) != 2:
        return False
    depth = min(first[1], second[1])
    body = f"te.sum({a}[i0, k{name}] * {b}[i1, k{name}], axis=k{name})"
    return _add(script, name, (first[0], second[0]), body, {a, b}, str(depth))


def _triangular(draw: Random, script: Script, name: str, a: str, b: str) -> bool:
    """The sum of what comes before an element; its reduction axis is made for the element."""
    shape = script.shapes[a]
    if len(shape) != 1:
        return False
    script.lines += [
        f"def before_{name}(i0):",
        '    k = te.reduce_axis((0, i0 + 1), name="k")',
        f"    return te.sum({a}[k], axis=k)",
        f"{name} = te.compute({shape}, before_{name}, name={name!r})",
    ]
    script.shapes[name] = shape
    reducing = [f"s[{name}].op.reduce_axis[0]"]
    script.stages.append(Stage(name, shape, [f"{name}.op.axis[0]", *reducing], reducing, [a]))
    return True


def _scanned(draw: Random, script: Script, name: str, a: str, b: str) -> bool:
    """RunningThread sums of the rows, or of what was computed two rows before."""
    shape = script.shapes[a]
    if len(shape) != 2:
        return False
    far = draw.choice([1, min(2, shape[0])])
    step = (
        f"te.max({name}_s[t - {far}, i], {a}[t, i])" if draw.random() < 0.3 else f"{name}_s[t - {far}, i] + {a}[t, i]"
    )
    script.lines += [
        f"{name}_s = te.placeholder({shape}, {a}.dtype, name='{name}_s')",
        f"{name}_b = te.compute(({far}, {shape[1]}), lambda t, i: {a}[t, i], name='{name}_b')",
        f"{name}_u = te.compute({shape}, lambda t, i: {step}, name='{name}_u')",
        f"{name} = te.scan({name}_b, {name}_u, {name}_s, name={name!r})",
    ]
    script.shapes[name] = shape
    script.stages.append(Stage(name, shape, [], [], [a], inlinable=False))
    inner = Stage(f"{name}_u", shape, [f"{name}_u.op.axis[1]"], [], [a], inlinable=False)
    script.parts[name] = inner
    return True


def _extern(draw: Random, script: Script, name: str, a: str, b: str) -> bool:
    """Loops of the IR builder, which write every row and the one before it."""
    shape = script.shapes[a]
    if len(shape) != 2:
        return False
    script.lines += [
        f"def loops_{name}(ins, outs):",
        "    ib = tir.ir_builder.create()",
        "    x, y = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])",
        f"    with ib.for_range(0, {shape[0]}, name='i') as i:",
        f"        with ib.for_range(0, {shape[1]}, name='j') as j:",
        f"            y[i, j] = x[i, {shape[1] - 1} - j]",
        "            with ib.if_scope(i > 0):",
        "                y[i, j] = y[i - 1, j] + x[i, j]",
        "    return ib.get()",
        f"{name} = te.extern({shape}, [{a}], loops_{name}, name={name!r}, dtype={a}.dtype)",
    ]
    script.shapes[name] = shape
    script.stages.append(Stage(name, shape, [], [], [a], inlinable=False))
    return True


def _first_largest(draw: Random, script: Script, name: str, a: str, b: str) -> bool:
    """The place of the first largest element of each row, or the element: a reduction of pairs."""
    shape = script.shapes[a]
    if len(shape) != 2:
        return False
    result = draw.choice([0, 1])
    script.lines += [
        f"def better_{name}(x, y):",
        "    first = tir.any(x[1] > y[1], tir.all(x[1].equal(y[1]), x[0] < y[0]))",
        "    return tir.Select(first, x[0], y[0]), tir.Select(x[1] >= y[1], x[1], y[1])",
        f"largest_{name} = te.comm_reducer(",
        f"    better_{name}, lambda i, v: (tir.const(100, i), te.min_value(v)), name='largest')",
        f"k{name} = te.reduce_axis((0, {shape[1]}), name='k')",
        f"{name} = te.compute(({shape[0]},), lambda i: largest_{name}((k{name}.var, {a}[i, k{name}]), axis=k{name}), "
        f"name={name!r})[{result}]",
    ]
    script.shapes[name] = shape[:1]
    reducing = [f"s[{name}].op.reduce_axis[0]"]
    script.stages.append(Stage(name, shape[:1], [f"{name}.op.axis[0]", *reducing], reducing, [a]))
    return True


def _gathered(draw: Random, script: Script, name: str, a: str, b: str) -> bool:
    """Elements at places that are data; none of uint32, which classic TVM takes to be positive as an int32, too."""
    shape = script.shapes[b]
    rows = script.shapes[a][0]
    if "uint32" in script.lines[0]:
        return False
    at = ", ".join(f"i{d}" for d in range(len(shape)))
    rest = ", 0" * (len(script.shapes[a]) - 1)
    body = f"{a}[tir.floormod({b}[{at}].astype('int32'), {rows}){rest}]"
    return _add(script, name, shape, body, {a, b})


def _compared(draw: Random, script: Script, name: str, a: str, b: str) -> bool:
    """Numbers chosen by truth values, which are computed as a tensor."""
    shape = script.shapes[a]
    at = ", ".join(f"i{d}" for d in range(len(shape)))
    _add(script, f"{name}_t", shape, f"{a}[{at}] > te.const(1, {a}.dtype)", {a})
    chosen = f"tir.Select({name}_t[{at}], {a}[{at}], te.const({draw.randint(0, 5)}, {a}.dtype))"
    del script.shapes[f"{name}_t"]
    return _add(script, name, shape, chosen, {a, f"{name}_t"})


DEFINITIONS: list[Callable[[Random, Script, str, str, str], bool]] = [
    _elementwise,
    _elementwise,
    _transposed,
    _padded,
    _window,
    _rows,
    _product,
    _triangular,
    _scanned,
    _extern,
    _first_largest,
    _gathered,
    _compared,
]


# schedules


def _schedule(draw: Random, script: Script) -> None:
    output = script.stages[-1]
    script.lines.append(f"s = te.create_schedule({output.name}.op)")
    needed = _needed(script, output)
    places: dict[str, list[str]] = {}
    for stage in reversed([stage for stage in script.stages if stage.name in needed]):
        readers = [s for s in script.stages if s.name in needed and stage.name in s.inputs]
        inlined = stage.inlinable and not stage.reducing and not any(r.name in script.opaque for r in readers)
        if stage is not output and len(readers) == 1 and inlined and draw.random() < 0.2:
            script.lines.append(f"s[{stage.name}].compute_inline()")
            continue
        _split_in_two(draw, script, stage)
        _transform(draw, script, script.parts.get(stage.name, stage))
        places[stage.name] = [] if stage.split_in_two else stage.loops
        reader = readers[0].name if len(readers) == 1 else ""
        if places.get(reader) and draw.random() < 0.6:
            script.lines.append(f"s[{stage.name}].compute_at(s[{reader}], {draw.choice(places[reader])})")
    if draw.random() < 0.3:
        near = [t for t in output.inputs if t in ("A", "B")]
        if near:
            script.lines.append(f's.cache_read({near[0]}, "local", [{output.name}])')
    script.lines.append(f"args = [A, B, {output.name}]")


def _split_in_two(draw: Random, script: Script, stage: Stage) -> None:
    """Compute a stage into a local tensor first, or factor its reduction; the loops are then those of the last part."""
    triangular = f"before_{stage.name}(" in script.text
    if not stage.loops or "[" in script.line_of(stage.name).rpartition(")")[2] or triangular:
        return
    way = draw.random()
    if way < 0.15:
        script.lines.append(f'{stage.name}_c = s.cache_write({stage.name}, "local")')
        stage.loops = [axis for axis in stage.loops if axis not in stage.reducing]
        stage.reducing = []
        stage.split_in_two = True
    elif way < 0.45 and stage.reducing:
        script.lines.append(
            f"{stage.name}_ko, {stage.name}_ki = s[{stage.name}].split({stage.reducing[0]}, {draw.randint(1, 4)})"
        )
        axis = draw.choice(["o", "i"])
        at = draw.choice(["", f", {draw.randint(0, len(stage.shape))}"])
        script.lines.append(f"{stage.name}_rf = s.rfactor({stage.name}, {stage.name}_k{axis}{at})")
        stage.loops = [f"s[{stage.name}].op.axis[{d}]" for d in range(len(stage.shape))] + stage.reducing
        stage.split_in_two = True


def _needed(script: Script, output: Stage) -> set[str]:
    by_name = {stage.name: stage for stage in script.stages}
    needed, todo = set(), [output.name]
    while todo:
        name = todo.pop()
        if name in by_name and name not in needed:
            needed.add(name)
            todo += by_name[name].inputs
    return needed


def _transform(draw: Random, script: Script, stage: Stage) -> None:
    """Apply a few primitives to the loops of a stage, and keep the names of the loops that come of it."""
    for step in range(draw.randint(0, 4) if stage.loops else 0):
        kind = draw.choice(["split", "split", "fuse", "reorder", "annotate"])
        if kind == "split":
            axis = draw.choice(stage.loops)
            outer, inner = f"{stage.name}_o{step}", f"{stage.name}_i{step}"
            by = draw.choice(["factor", "nparts"])
            script.lines.append(f"{outer}, {inner} = s[{stage.name}].split({axis}, {by}={draw.randint(1, 5)})")
            at = stage.loops.index(axis)
            stage.loops[at : at + 1] = [outer, inner]
            if axis in stage.reducing:
                stage.reducing += [outer, inner]
        elif kind == "fuse" and len(stage.loops) > 1:
            at = draw.randrange(len(stage.loops) - 1)
            first, second = stage.loops[at : at + 2]
            fused = f"{stage.name}_f{step}"
            script.lines.append(f"{fused} = s[{stage.name}].fuse({first}, {second})")
            stage.loops[at : at + 2] = [fused]
            if first in stage.reducing or second in stage.reducing:
                stage.reducing.append(fused)
        elif kind == "reorder" and "before_" + stage.name not in script.text:
            draw.shuffle(stage.loops)
            script.lines.append(f"s[{stage.name}].reorder({', '.join(stage.loops)})")
        elif kind == "annotate":
            free = [axis for axis in stage.loops if axis not in stage.reducing]
            if free:
                script.lines.append(f"s[{stage.name}].{draw.choice(['unroll', 'parallel'])}({draw.choice(free)})")
