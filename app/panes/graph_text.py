"""Normalised text of graphs, so that differences show changed values instead of changed names.

A pass such as FuseOps moves lines into the body of a function: they are indented, values are replaced by parameters,
and the last one, which is the value of the call, loses its name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_NAME = re.compile(r"%(?:@?\d+|[A-Za-z_][\w./]*)")
_FIELD = re.compile(r"\.\d+$")
_BINDING = re.compile(r"(?:let )?(%[\w./]+)(?:: .*?)? = (.*)", re.DOTALL)
_CALL = re.compile(r"(%\d+)\(")
_OWN = re.compile(r"(?:let )?%@\d+(?:: .*?)? = ")
_VALUE = re.compile(r"%@\d+|\bmeta\[relay\.Constant\]\[\d+\]")
_PUNCTUATION = re.compile(r'"(?:\\.|[^"\\])*"|[][(){},]')
"""Strings, which are skipped, brackets and commas."""


def canonical(texts: Sequence[str]) -> list[str]:
    """Normalise the lines of a graph's text as if all functions that are called once were inlined.

    Every line defines a value, ``%@`` and a number.  A parameter of such a function is replaced by the argument, and
    the call by the last line of the body.

    Parameters
    ----------
    texts : sequence of str
        Lines printed by ``relay``, in which variable names are unique.  Names that are bound twice are not changed.

    Returns
    -------
    list of str
        The same number of lines.

    Examples
    --------
    >>> canonical(["%1 = fn (%p0) {", "  %0 = exp(%p0);", "  log(%0)", "};", "%2 = %1(%x);", "abs(%2)"])
    ['%@0 = fn (%x) {', '%@1 = exp(%x)', '%@2 = log(%@1)', '}', '%@4 = %@0(%x)', '%@5 = abs(%@2)']
    """
    lines = [_parsed(text) for text in texts]
    stands_for = _meanings(lines)
    return [_renamed(line, f"%@{number}", stands_for) for number, line in enumerate(lines)]


def computed(lines: Sequence[str], known: dict[str, int]) -> list[int]:
    """Return a value number for each line; lines that compute the same of equal operands have the same one.

    Parameters
    ----------
    lines : sequence of str
        Lines returned by :func:`canonical`.
    known : dict
        The value numbers so far; to be shared between texts that are compared.
    """
    numbers: list[int] = []
    for line in lines:
        value = line.removeprefix(_head(line))
        operands = _VALUE.sub(lambda match: _operand(match[0], numbers), value)
        numbers.append(known.setdefault(operands, len(known)))
    return numbers


def _head(line: str) -> str:
    match = _OWN.match(line)
    return match[0] if match else ""


def without_operands(line: str) -> str:
    """Return a line of :func:`canonical` without its operands, except constants."""
    head = _head(line)
    return head + _NAME.sub("%", line[len(head) :])


def _operand(text: str, numbers: Sequence[int]) -> str:
    if not text.startswith("%@"):
        return "constant"
    line = int(text[2:])
    return f"#{numbers[line]}" if line < len(numbers) else text


@dataclass(frozen=True)
class _Line:
    """A line without indentation, split into the bound name, if any, and its value."""

    indent: int
    text: str
    name: str
    value: str

    @property
    def is_value(self) -> bool:
        """Whether it computes a value, instead of being the header of a definition or the end of a body."""
        return bool(self.text) and not self.text.startswith(("def ", "}", "type ", "free_var "))

    @property
    def parameters(self) -> list[str]:
        """The names of a function's parameters, where the line is the head of one."""
        if not self.text.endswith("{") or not self.value.startswith(("fn (", "def @")):
            return []
        return [match[0] for item in _listed(self.value) if (match := _NAME.match(item))]


def _parsed(text: str) -> _Line:
    plain = text.strip().removesuffix(";")
    binding = _BINDING.fullmatch(plain)
    name, value = binding.groups() if binding else ("", plain)
    return _Line(len(text) - len(text.lstrip()), plain, name, value)


def _renamed(line: _Line, own: str, stands_for: dict[str, str]) -> str:
    if not line.name:
        text = _substituted(line.text, stands_for)
        return f"{own} = {text}" if line.is_value else text
    head = line.text[: len(line.text) - len(line.value)]
    bound = own if line.name in stands_for else line.name
    return head.replace(line.name, bound, 1) + _substituted(line.value, stands_for)


def _substituted(text: str, stands_for: dict[str, str]) -> str:
    return _NAME.sub(lambda match: _resolved(match[0], stands_for), text)


def _resolved(name: str, stands_for: dict[str, str]) -> str:
    """Return what a name stands for in the end; whoever wrote the text may have made a circle."""
    field = ""
    if name not in stands_for and (match := _FIELD.search(name)):
        name, field = name[: match.start()], match[0]
    path: list[str] = []
    while name in stands_for and len(path) <= len(stands_for):
        path.append(name)
        name = stands_for[name]
    for passed in path:
        stands_for[passed] = name
    return name + field


def _meanings(lines: Sequence[_Line]) -> dict[str, str]:
    """Return the direct meaning of each name: the line that binds it, an argument for a parameter, or a result."""
    bound = Counter(line.name for line in lines if line.name)
    bound.update(name for line in lines for name in line.parameters)
    used = Counter(name for line in lines for name in _NAME.findall(line.value))
    functions = _functions(lines)
    meanings = {line.name: f"%@{number}" for number, line in enumerate(lines) if bound[line.name] == 1}
    for number, line in enumerate(lines):
        call = _CALL.match(line.value)
        if call is None or call[1] not in functions or used[call[1]] != 1 or bound[call[1]] != 1:
            continue
        head, last = functions[call[1]]
        names, arguments = lines[head].parameters, _listed(line.value)
        if len(names) == len(arguments) and all(bound[name] == 1 for name in names):
            meanings.update(pair for pair in zip(names, arguments, strict=True) if _is_atom(pair[1]))
            meanings[f"%@{number}"] = f"%@{last}"
    return meanings


def _is_atom(argument: str) -> bool:
    return "%" not in argument or _NAME.fullmatch(argument) is not None


def _functions(lines: Sequence[_Line]) -> dict[str, tuple[int, int]]:
    """Return the first line and the last line of the body of each named function."""
    functions: dict[str, tuple[int, int]] = {}
    heads: list[int] = []
    for number, line in enumerate(lines):
        if line.text.startswith("}") and heads:
            head = heads.pop()
            inside = lines[number - 1].indent > lines[head].indent
            if inside and lines[head].value.startswith("fn ("):
                functions[lines[head].name] = head, number - 1
        if line.text.endswith("{"):
            heads.append(number)
    functions.pop("", None)
    return functions


def _listed(text: str) -> list[str]:
    """Split the contents of the first parentheses of a text at top-level commas."""
    items: list[str] = []
    depth = start = 0
    for match in _PUNCTUATION.finditer(text):
        sign, at = match[0], match.start()
        if sign in "([{":
            depth += 1
            start = at + 1 if depth == 1 else start
        elif sign in ")]}" or (sign == "," and depth == 1):
            if depth == 1:
                items.append(text[start:at].strip())
                start = at + 1
            depth -= sign != ","
            if depth == 0:
                break
    return [item for item in items if item]
