"""The C++ compiler called in another folder, and archives of object files unpacked."""

from pathlib import Path

import pytest

from compiler.classic.contrib import cc
from compiler.classic.contrib.tar import normalize_file_list_by_unpacking_tars, tar
from compiler.classic.contrib.utils import tempdir
from compiler.ir.error import UnavailableError

needs_compiler = pytest.mark.skipif(cc.get_cc() is None, reason="no C++ compiler")


@needs_compiler
def test_paths_begin_at_the_folder_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "one.c").write_text("int one() { return 1; }")
    cc.create_shared("one.so", ["one.c"], cwd=str(tmp_path))
    assert (tmp_path / "one.so").is_file()


@needs_compiler
def test_ccache_is_called_where_its_variables_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cc, "which", lambda program: None)
    monkeypatch.setenv("CXX", "c++")
    with pytest.raises(UnavailableError, match="ccache is not installed"):
        cc.create_shared("one.so", ["one.c"], cwd=str(tmp_path), ccache_env={"CCACHE_DIR": str(tmp_path)})


def test_a_compiler_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match=r"cc: no-such-gcc cannot be called: No such file"):
        cc.create_shared(str(tmp_path / "one.so"), ["one.c"], cc="no-such-gcc")


def test_archives_are_replaced_by_their_files(tmp_path: Path) -> None:
    for name in ("a.o", "b.o"):
        (tmp_path / name).write_text(name)
    archive = str(tmp_path / "objects.tar")
    tar(archive, [str(tmp_path / "b.o"), str(tmp_path / "a.o")])
    folder = tempdir()
    files = normalize_file_list_by_unpacking_tars(folder, ["first.o", archive, "last.o"])
    assert [Path(file).name for file in files] == ["first.o", "a.o", "b.o", "last.o"]
    assert Path(files[1]).read_text() == "a.o"
