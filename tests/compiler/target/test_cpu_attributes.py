"""Functions say which CPU they are for, as clang writes it, so that ``llc`` makes the same code of the text."""

from __future__ import annotations

import re

import pytest

from compiler import te
from compiler.driver.build import build


@pytest.mark.parametrize(
    ("target", "attributes"),
    [
        ("llvm", []),
        ("llvm -mtriple=x86_64-linux-gnu -mcpu=skylake", ['"target-cpu"="skylake"']),
        (
            "llvm -mtriple=x86_64-linux-gnu -mcpu=skylake -mattr=+avx512f",
            ['"target-cpu"="skylake"', '"target-features"="+avx512f"'],
        ),
        ("llvm -mtriple=aarch64-linux-gnu -mattr=+sve", ["vscale_range(1,16)", '"target-features"="+sve"']),
    ],
)
def test_every_function_has_the_attributes_of_its_target(target: str, attributes: list[str]) -> None:
    a = te.placeholder((64,), name="a")
    b = te.compute((64,), lambda i: a[i] + 1, name="b")
    s = te.create_schedule(b.op)
    s[b].parallel(b.op.axis[0])
    text = build(s, [a, b], target).get_source("ll")
    groups = dict(re.findall(r"^attributes #(\d+) = \{(.*)\}", text, re.MULTILINE))
    defined = {groups[number] for number in re.findall(r"^define .* #(\d+) ", text, re.MULTILINE)}
    assert defined
    for group in defined:
        assert re.findall(r'"target-[a-z]+"="[^"]*"|vscale_range\(.*?\)', group) == attributes
