"""A model goes from its file to a package and to results, by calls and by the command line."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from compiler.classic import tvmc
from compiler.classic.contrib import cc
from compiler.classic.tvmc.main import main
from compiler.ir.error import TVMError
from compiler.ir.structural import structural_equal
from compiler.runtime.modules.native_code import host_triple

DATA = np.random.default_rng(0).normal(size=(2, 3)).astype("float32")
WEIGHT = np.random.default_rng(1).normal(size=(3, 4)).astype("float32")
EXPECTED = np.maximum(DATA @ WEIGHT, 0)


@pytest.fixture
def model_file(tmp_path: Path) -> Path:
    return _write_model(tmp_path, 2)


def _write_model(directory: Path, rows: int | str) -> Path:
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Relu", ["h"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 4])
    graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(WEIGHT, "w")])
    path = directory / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


@pytest.mark.parametrize("freeze_params", [True, False])
def test_load_compile_and_run(model_file: Path, freeze_params: bool) -> None:
    model = tvmc.load(model_file, freeze_params=freeze_params)
    package = tvmc.compile(model, target="llvm")
    result = tvmc.run(package, device="cpu", inputs={"x": DATA}, repeat=2, number=1)
    np.testing.assert_allclose(result.get_output("output_0"), EXPECTED, rtol=1e-5)
    assert len(result.times.results) == 2
    assert "output_0" in str(result)


def test_what_is_not_given_is_filled(model_file: Path) -> None:
    package = tvmc.compile(tvmc.load(model_file))
    result = tvmc.run(package, fill_mode="ones", benchmark=False)
    np.testing.assert_allclose(result.outputs["output_0"], np.maximum(np.ones((2, 3)) @ WEIGHT, 0), rtol=1e-5)
    assert not len(result.times.results)


def test_a_model_is_saved_and_read(model_file: Path, tmp_path: Path) -> None:
    model = tvmc.load(model_file, freeze_params=False)
    model.save(tmp_path / "saved.tar")
    read = tvmc.TVMCModel(model_path=tmp_path / "saved.tar")
    assert structural_equal(read.mod, model.mod)
    np.testing.assert_array_equal(read.params["w"].numpy(), WEIGHT)


def test_the_command_line(model_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package, given, written = (str(tmp_path / name) for name in ("package.tar", "in.npz", "out.npz"))
    assert main(["compile", "--target", "llvm", "--dump-code", "relay,ll", "-o", package, str(model_file)]) == 0
    assert "define" in Path(f"{package}.ll").read_text()
    assert "def @main" in Path(f"{package}.relay").read_text()
    np.savez(given, x=DATA)
    assert main(["run", "-i", given, "-o", written, "--print-top", "1", "--print-time", package]) == 0
    np.testing.assert_allclose(np.load(written)["output_0"], EXPECTED, rtol=1e-5)
    shown = capsys.readouterr().out
    assert "mean" in shown
    assert str(int(np.argmax(EXPECTED))) in shown


def test_the_command_runs_under_the_public_name() -> None:
    command = [sys.executable, "-m", "compiler", "-m", "tvm.driver.tvmc", "run", "missing.tar"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert ended.stderr.startswith("Error: tvmc: 'missing.tar'")


def test_a_model_is_tuned_and_compiled_by_its_records(model_file: Path, tmp_path: Path) -> None:
    records, package = str(tmp_path / "records.json"), str(tmp_path / "tuned.tar")
    tune = ["tune", "--target", "llvm", "-o", records, "--trials", "2", "--number", "1", str(model_file)]
    assert main(tune) == 0
    assert len(Path(records).read_text().splitlines()) == 2
    assert main(["compile", "--tuning-records", records, "-o", package, str(model_file)]) == 0
    result = tvmc.run(tvmc.TVMCPackage(package), inputs={"x": DATA}, benchmark=False)
    np.testing.assert_allclose(result.get_output("output_0"), EXPECTED, rtol=1e-5)


def test_a_model_is_searched_for_seconds_and_compiled_by_a_log_that_was_cut_off(
    model_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("compiler.search.models._PER_ROUND", 1)
    log, package = tmp_path / "log.jsonl", str(tmp_path / "tuned.tar")
    assert main(["tune", "--target", "llvm", "-o", str(log), "--seconds", "0.1", str(model_file)]) == 0
    assert "(processor seconds)" in capsys.readouterr().out
    log.write_text(log.read_text()[:-5])
    with pytest.warns(UserWarning, match="cut off"):
        assert main(["compile", "--tuning-records", str(log), "-o", package, str(model_file)]) == 0
    result = tvmc.run(tvmc.TVMCPackage(package), inputs={"x": DATA}, benchmark=False)
    np.testing.assert_allclose(result.get_output("output_0"), EXPECTED, rtol=1e-5)


def test_shapes_on_the_command_line_reach_the_importer(tmp_path: Path) -> None:
    package, model = str(tmp_path / "package.tar"), str(_write_model(tmp_path, "rows"))
    assert main(["compile", "--input-shapes", "x:[5,3]", "-o", package, model]) == 0
    result = tvmc.run(tvmc.TVMCPackage(package), fill_mode="zeros", benchmark=False)
    assert result.get_output("output_0").shape == (5, 4)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["-o", "/nonexistent/log", "--seconds", "1"], "the log '/nonexistent/log' cannot be written"),
        (["-o", "/nonexistent/log", "--enable-autoscheduler"], "the log '/nonexistent/log' cannot be written"),
        (["-o", "/nonexistent/log"], "the log '/nonexistent/log' cannot be written: No such file or directory"),
        (["-o", "log", "--tuning-records", "/nothing"], "there is no file '/nothing' of tuning records"),
        (["-o", "log", "--seconds", "-1"], "seconds must be more than 0, got -1"),
        (["-o", "log", "--seconds", "nan"], "seconds must be more than 0, got nan"),
        (["-o", "log", "--trials", "-1"], "n_trial must be an int of at least 0, got -1"),
    ],
)
def test_what_a_tuning_cannot_do_is_said_before_it_begins(
    model_file: Path, tmp_path: Path, options: list[str], said: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["tune", "--target", "llvm", *options, str(model_file)]) == 1
    shown = capsys.readouterr()
    assert said in shown.err
    assert "Progress" not in shown.out


def test_a_list_of_tasks_leaves_the_log_alone(model_file: Path, tmp_path: Path) -> None:
    assert main(["tune", "--target", "llvm", "-o", str(tmp_path / "log"), "--tasks", "list", str(model_file)]) == 0
    assert not (tmp_path / "log").exists()


def test_a_tuning_goes_on_from_records_and_says_why_nothing_runs(
    model_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, other = (str(tmp_path / name) for name in ("first", "second", "other"))
    tune = ["tune", "--number", "1", "--tasks", "0", "--tuner", "gridsearch", "--trials", "1", str(model_file), "-o"]
    assert main([*tune, first, "--target", "llvm"]) == 0
    assert main([*tune, second, "--target", "llvm", "--tuning-records", first]) == 0
    indices = [
        [json.loads(line)["config"]["index"] for line in Path(path).read_text().splitlines()]
        for path in (first, second)
    ]
    assert indices == [[0], [1]]
    assert main([*tune, other, "--target", "llvm -mtriple=aarch64-linux-gnu"]) == 0
    assert re.search(r"Progress: \(1/1\) \| .* is for aarch64-linux-gnu", capsys.readouterr().out)


@pytest.mark.parametrize("command", ["tune", "compile"])
def test_shapes_that_are_missing_on_the_command_line_are_said(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(_write_model(tmp_path, "rows"))
    for given in ([], ["--input-shapes", "x:[-1,3]"]):
        assert main([command, "-o", str(tmp_path / "out"), *given, model]) == 1
        words = f'tvmc {command}: input "x" has a dynamic shape (?, 3): give --input-shapes "x:[1,3]"'
        assert words in capsys.readouterr().err
    machine = ["--use-vm", "-o", str(tmp_path / "vm.tar")]
    assert command == "tune" or main(["compile", *machine, model]) == 0, "which leaves them open"


def test_layouts_of_convolutions(tmp_path: Path) -> None:
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32]) {\n'
    (tmp_path / "conv.relay").write_text(f"{text}nn.conv2d(%x, %w, padding=[1, 1], channels=4, kernel_size=[3, 3]) }}")
    model = tvmc.load(tmp_path / "conv.relay")
    inputs = {n: np.random.default_rng(2).normal(size=s).astype("float32") for n, s in _SHAPES.items()}
    results, texts = [], []
    for layout in ("NCHW", "NHWC"):
        path = tmp_path / f"{layout}.tar"
        made = tvmc.compile(model, opt_level=2, desired_layout=layout, dump_code="relay", package_path=path)
        results.append(tvmc.run(made, inputs=inputs, benchmark=False).get_output("output_0"))
        texts.append((tmp_path / f"{layout}.tar.relay").read_text())
    np.testing.assert_allclose(*results, rtol=1e-4, atol=1e-5)
    assert 'data_layout="NHWC"' in texts[1]
    assert "NHWC" not in texts[0]


_SHAPES = {"x": (1, 4, 8, 8), "w": (4, 4, 3, 3)}


def test_what_cannot_be_done_is_refused(model_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tvmc.load(model_file)
    package = tvmc.compile(model)
    (tmp_path / "noise.tar").write_bytes(b"noise")
    (tmp_path / "model.xyz").write_bytes(b"noise")
    for refused in (
        lambda: tvmc.load(tmp_path / "missing.onnx"),
        lambda: tvmc.load(tmp_path / "model.xyz"),
        lambda: tvmc.load(model_file, model_format="caffe"),
        lambda: tvmc.compile(model, tuning_records=str(tmp_path / "noise.tar")),
        lambda: tvmc.tune(model, tuner="noise"),
        lambda: tvmc.tune(model, hostname="127.0.0.1"),
        lambda: tvmc.compile(model, output_format="mlf"),
        lambda: tvmc.run(package, hostname="127.0.0.1"),
        lambda: tvmc.run(package, inputs={"z": DATA}),
        lambda: tvmc.run(package, fill_mode="noise"),
        lambda: tvmc.TVMCPackage(tmp_path / "noise.tar"),
        lambda: tvmc.TVMCModel(),
    ):
        with pytest.raises(tvmc.TVMCException):
            refused()
    assert main(["run", str(tmp_path / "noise.tar")]) == 1
    assert "noise.tar" in capsys.readouterr().err


@pytest.mark.skipif(not shutil.which("cc"), reason="no compiler")
def test_a_cross_compiler_links_the_library(
    model_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    called, program, package = tmp_path / "called", tmp_path / "other-gcc", str(tmp_path / "package.tar")
    program.write_text(f'#!/bin/sh\necho "$@" > {called}\nexec cc "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    options = ["compile", "--cross-compiler", "other-gcc", "--cross-compiler-options=-lm -g", "-o", package]
    for machine in ([], ["--use-vm"]):
        assert main([*options, *machine, str(model_file)]) == 0
        assert "-lm -g" in called.read_text()
        called.unlink()
        result = tvmc.run(tvmc.TVMCPackage(package), inputs={"x": DATA}, benchmark=False)
        np.testing.assert_allclose(result.get_output("output_0"), EXPECTED, rtol=1e-5)
    assert main(["compile", "--cross-compiler", "no-gcc", "-o", package, str(model_file)]) == 1
    assert "this machine has no no-gcc" in capsys.readouterr().err
    tvmc.compile(tvmc.load(model_file), cross=cc.cross_compiler("other-gcc"), package_path=package)
    assert called.exists()


def test_a_package_for_another_processor_is_written_and_not_loaded(model_file: Path, tmp_path: Path) -> None:
    other = "x86_64" if host_triple().startswith("aarch64") else "aarch64"

    def compile_all(output: str, files: list[str], **options: object) -> None:
        Path(output).write_bytes(Path(files[0]).read_bytes())

    package = tvmc.compile(tvmc.load(model_file), target=f"llvm -mtriple={other}-linux-gnu", cross=compile_all)
    with pytest.raises(TVMError, match=f"is for {other}-linux-gnu"):
        tvmc.run(package, inputs={"x": DATA})
