"""Random functions of several blocks, as TVMScript.

A function has stages, each of which computes a buffer from earlier ones: elementwise, by a reduction, with padding, in
a triangle of the loops, under a condition or in branches, several elements at once, in another order, or in blocks
within blocks.  All values are small whole numbers, so that
sums are the same in any order.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from compiler.tir.script import from_source
from compiler.tir.statements.function import PrimFunc
from tests.properties.guarded import without_contents

__all__ = ["BlockProgram"]

_EXTENTS = (1, 2, 3, 4, 5, 6, 8, 12)
_LIMIT = 1000
_SPATIAL, _REDUCED = "spatial", "reduce"


class _Array(NamedTuple):
    name: str
    shape: tuple[int, ...]
    bound: int


class _Axis(NamedTuple):
    name: str
    extent: int
    kind: str = _SPATIAL


class BlockProgram:
    """A random function whose parameters are some inputs and results.

    Parameters
    ----------
    seed : int
        The same function for the same number.

    Attributes
    ----------
    func : PrimFunc
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._dtype = self._random.choice(("float32", "int32", "int16", "float64"))
        self._inputs = [self._new("A", self._shape(), 4) for _ in range(self._random.randint(1, 2))]
        self._results: list[_Array] = []
        self._inner: list[_Array] = []
        self._lines: list[str] = []
        stages = (self._elementwise, self._elementwise, self._reduction, self._reduction, self._padding)
        for _ in range(self._random.randint(1, 4)):
            others = (self._triangle, self._some_rows, self._branches, self._several, self._reversed, self._nested)
            self._random.choice((*stages, *others))()
        self._results.append(self._inner.pop())
        self.func: PrimFunc = from_source(self.text())

    def text(self) -> str:
        """Return the function as TVMScript."""
        parameters = ", ".join(f"{a.name}: {self._type('T.Buffer', a)}" for a in (*self._inputs, *self._results))
        inner = [f"{a.name} = {self._type('T.alloc_buffer', a)}" for a in self._inner]
        lines = "\n".join(f"    {line}" for line in (*inner, *self._lines))
        return f"@T.prim_func\ndef main({parameters}):\n{lines}\n"

    def arrays(self) -> list[NDArray[np.generic]]:
        """Return whole numbers for the inputs, and results that hold none."""
        rng = np.random.default_rng(0)
        inputs = [rng.integers(-4, 5, a.shape).astype(self._dtype) for a in self._inputs]
        return [*inputs, *(without_contents(a.shape, self._dtype) for a in self._results)]

    # words

    def _type(self, word: str, array: _Array) -> str:
        return f'{word}({array.shape}, "{self._dtype}")'

    def _new(self, letter: str, shape: tuple[int, ...], bound: int) -> _Array:
        name = f"{letter}{self._random.randrange(10**6)}"
        return _Array(name, shape, bound)

    def _shape(self) -> tuple[int, ...]:
        return tuple(self._random.choice(_EXTENTS) for _ in range(self._random.randint(1, 3)))

    def _number(self, value: int) -> str:
        return f"T.{self._dtype}({value})"

    def _source(self) -> _Array:
        return self._random.choice([*self._inputs, *self._inner, *self._inner])

    def _index(self, axes: list[_Axis], extent: int) -> str:
        """Return an index below an extent."""
        axis = self._random.choice(axes)
        same = [other for other in axes if other.extent == extent]
        if same and self._random.random() < 0.75:
            return self._random.choice(same).name
        if axis.extent <= extent:
            start = self._random.randint(0, extent - axis.extent)
            forms = [f"{axis.name} + {start}", f"{extent - 1} - {axis.name}"]
        else:
            forms = [f"{axis.name} // {-(-axis.extent // extent)}", f"{axis.name} % {extent}"]
        return self._random.choice([*forms, f"T.min({axis.name}, {extent - 1})"])

    def _value(self, axes: list[_Axis]) -> tuple[str, int]:
        """Return an element, or what two of them make, and how large it may be."""
        array, other = self._source(), self._source()
        a, b = (f"{s.name}[{', '.join(self._index(axes, d) for d in s.shape)}]" for s in (array, other))
        kind = self._random.choice(("one", "one", "sum", "difference", "largest", "choice"))
        bound = array.bound + other.bound
        if kind == "one" or bound > _LIMIT:
            return a, array.bound
        if kind == "choice":
            axis = self._random.choice(axes)
            return f"T.if_then_else({axis.name} < {self._random.randint(0, axis.extent)}, {a}, {b})", bound
        forms = {"sum": f"{a} + {b}", "difference": f"{a} - {b}", "largest": f"T.max({a}, {b})"}
        return forms[kind], bound

    def _nest(self, name: str, axes: list[_Axis], body: list[str], where: str = "", plain: bool = False) -> None:
        """Write loops, some of them split or fused, around a block."""
        bindings, loops = [], []
        for axis in axes:
            loop = f"{axis.name[1:]}_{len(self._lines)}"
            if plain or axis.extent < 3 or self._random.random() < 0.7:
                loops.append((loop, axis.extent))
                value = loop
            else:
                loops += [(f"{loop}_0", -(-axis.extent // 2)), (f"{loop}_1", 2)]
                value = f"{loop}_0 * 2 + {loop}_1"
                where = " and ".join(part for part in (where, f"{value} < {axis.extent}") if part)
            bindings.append(f"{axis.name} = T.axis.{axis.kind}({axis.extent}, {value})")
        if where:
            bindings.append(f"T.where({where})")
        self._lines += [f"{'    ' * at}for {loop} in range({extent}):" for at, (loop, extent) in enumerate(loops)]
        self._block(len(loops), name, [*bindings, *body])

    def _block(self, depth: int, name: str, body: list[str]) -> None:
        self._lines.append(f'{"    " * depth}with T.block("{name}"):')
        self._lines += [f"{'    ' * (depth + 1)}{line}" for line in body]

    @staticmethod
    def _axes(shape: tuple[int, ...]) -> list[_Axis]:
        return [_Axis(f"v{letter}", extent) for letter, extent in zip("ijk", shape, strict=False)]

    # stages

    def _stage(self, shape: tuple[int, ...], bound: int) -> tuple[_Array, str]:
        """Return a buffer to compute, and its element."""
        array = self._new("B", shape, max(bound, 1))
        self._inner.append(array)
        return array, f"{array.name}[{', '.join(axis.name for axis in self._axes(shape))}]"

    def _elementwise(self) -> None:
        axes = self._axes(self._source().shape)
        value, bound = self._value(axes)
        array, element = self._stage(tuple(axis.extent for axis in axes), bound)
        self._nest(array.name, axes, [f"{element} = {value}"])

    def _reduction(self) -> None:
        shape = self._shape()[:2]
        axes = [*self._axes(shape), _Axis("vx", self._random.choice(self._source().shape), _REDUCED)]
        value, bound = self._value(axes)
        is_sum = bound * axes[-1].extent <= _LIMIT
        array, element = self._stage(shape, bound * axes[-1].extent if is_sum else bound)
        first = self._number(0) if is_sum else f'T.min_value("{self._dtype}")'
        update = f"{element} + ({value})" if is_sum else f"T.max({element}, {value})"
        self._nest(array.name, axes, ["with T.init():", f"    {element} = {first}", f"{element} = {update}"])

    def _padding(self) -> None:
        source = self._source()
        axes = self._axes(tuple(extent + 3 for extent in source.shape))
        inside = " and ".join(f"{a.name} >= 1 and {a.name} < {a.extent - 2}" for a in axes)
        value = f"{source.name}[{', '.join(f'{axis.name} - 1' for axis in axes)}]"
        array, element = self._stage(tuple(axis.extent for axis in axes), source.bound)
        self._nest(array.name, axes, [f"{element} = T.if_then_else({inside}, {value}, {self._number(0)})"])

    def _filled(self, shape: tuple[int, ...]) -> tuple[_Array, str, str]:
        """Write a stage that sets all elements; return its buffer, an element of it, and a value for it."""
        axes = self._axes(shape)
        value, bound = self._value(axes)
        array, element = self._stage(shape, bound)
        self._nest(f"{array.name}_fill", axes, [f"{element} = {self._number(1)}"], plain=True)
        return array, element, value

    def _triangle(self) -> None:
        extent = self._random.choice(_EXTENTS)
        array, element, value = self._filled((extent, extent))
        self._lines += [f"for i in range({extent}):", "    for j in range(i + 1):"]
        bindings = [f"vi = T.axis.spatial({extent}, i)", f"vj = T.axis.spatial({extent}, j)"]
        self._block(2, array.name, [*bindings, f"{element} = {value}"])

    def _some_rows(self) -> None:
        array, element, value = self._filled(self._shape())
        loop = f"i_{len(self._lines)}"
        condition = self._random.choice((f"{loop} >= {self._random.randrange(array.shape[0])}", f"{loop} % 2 == 0"))
        self._nest(array.name, self._axes(array.shape), [f"{element} = {value}"], condition, plain=True)

    def _branches(self) -> None:
        if self._random.random() < 0.5:
            array, element, value = self._filled(self._shape())
            other = []
        else:
            axes = self._axes(self._shape())
            (value, bound), (instead, larger) = self._value(axes), self._value(axes)
            array, element = self._stage(tuple(axis.extent for axis in axes), max(bound, larger))
            other = ["else:", f"    {element} = {instead}"]
        axis = self._random.choice(self._axes(array.shape))
        condition = self._random.choice(
            (f"{axis.name} < {self._random.randint(0, axis.extent)}", f"{axis.name} % 2 == 0")
        )
        self._nest(array.name, self._axes(array.shape), [f"if {condition}:", f"    {element} = {value}", *other])

    def _several(self) -> None:
        """Write a block that stores two rows, side by side or half of all rows apart."""
        half, *others = self._axes(self._shape())
        axes = [half, *others]
        value, bound = self._value(axes)
        array, element = self._stage((half.extent * 2, *(axis.extent for axis in others)), bound)
        rest = element.partition(half.name)[2]
        beside = ["for u in range(2):", f"    {array.name}[{half.name} * 2 + u{rest} = {value}"]
        apart = [f"{array.name}[{half.name}{add}{rest} = {value}" for add in ("", f" + {half.extent}")]
        self._nest(array.name, axes, self._random.choice((beside, apart)))

    def _reversed(self) -> None:
        axes = self._axes(self._shape())
        value, bound = self._value(axes)
        array, _ = self._stage(tuple(axis.extent for axis in axes), bound)
        turned = ", ".join(f"{axis.extent - 1} - {axis.name}" for axis in axes)
        self._nest(array.name, axes, [f"{array.name}[{turned}] = {value}"])

    def _nested(self) -> None:
        shape = (self._random.choice((4, 8)), self._random.choice(_EXTENTS))
        axes = self._axes(shape)
        value, bound = self._value(axes)
        array, element = self._stage(shape, bound)
        self._lines += [f"for o in range({shape[0] // 4}):"]
        inner = [
            f"for i, j in T.grid(4, {shape[1]}):",
            f'    with T.block("{array.name}"):',
            f"        vi = T.axis.spatial({shape[0]}, vo * 4 + i)",
            f"        vj = T.axis.spatial({shape[1]}, j)",
            f"        {element} = {value}",
        ]
        self._block(1, f"{array.name}_outer", [f"vo = T.axis.spatial({shape[0] // 4}, o)", *inner])
