"""What the zygote does before it forks: it works, and leaves nothing behind that a child would notice."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from app.recorder.handler import rehearse, warm_up, warm_up_further
from app.recorder.scripts import modules
from app.recorder.warm_scripts import MODEL
from compiler.ir.instrument import active_instruments
from compiler.target.cpu.processor_features import used_features
from compiler.target.target import Target

ROOT = Path(__file__).resolve().parents[3]


def libraries_of_extras() -> list[str]:
    """Return the modules that only those have who install an optional extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    return [re.split(r"[\[>=<~]", line)[0].lower().replace("-", "_") for extra in extras for line in extra]


def test_it_needs_no_optional_extra() -> None:
    """Whoever installs the explorer as the README says has none of them; it must start and explain its API."""
    absent = libraries_of_extras()
    assert "torch" in absent
    program = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({absent!r}))\n"
        "from app.recorder.handler import warm_up, warm_up_further\n"
        "assert warm_up() == []\n"
        "assert len(list(warm_up_further())) > 500\n"
        "from app.editor.completions import completions\n"
        "assert completions('tvm.testing')\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr


def test_children_need_not_build_their_first_model_or_ask_llvm_for_its_instructions() -> None:
    assert rehearse(MODEL) == []
    used_features.cache_clear()
    list(warm_up_further())
    targets = Target("llvm"), Target("llvm -mcpu=native")
    asked = used_features.cache_info().misses
    for target in targets:
        used_features(target.triple, target.cpu, target.llvm_features)
    assert used_features.cache_info().misses == asked


def test_the_warm_up_works_and_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gc, "set_threshold", lambda *_: None)
    before = active_instruments(), signal.getsignal(signal.SIGALRM)
    assert warm_up() == []
    list(warm_up_further())
    assert (active_instruments(), signal.getsignal(signal.SIGALRM)) == before


def test_keras_computes_with_pytorch_though_tensorflow_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """TensorFlow wants a folder for temporary files when it is imported, and the sandbox has none."""
    monkeypatch.setenv("KERAS_BACKEND", "tensorflow")
    modules.import_first()
    assert os.environ["KERAS_BACKEND"] == "torch"
