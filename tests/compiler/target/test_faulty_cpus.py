"""CPUs for which LLVM would end the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from compiler.target.codegen.llvm.state import cpu_attributes
from compiler.target.cpu.cpu_lineage import features_of_cpus
from compiler.target.cpu.cpus import TRIPLES
from compiler.target.faulty_cpus import FAULTY_CPUS, spared
from compiler.target.target import Target

COMPILE = """
import sys
import compiler as tvm
from compiler import te, topi
from compiler.target.cpu import llvm_cpu
triple, cpu, as_it_is = sys.argv[1:]
if as_it_is == "as it is":
    llvm_cpu.spared = lambda architecture, cpu: (cpu, ())
a = te.placeholder((8, 37), "float32", name="A")
softmax = topi.nn.softmax(a)
b = te.placeholder((37, 48), "float32", name="B")
k = te.reduce_axis((0, 37), name="k")
product = te.compute((8, 48), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="product")
tiled = te.create_schedule(product.op)
outer, inner = tiled[product].split(product.op.axis[1], 16)
tiled[product].reorder(product.op.axis[0], outer, k, inner)
tiled[product].vectorize(inner)
for schedule, tensors in ((te.create_schedule(softmax.op), [a, softmax]), (tiled, [a, b, product])):
    tvm.build(schedule, tensors, f"llvm -mtriple={triple} -mcpu={cpu}").get_source("asm")
print("compiled")
"""


def compiled(architecture: str, cpu: str, how: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", COMPILE, TRIPLES[architecture], cpu, how]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.sample(3)
@pytest.mark.parametrize(("architecture", "cpu"), FAULTY_CPUS)
def test_llvm_ends_the_process_for_a_cpu_of_the_table_and_not_for_what_stands_in(architecture: str, cpu: str) -> None:
    assert compiled(architecture, cpu, "as it is").returncode < 0, "its row can go"
    spared_run = compiled(architecture, cpu, "spared")
    assert "compiled" in spared_run.stdout, spared_run.stderr


@pytest.mark.parametrize(("architecture", "cpu"), FAULTY_CPUS)
def test_what_stands_in_has_the_features_of_the_cpu(architecture: str, cpu: str) -> None:
    other, changes = spared(architecture, cpu)
    features = set(features_of_cpus(architecture)[other])
    for change in changes:
        (features.add if change.startswith("+") else features.remove)(change[1:])
    assert features == features_of_cpus(architecture)[cpu] - FAULTY_CPUS[architecture, cpu].without


@pytest.mark.parametrize("triple", ["aarch64-unknown-linux-gnu", "arm64-apple-darwin"])
def test_features_of_the_user_come_after_those_that_stand_in(triple: str) -> None:
    target = Target(f"llvm -mtriple={triple} -mcpu=oryon-1 -mattr=-sm4")
    assert target.cpu == "ampere1"
    assert target.llvm_features.endswith(",-sm4")
    assert "-mcpu=oryon-1" in str(target)
    assert cpu_attributes(target)[1] == f'"target-features"="{target.llvm_features}"'
    plain = Target("llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=cortex-a76")
    assert (plain.cpu, plain.llvm_features) == ("cortex-a76", "")
