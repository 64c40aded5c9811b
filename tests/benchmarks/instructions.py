"""How many instructions of the gallery's and the lessons' kernels the explorer has a description of.

    python -m tests.benchmarks.instructions [--texts FILE]

Every script is compiled for x86-64 from SSE2 to AVX-512 and AMX, AArch64 with NEON and SVE, RISC-V with V and
WebAssembly, and for GPUs to PTX and SASS, if NVIDIA's tools are installed; that takes minutes. With a FILE, the
instructions are kept there, and read from it the next time.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from flask.testing import FlaskClient

from app import create_app
from app.gallery import load_gallery
from app.instructions import SETS, has_instructions, set_of, tip_of
from app.lessons import Library
from app.services import services_of

MACHINES = (
    "x86-64-sse2", "x86_64:haswell", "x86_64:skylake-avx512", "x86_64:cascadelake", "x86_64:icelake-server",
    "x86_64:sapphirerapids", "x86_64:znver4", "aarch64-neon", "aarch64:neoverse-v1", "riscv64-v", "wasm32-simd128",
)  # fmt: skip
AT_ONCE = 3
"""How many machines a request may ask for."""
GOALS = 0.99, 0.95
"""Shares of occurrences and of names that are to be described."""


def scripts() -> list[str]:
    """Return the examples of the gallery and the answers of the lessons."""
    answers = [step.answer for lesson in Library().lessons for step in lesson.steps if step.answer]
    return list(dict.fromkeys([*(example.script for example in load_gallery()), *answers]))


def listings(client: FlaskClient, script: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the language and the lines of each listing that a script becomes."""
    for at in range(0, len(MACHINES), AT_ONCE):
        first, *more = MACHINES[at : at + AT_ONCE]
        options = {"assembly": first, "assembly_also": more, "sass": True}
        answer = client.post("/api/compile", json={"script": script, "options": options}).get_json()
        found = list(answer.get("listings", {}).values())
        yield from ((each["language"], [line[0] for line in each["lines"]]) for each in found)
        if not any(each["language"] == "gas" for each in found):
            return


def collect() -> dict[str, Counter[str]]:
    """Return how often each line with an instruction occurs in listings that differ, by instruction set."""
    lines: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        app = create_app({"DATA_DIR": Path(folder), "RATE_LIMIT": 0, "COMPILE_SECONDS": 120})
        seen = set()
        for script in scripts():
            for language, texts in listings(app.test_client(), script):
                text = "\n".join(texts)
                if has_instructions(language) and text not in seen:
                    seen.add(text)
                    lines.setdefault(set_of(language, texts), Counter()).update(texts)
        services_of(app).runner.close()
        services_of(app).renderer.close()
    return lines


def main() -> None:
    """Print the shares by instruction set, and what is not described."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path)
    path = parser.parse_args().texts
    if path is not None and path.exists():
        lines = {name: Counter(found) for name, found in json.loads(path.read_text()).items()}
    else:
        lines = collect()
        if path is not None:
            path.write_text(json.dumps(lines))
    print(f"{'':10}{'lines':>10}{'described':>12}{'names':>8}{'described':>12}  without description")
    for name, found in sorted(lines.items()):
        print(row(name, found))


_LLVM = re.compile(r"  (?:%\S+ = )?(?:(?:tail|musttail|notail) )?(?P<name>[a-z]\w*)\b.*")


def row(instructions: str, lines: Counter[str]) -> str:
    """Return the line of the table of an instruction set."""
    pattern = SETS[instructions].line if instructions in SETS else _LLVM
    named = {line: match["name"] for line in lines if (match := pattern.fullmatch(line))}
    names, unknown = set(named.values()), {name for line, name in named.items() if tip_of(line, instructions) is None}
    total = sum(lines[line] for line in named)
    known = sum(lines[line] for line, name in named.items() if name not in unknown)
    shares = known / total, 1 - len(unknown) / len(names)
    below = "" if all(share >= goal for share, goal in zip(shares, GOALS, strict=True)) else "  below the goal"
    listed = " ".join(sorted(unknown))
    return f"{instructions:10}{total:10,}{shares[0]:12.2%}{len(names):8}{shares[1]:12.1%}  {listed}{below}"


if __name__ == "__main__":
    main()
