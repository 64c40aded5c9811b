"""The CPUs of a process: what control groups grant, and which are threads of one core."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from compiler.runtime import cpus
from compiler.runtime.machine import Machine
from compiler.runtime.parallel import threads
from tests.machines import needs_openmp

Hierarchy = Callable[..., Path]


@pytest.fixture
def hierarchy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hierarchy:
    """Let this process be in a group of a hierarchy that is made of files."""

    def make(controller: str, group: str, files: dict[str, str], root: str = "/") -> Path:
        for name, text in files.items():
            place = tmp_path / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        monkeypatch.setattr(cpus, "mounts", lambda: iter([(controller, tmp_path, root)]))
        monkeypatch.setattr(cpus, "own_groups", lambda: iter([(controller, group)]))
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("quota", "granted"), [("200000 100000", 2), ("150000 100000", 2), ("50000 100000", 1), ("max 100000", None)]
)
def test_a_container_has_the_time_of_as_many_cpus_as_it_was_given(
    hierarchy: Hierarchy, quota: str, granted: int | None
) -> None:
    hierarchy("", "/", {"cpu.max": f"{quota}\n"})
    assert cpus.granted_cpus() == granted
    cores = min(cpus.usable_cpus(), granted or cpus.usable_cpus())
    assert Machine({}).cores == cores
    assert Machine({}).threads <= cores


def test_the_least_of_the_groups_around_counts(hierarchy: Hierarchy) -> None:
    hierarchy(
        "",
        "/teaching.slice/strata.service",
        {"teaching.slice/cpu.max": "300000 100000\n", "teaching.slice/strata.service/cpu.max": "max 100000\n"},
    )
    assert cpus.granted_cpus() == 3


def test_version_1_has_two_files_and_a_container_sees_its_part(hierarchy: Hierarchy) -> None:
    files = {"cpu.cfs_quota_us": "400000\n", "cpu.cfs_period_us": "100000\n"}
    hierarchy("cpu", "/docker/0123abcd", files, root="/docker/0123abcd")
    assert cpus.granted_cpus() == 4
    hierarchy("cpu", "/docker/0123abcd", {"cpu.cfs_quota_us": "-1\n"}, root="/docker/0123abcd")
    assert cpus.granted_cpus() is None
    hierarchy("memory", "/", {})
    assert cpus.granted_cpus() is None


def test_elsewhere_than_on_linux_there_are_no_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Iterator[tuple[str, Path, str]]:
        raise FileNotFoundError("/proc/self/mountinfo")

    monkeypatch.setattr(cpus, "mounts", missing)
    assert cpus.granted_cpus() is None


@needs_openmp
def test_threads_of_a_core_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four CPUs of two cores: 0 and 2 are threads of one, 1 and 3 of the other."""
    monkeypatch.setattr(cpus, "core_of", lambda cpu: ("0,2", "1,3")[cpu % 2])
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2, 3}, raising=False)
    assert (cpus.usable_cpus(), cpus.cores()) == (4, 2)
    machine = Machine({})
    assert machine.threads == min(machine.cores, 2)
    monkeypatch.setattr(threads, "this_machine", lambda: machine)
    monkeypatch.setattr(threads, "available_cores", lambda: 4)
    for variable in ("TVM_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(variable, raising=False)
    assert threads.num_threads() == machine.threads
    assert cpus.on_separate_cores_first([0, 2, 1, 3]) == [0, 1, 2, 3]


def test_what_the_system_says_of_this_machine_is_read() -> None:
    assert 1 <= cpus.cores() <= cpus.usable_cpus()
    assert cpus.core_of(1 << 20) == str(1 << 20), "no such CPU: a core of its own"
