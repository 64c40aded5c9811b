"""The functions over arrays of tensors, in Relay's text format."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

MAX_RANK = 6
"""The largest rank that a tensor of unknown rank has."""
MAX_CONCATENATED_RANK = 4


@dataclass(frozen=True)
class Names:
    """How the functions of one kind of tensor are called."""

    of: Callable[[str], str]
    """From the name that is common to all kinds to the one of this kind."""
    tensor: str
    parts: str
    """The type of their parts along the first axis, of any length."""
    write_parts: str
    """The function that writes such a part into an array."""


def dims_text(shape: Sequence[object]) -> str:
    """Return a shape as the text format has it."""
    return f"({', '.join(str(extent) for extent in shape)})"


def dynamic_type(n: Names, dtype: str) -> str:
    """Return the type of tensors of unknown rank."""
    made = [f"{n.of(f'tensor{r}')}(Tensor[{dims_text('?' * r)}, {dtype}])," for r in range(MAX_RANK + 1)]
    return f"type {n.of('tensor_t')} {{ {n.of('tensor_nil')}, {' '.join(made)} }}"


def common_functions(n: Names) -> str:
    """Return what needs no knowledge of the tensors: making, reading and writing."""
    array, nil = n.of("tensor_array"), n.of("tensor_nil")
    return f"""
    def @{array}(%n: int32) -> List[{n.tensor}] {{
      if (%n == 0) {{ Nil }} else {{ Cons({nil}, @{array}(%n - 1)) }}
    }}
    def @{n.of("tensor_array_read")}(%array: List[{n.tensor}], %i: int32) -> {n.tensor} {{ @nth(%array, %i) }}
    def @{n.of("tensor_array_write")}(%array: List[{n.tensor}], %i: int32, %v: {n.tensor}) -> List[{n.tensor}] {{
      @update(%array, %i, %v)
    }}
    """


def joining(n: Names, concatenate: str) -> str:
    """Return the concatenation of all tensors of an array, whose first axes may differ."""
    concat = n.of("tensor_array_concat")
    return f"""
    def @{concat}(%array: List[{n.parts}]) -> {n.parts} {{
      match? (%array) {{
        Cons(%head, %tail) => {{
          match? (%tail) {{
            Nil => %head,
            _ => @{concatenate}(%head, @{concat}(%tail)),
          }}
        }},
      }}
    }}
    """


def stacking(n: Names, stacked: str, concatenate: str) -> str:
    """Return the functions that make one tensor of an array: of all of its tensors, or of those at some places."""
    stack, gather = n.of("tensor_array_stack"), n.of("tensor_array_gather")
    helper = n.of("tensor_array_gather_helper")
    arguments = f"%array: List[{n.tensor}]"
    return f"""
    def @{stack}({arguments}) -> {stacked} {{
      %0 = @map(@{n.of("tensor_expand_dims")}, %array);
      @foldl(@{concatenate}, @hd(%0), @tl(%0))
    }}
    def @{helper}({arguments}, %taken: List[{n.tensor}], %left: int32, %places: Tensor[(?), int32]) -> {stacked} {{
      if (%left == 0) {{ @{stack}(%taken) }} else {{
        %1 = %left - 1;
        %2 = take(%places, %1);
        %3 = @{n.of("tensor_array_read")}(%array, %2);
        @{helper}(%array, Cons(%3, %taken), %1, %places)
      }}
    }}
    def @{gather}({arguments}, %places: Tensor[(?), int32]) -> {stacked} {{
      %4 = shape_of(%places, dtype="int32");
      @{helper}(%array, Nil, take(%4, 0), %places)
    }}
    """


def scatter(n: Names, places: str = "(?)", mark: str = "") -> str:
    """Return the function that writes tensors at some places of an array.

    ``mark`` tells the helper for places of a stated shape from the general one.
    """
    name, helper = n.of("tensor_array_scatter"), n.of("tensor_array_scatter_helper") + mark
    array, places = f"List[{n.tensor}]", f"Tensor[{places}, int32]"
    return f"""
    def @{helper}(%array: {array}, %i: int32, %end: int32, %places: {places}, %values: {array}) -> {array} {{
      if (%i == %end) {{ %array }} else {{
        %0 = take(%places, %i);
        %1 = @{n.of("tensor_array_read")}(%values, %i);
        %2 = @{n.of("tensor_array_write")}(%array, %0, %1);
        @{helper}(%2, %i + 1, %end, %places, %values)
      }}
    }}
    def @{name}(%array: {array}, %places: {places}, %values: {array}) -> {array} {{
      %3 = shape_of(%places, dtype="int32");
      @{helper}(%array, 0, take(%3, 0), %places, %values)
    }}
    """


def split(n: Names, value: str = "", take: str = "", lengths: str = "(?)", mark: str = "") -> str:
    """Return the function that writes the parts of a tensor, whose lengths are given, into an array."""
    name, helper = n.of("tensor_array_split"), n.of("ta_split_helper") + mark
    value, take = value or n.tensor, take or n.of("tensor_take")
    array, lengths = f"List[{n.parts}]", f"Tensor[{lengths}, int32]"
    return f"""
    def @{helper}(
      %array: {array}, %value: {value}, %offset: int32, %i: int32, %end: int32, %lengths: {lengths}
    ) -> {array} {{
      if (%i == %end) {{ %array }} else {{
        %0 = %offset + take(%lengths, %i);
        %1 = @{helper}(%array, %value, %0, %i + 1, %end, %lengths);
        @{n.write_parts}(%1, %i, @{take}(%value, %offset, %0))
      }}
    }}
    def @{name}(%array: {array}, %value: {value}, %lengths: {lengths}) -> {array} {{
      %2 = shape_of(%lengths, dtype="int32");
      @{helper}(%array, %value, 0, 0, take(%2, 0), %lengths)
    }}
    """


def unstacking(name: str, helper: str, value: str, part: str, constructor: str) -> str:
    """Return the function that makes an array of the parts of a tensor along its first axis."""
    return f"""
    def @{helper}(%i: int32, %end: int32, %value: {value}) -> List[{part}] {{
      if (%i == %end) {{ Nil }} else {{
        Cons({constructor}(take(%value, %i, axis=0)), @{helper}(%i + 1, %end, %value))
      }}
    }}
    def @{name}(%value: {value}) -> List[{part}] {{
      %0 = shape_of(%value, dtype="int32");
      @{helper}(0, take(%0, 0), %value)
    }}
    """


def dynamic_functions(n: Names, dtype: str) -> str:
    """Return the functions over tensors of unknown rank."""
    made = [n.of(f"tensor{rank}") for rank in range(MAX_RANK + 1)]
    pairs = list(itertools.pairwise(made))
    more = " ".join(f"{low}(%t) => {high}(expand_dims(%t, axis=0))," for low, high in pairs)
    joined = " ".join(
        f"{c}(%a) => {{ match? (%y) {{ {c}(%b) => {c}(concatenate((%a, %b), axis=0)), }} }},"
        for c in made[1 : MAX_CONCATENATED_RANK + 1]
    )
    taken = " ".join(f'{c}(%t) => {c}(take(%t, arange(%begin, %end, 1, dtype="int32"), axis=0)),' for c in made[1:])
    concatenate, t = n.of("tensor_concatenate"), n.tensor
    unstacked = "".join(
        unstacking(
            n.of(f"tensor_array_unstack_tensor{rank}"),
            n.of(f"tensor_array_unstack_tensor{rank}_helper"),
            f"Tensor[{dims_text('?' * rank)}, {dtype}]",
            t,
            made[rank - 1],
        )
        for rank in range(1, MAX_RANK + 1)
    )
    return f"""
    def @{n.of("tensor_expand_dims")}(%x: {t}) -> {t} {{ match? (%x) {{ {more} }} }}
    def @{concatenate}(%x: {t}, %y: {t}) -> {t} {{ match? (%x) {{ {joined} }} }}
    def @{n.of("tensor_take")}(%x: {t}, %begin: int32, %end: int32) -> {t} {{ match? (%x) {{ {taken} }} }}
    {common_functions(n)}{joining(n, concatenate)}{stacking(n, t, concatenate)}{scatter(n)}{split(n)}{unstacked}
    """


def static_functions(n: Names, tensor: str) -> str:
    """Return the functions over tensors of a stated shape that need no other shape."""
    constructor = n.of("tensor_constructor")
    return f"""
    def @{n.of("tensor_get_data")}(%x: {n.tensor}) -> {tensor} {{ match? (%x) {{ {constructor}(%t) => %t, }} }}
    {common_functions(n)}{scatter(n)}
    """
