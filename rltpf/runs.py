"""Run directories: one folder holds everything of one run, and the same command started again goes on with it."""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import importlib.metadata
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import rltpf
from rltpf.config import Config, dump, result_settings
from rltpf.errors import InputError
from rltpf.journal import Journal, write_atomically

__all__ = [
    "HeldError",
    "Journal",
    "RunDirectory",
    "binding_settings",
    "different_settings",
    "held",
    "installed_versions",
    "read_manifest",
    "source_version",
    "write_atomically",
]

PACKAGES = ("torch", "transformers", "trl", "peft", "datasets", "accelerate", "lean-interact", "openai", "math-verify")
_MANIFEST = "manifest.json"
_CONFIG = "config.yaml"
_FORMAT = "rltpf run"
_LOCK = ".lock"
_FOLDERS = ("data", "dataset", "plots")


class HeldError(InputError):
    """Another process is writing in the folder."""


class RunDirectory:
    """A run's folder, held by this process alone until `close`, and left as it was until `begin`.

    It holds `config.yaml` (resolved), `manifest.json` (every start with time, host, command line, versions), the
    journals, `transcript.jsonl` and whatever the command writes at its end.
    """

    def __init__(self, path: Path, lock: int, made: Sequence[Path]) -> None:
        self.path = path
        self.resumed = False
        """Whether an earlier start left work here to go on with."""
        self._lock = lock
        self._made = made
        self._begun = False

    @classmethod
    def open(cls, output_dir: Path, config: Config, command: str, overwrite: bool = False) -> Self:
        """Make a run directory or resume it; `command` is the command's name, such as `generate`.

        Raises `InputError` when the folder is no run directory, is being written by another process, or belongs to a
        run with other settings that left results. With `overwrite` an earlier run's files and its folders `data`,
        `dataset` and `plots` are removed by `begin`. Other folders stay (models trained into it, say), and so does
        everything in a folder that is no run directory.
        """
        lock, made = _take(output_dir)
        run = cls(output_dir, lock, made)
        try:
            run._look_around(config, command, overwrite)
        except BaseException as error:
            run.__exit__(type(error), error)
            raise
        return run

    def _look_around(self, config: Config, command: str, overwrite: bool) -> None:
        manifest = read_manifest(self.path)
        if manifest is None and (foreign := _foreign_files(self.path)):
            raise InputError(
                f"{self.path}: is neither empty nor a run directory (it holds {foreign[0]}): choose another output_dir"
            )
        if overwrite:
            manifest = None
        settings = result_settings(config)
        # The folder's own name does not change what is in it: it may be moved, or named relative to another folder.
        settings.pop("output_dir", None)
        if manifest is not None and (faults := _differences(self.path, manifest, command, settings)):
            if not _is_barren(self.path):
                raise InputError(*faults)
            # A start that ended at once, at a mistyped path say, must not bind the corrected one.
            manifest = None
        self.resumed = manifest is not None
        self._manifest = manifest or {"format": _FORMAT, "command": command, "settings": settings, "toolchain": None}
        self._config = config

    def begin(self, toolchain: str | None = None) -> None:
        """Write manifest and config, and remove what `open` was told to overwrite; `toolchain` is the Lean that judges.

        Comes when nothing is left that could refuse the command, which then leaves the folder as it was. Raises
        `InputError` when the judge was another Lean at an earlier start of this run.
        """
        before = self._manifest["toolchain"]
        if None not in (before, toolchain) and before != toolchain:
            raise InputError(
                f"{self.path}: its verdicts are from Lean {before}, and Lean here is {toolchain}: "
                "use that Lean, pass --overwrite, or choose another output_dir"
            )
        if not self.resumed:
            _clear(self.path)
        self._begun = True
        self._manifest["toolchain"] = toolchain or before
        self._manifest.setdefault("starts", []).append(_this_start())
        # The manifest comes first, since it marks the folder as a run directory.
        self._write_manifest()
        self.write(_CONFIG, dump(self._config))

    def journal(self, name: str) -> Journal:
        """The journal `NAME.jsonl`, opened for reading and appending; the caller closes it."""
        return Journal(self.path / f"{name}.jsonl")

    @property
    def transcript(self) -> Path:
        return self.path / "transcript.jsonl"

    @property
    def config(self) -> Path:
        return self.path / _CONFIG

    def write(self, name: str, text: str) -> Path:
        """Write a whole file of the run atomically; `name` may be in a folder, such as `data/sft.jsonl`."""
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        write_atomically(path, text)
        return path

    def finish(self) -> None:
        """Note in the manifest that this start came to its end."""
        self._manifest["starts"][-1]["finished"] = _now()
        self._write_manifest()

    def close(self) -> None:
        """Let other processes at the folder."""
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, *trace: object) -> None:
        if isinstance(error, InputError):
            self._withdraw()
        self.close()

    def _withdraw(self) -> None:
        """Remove what a start that was refused has made, unless it, or one before it, found something."""
        if self._begun:
            if self.resumed or not _is_barren(self.path):
                return
            _clear(self.path)
        _unmake(self._made)

    def _write_manifest(self) -> None:
        self.write(_MANIFEST, json.dumps(self._manifest, indent=1, ensure_ascii=False) + "\n")


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder that is no run directory for this process alone, and make it where it is missing; it is removed
    again where nothing was put into it. Raises `InputError` where it is held or cannot be written."""
    lock, made = _take(folder)
    try:
        yield
    finally:
        # Who waits at the file that is removed here finds it out, and opens another.
        _unmake([folder / _LOCK, *made])
        os.close(lock)


def installed_versions(packages: tuple[str, ...] = PACKAGES) -> dict[str, str]:
    """Versions of the packages that are installed, read from their metadata without importing them."""
    found = {}
    for name in packages:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def source_version() -> str | None:
    """The git commit of this package's source tree (`-dirty` with local changes); None when installed from a wheel."""
    root = Path(rltpf.__file__).parents[1]
    if not (root / ".git").exists() or shutil.which("git") is None:
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    return answer.stdout.strip() or None


def _this_start() -> dict[str, Any]:
    return {
        "time": _now(),
        "host": socket.gethostname(),
        "command_line": sys.argv,
        "rltpf": rltpf.__version__,
        "git": source_version(),
        "python": platform.python_version(),
        "packages": installed_versions(),
    }


def _now() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")


def _take(folder: Path) -> tuple[int, list[Path]]:
    """The lock of a folder, which is made where it is missing, and what was made for it, innermost first.

    Raises `InputError` where another process holds it or it cannot be written.
    """
    made = [path for path in (folder / _LOCK, folder, *folder.parents) if not os.path.exists(path)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _acquire(folder), made
    except OSError as error:
        _unmake(made)
        raise InputError(f"{folder}: cannot be written: {error.strerror}: choose another output_dir") from None


def _acquire(folder: Path) -> int:
    """An open file descriptor that holds the folder's lock; the kernel frees it with the process, however that ends."""
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = os.pread(lock, 1000, 0).decode(errors="replace").strip() or "another process"
        os.close(lock)
        raise HeldError(f"{folder}: is being written by {owner}: wait for it, or choose another output_dir") from None
    except OSError:
        os.close(lock)
        raise
    if os.fstat(lock).st_nlink == 0:
        # A start that was refused has removed the file meanwhile: another writer would lock another file.
        os.close(lock)
        return _acquire(folder)
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
    return lock


def _unmake(made: Sequence[Path]) -> None:
    """Remove a lock file and empty folders; a folder that somebody else uses by now stays."""
    with contextlib.suppress(OSError):
        for path in made:
            if path.name == _LOCK:
                path.unlink(missing_ok=True)
            else:
                path.rmdir()


def check_folder(path: Path) -> None:
    """Raises `InputError` where the folder of a run is none."""
    if not path.is_dir():
        raise InputError(f"{path}: {'is a file, and no folder' if path.exists() else 'there is no such folder'}")


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """The manifest of a run directory; None where the folder is none, or is not there."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return manifest if isinstance(manifest, dict) and manifest.get("format") == _FORMAT else None


def binding_settings(folder: Path) -> dict[str, Any] | None:
    """The settings that the next start in a folder has to keep; None where no run has left results."""
    manifest = read_manifest(folder)
    return None if manifest is None or _is_barren(folder) else manifest["settings"]


def _foreign_files(folder: Path) -> list[str]:
    """What a run would write over or remove, and what no start that was killed before its manifest can have left."""
    return sorted(entry.name for entry in _own(folder) if not _is_temporary(entry.name))


def _own(folder: Path) -> list[Path]:
    """The files of a run directory, and the folders that a run makes in it."""
    return [
        entry
        for entry in folder.iterdir()
        if entry.name != _LOCK and (not entry.is_dir() or entry.is_symlink() or entry.name in _FOLDERS)
    ]


def _is_temporary(name: str) -> bool:
    return name.startswith(f".{_MANIFEST}.") and name.endswith(".tmp")


def _clear(folder: Path) -> None:
    # The manifest goes last: killed on the way, the folder is still known as a run directory.
    for entry in sorted(_own(folder), key=lambda entry: entry.name == _MANIFEST):
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()


def _is_barren(folder: Path) -> bool:
    """Whether no start has left anything in a run directory but its settings."""
    rest = [entry for entry in _own(folder) if entry.name not in (_MANIFEST, _CONFIG) and not _is_temporary(entry.name)]
    return all(entry.is_file() and not entry.stat().st_size for entry in rest)


def _differences(folder: Path, manifest: dict[str, Any], command: str, settings: dict[str, Any]) -> list[str]:
    """Why these settings cannot go on with the run in the folder; nothing where they can."""
    ways_out = "pass --overwrite to start again, or choose another output_dir"
    if manifest["command"] != command:
        return [f"{folder}: holds a run of `{manifest['command']}`, not of `{command}`: {ways_out}"]
    faults = [
        f"{folder}: {key}: this run has {before}, and now it is {now}"
        for key, before, now in different_settings(manifest["settings"], settings)
    ]
    if faults:
        faults.append(f"{folder}: to keep its results restore these settings; otherwise {ways_out}")
    return faults


def different_settings(before: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(key, value before, value now) of every setting that is not the same; the values as JSON."""
    missing = object()
    return [
        (key, _show(before.get(key, missing), missing), _show(now.get(key, missing), missing))
        for key in sorted(before.keys() | now.keys())
        if before.get(key, missing) != now.get(key, missing)
    ]


def _show(value: Any, missing: object) -> str:
    return "no such setting" if value is missing else json.dumps(value, ensure_ascii=False)
