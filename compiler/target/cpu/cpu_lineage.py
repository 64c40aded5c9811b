"""The features of every CPU that LLVM knows, and which CPUs resemble each other.

    python -m compiler.target.cpu.cpu_lineage

asks LLVM for them, which takes half a minute, and writes the table that this module and ``cpus`` read.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import takewhile

from compiler.runtime.llvm import binding
from compiler.target.cpu.cpus import TABLE, TRIPLES, cpus, table
from compiler.target.llvm_machine import target_machine

ARCHITECTURES: Mapping[str, str] = {"x86_64": "x86-64", "aarch64": "generic", "riscv64": "generic-rv64"}
"""The architectures of the table, each with the CPU that has little more than every other one."""
_ALONE = """
import os, sys
from llvmlite import binding
binding.initialize_all_targets()
binding.initialize_all_asmprinters()
target = binding.Target.from_triple(sys.argv[1])
module = binding.parse_assembly("define void @f() { ret void }")
for feature in sys.argv[3].split():
    if not (child := os.fork()):
        os.close(2)
        for sign in "+-":
            target.create_target_machine(cpu=sys.argv[2], features=sign + feature).emit_assembly(module)
        os._exit(0)
    if not os.waitpid(child, 0)[1]:
        print(feature)
"""
"""LLVM aborts where 64-bit code cannot have a feature, cannot be without it, or needs another one for it."""
_LIST = """
import sys
from llvmlite import binding
binding.initialize_all_targets()
binding.Target.from_triple(sys.argv[1]).create_target_machine(cpu="", features="+help")
"""
_NONE = "none"
"""The CPU without features, from which the first row of the table starts."""
_SECONDS = 120


@cache
def features_of_cpus(architecture: str) -> Mapping[str, frozenset[str]]:
    """Return the features in which the CPUs of an architecture such as ``x86_64`` differ, by LLVM's names of the CPUs.

    They include what LLVM tunes its code by; there are none for an architecture that is not in the table.
    """
    known: dict[str, frozenset[str]] = {_NONE: frozenset()}
    for row in table().get(architecture, ()) if architecture in ARCHITECTURES else ():
        name, base, *changes = row.split()
        known[name.removesuffix(":")] = _changed(known[base], changes)
    del known[_NONE]
    return known


def features_of(architecture: str, cpu: str, features: str) -> frozenset[str]:
    """Return the features of a CPU by its name, as changed by some that are stated, such as ``+avx2,-fma``."""
    return _changed(features_of_cpus(architecture).get(cpu, frozenset()), features.split(",") if features else [])


def nearest_cpus(architecture: str, cpu: str, features: str, among: Iterable[str]) -> list[str]:
    """Sort CPUs by their resemblance to one: the number of features that only one of the two has.

    The nearest comes first; of equally near ones, that whose name has the longest common beginning.  ``features`` are
    those that the CPU has beside those of its name, separated by commas, each prefixed by ``+`` or ``-``.  CPUs that
    this LLVM does not know are left out.  There are none if nothing is known of the CPU.
    """
    known = features_of_cpus(architecture)
    if cpu not in known and not features:
        return []
    own = features_of(architecture, cpu, features)

    def distance(other: str) -> tuple[int, int, str]:
        alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(cpu, other, strict=False)))
        return len(own ^ known[other]), -alike, other

    return sorted((other for other in set(among) if other in known), key=distance)


def _changed(features: frozenset[str], changes: Iterable[str]) -> frozenset[str]:
    changes = list(changes)
    added = {change[1:] for change in changes if change.startswith("+")}
    return (features | added) - {change[1:] for change in changes if change.startswith("-")}


def ask_llvm(architecture: str) -> dict[str, frozenset[str]]:
    """Return the same as :func:`features_of_cpus`, by asking LLVM.

    LLVM inlines a function only where the caller has all features of the callee, so that a caller for each CPU, which
    calls a function for each feature, tells them.
    """
    triple, base = TRIPLES[architecture], ARCHITECTURES[architecture]
    listed = re.findall(r"^  (\S+)\s+- ", _child(_LIST, triple)[1].partition("Available features")[2], re.MULTILINE)
    features = _child(_ALONE, triple, base, " ".join(listed))[0].split()
    of_base = _inlined(triple, base, [base], features, "")[base]
    features_of = _inlined(triple, base, cpus(architecture), features, "".join(f"-{name}," for name in sorted(of_base)))
    of_all = frozenset.intersection(*features_of.values())
    return {cpu: has - of_all for cpu, has in features_of.items()}


def _child(program: str, *arguments: str) -> tuple[str, str]:
    command = [sys.executable, "-c", program, *arguments]
    told = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=True)
    return told.stdout, told.stderr


def _inlined(
    triple: str, base: str, callers: Iterable[str], features: list[str], without: str
) -> dict[str, frozenset[str]]:
    """Return for each CPU the features of which a function, that has nothing else of the base CPU, is inlined."""
    rows = [f'target triple = "{triple}"']
    for i, feature in enumerate(features):
        attributes = f'"target-cpu"="{base}" "target-features"="{without}+{feature}"'
        rows.append(f"define internal void @f.{i}(ptr %p) {attributes} {{\n  store i32 {i}, ptr %p\n  ret void\n}}")
    calls = "".join(f"  call void @f.{i}(ptr %p)\n" for i in range(len(features)))
    rows += [f'define void @"cpu.{cpu}"(ptr %p) "target-cpu"="{cpu}" {{\n{calls}  ret void\n}}' for cpu in callers]
    module = binding.parse_assembly("\n".join(rows))
    options = binding.create_pipeline_tuning_options(speed_level=2)
    builder = binding.create_pass_builder(target_machine(triple, base, "", 2), options)
    builder.getModulePassManager().run(module, builder)
    by_cpu = {}
    for function in module.functions:
        if function.name.startswith("cpu."):
            left = set(map(int, re.findall(r"@f\.(\d+)\(", str(function))))
            by_cpu[function.name[4:]] = frozenset(f for i, f in enumerate(features) if i not in left)
    return by_cpu


def _rows(known: Mapping[str, frozenset[str]]) -> list[str]:
    """Write each CPU as an earlier one that it resembles, and what distinguishes them."""
    written: dict[str, frozenset[str]] = {_NONE: frozenset()}
    rows = []
    for name, features in sorted(known.items(), key=lambda item: (len(item[1]), item[0])):
        base = min(written, key=lambda other: (len(features ^ written[other]), other))
        added, removed = sorted(features - written[base]), sorted(written[base] - features)
        rows.append(" ".join([f"{name}: {base}", *(f"+{f}" for f in added), *(f"-{f}" for f in removed)]))
        written[name] = features
    return rows


def _write_table() -> None:
    rows = {name: _rows(ask_llvm(name)) for name in ARCHITECTURES}
    rest = {name: [f"{cpu}: {_NONE}" for cpu in cpus(name)] for name in TRIPLES if name not in ARCHITECTURES}
    text = json.dumps({"llvm": binding.llvm_version_info, **rows, **rest}, indent=1)
    TABLE.write_text(text + "\n")


if __name__ == "__main__":
    _write_table()
