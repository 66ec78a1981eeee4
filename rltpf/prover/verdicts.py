"""Verdicts on disk, so that nothing is judged twice; for any number of processes and machines.

A folder for each toolchain, named by its id, which holds the digest of the judge; in it one append-only file for each
machine. A line is `KEY SUM ANSWER`: the SHA-256 of the request, the SHA-256 of key and answer, and the answer as JSON.
The request is all that Lean is told: header with its limit of heartbeats, statement, submission or tactic. The gate is
no part of it: it looks at every text every time, before anybody looks here.

No lock is needed, and none works on every network file system: a line is one `write` at the end of a file that one
machine alone writes, and a line that was torn all the same does not have its sum. Such a line is not used, and costs a
check. Against accidents this is safe; whoever may write the folder can forge verdicts, as he can forge the installed
Lean. Hence files that somebody else may write are not used, and data that must be trusted is judged without the cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import stat
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from rltpf.places import Places
from rltpf.prover.answer import Answer, WorkerError
from rltpf.records import canonical_json

LONGEST_LINE = 65_536
_LINE = re.compile(rb"([0-9a-f]{64}) ([0-9a-f]{64}) (\{.*\})\n")


class Verdicts:
    """The answers of one toolchain, none of them in memory. Threads may share it."""

    def __init__(self, folder: Path, toolchain_id: str) -> None:
        self._toolchain_id = toolchain_id
        self._folder = folder / _file_name(toolchain_id)
        self._own = self._folder / f"{_file_name(socket.gethostname())}.verdicts"
        self._files = [self._own]
        self._places = Places()
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._writes = True
        damaged = 0
        try:
            for path in sorted(self._folder.glob("*.verdicts")):
                damaged += self._index(path)
        except OSError as error:
            self._say(f"cannot be read: {error.strerror}")
        if damaged:
            self._say(f"{damaged} damaged lines are not used; remove the folder to be rid of them")

    def get(self, command: str, arguments: Mapping[str, object]) -> Answer | None:
        """The answer that the judge once gave to exactly this request."""
        key = self._key(command, arguments)
        with self._lock:
            place = self._places.get(key.hex())
        if place is None:
            return None
        number, offset, length = place
        try:
            with self._files[number].open("rb") as file:
                found = _sound(os.pread(file.fileno(), length, offset))
            return Answer(json.loads(found[1])) if found is not None and found[0] == key else None
        except (OSError, ValueError, RecursionError, WorkerError):
            return None  # it was sound when we started: the file was changed or removed

    def put(self, command: str, arguments: Mapping[str, object], answer: Answer) -> None:
        """Keep an answer. Not that a header failed, which may be the disk's fault and not the text's."""
        if answer.reason == "header_error":
            return
        key, text = self._key(command, arguments), json.dumps(answer.to_json()).encode()
        line = b"%b %b %b\n" % (key.hex().encode(), _sum(key, text), text)
        if len(line) > LONGEST_LINE:
            return
        with self._lock:
            if not self._writes:
                return
            try:
                self._append(key, line)
            except OSError as error:
                self._writes = False
                self._say(f"cannot be written, so verdicts are not kept: {error.strerror}")

    def close(self) -> None:
        with self._lock:
            self._writes = False
            if self._descriptor is not None:
                os.close(self._descriptor)
                self._descriptor = None

    def _append(self, key: bytes, line: bytes) -> None:
        if self._descriptor is None:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = os.open(self._own, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        # The newline before it ends what a killed writer may have left.
        if os.write(self._descriptor, b"\n" + line) == len(line) + 1:
            end = os.lseek(self._descriptor, 0, os.SEEK_CUR)  # others append too: only now is its place known
            self._places.put(key.hex(), (0, end - len(line), len(line)))

    def _index(self, path: Path) -> int:
        """Note where the file's lines are; the number of damaged ones."""
        damaged = offset = 0
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_uid != os.geteuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                self._say(f"{path.name} is not used: others may write it")
                return 0
            self._files.append(path)
            while line := file.readline(LONGEST_LINE):
                if (found := _sound(line)) is not None:
                    self._places.put(found[0].hex(), (len(self._files) - 1, offset, len(line)))
                elif line != b"\n" and file.tell() < status.st_size:  # at the end somebody may be writing
                    damaged += 1
                offset += len(line)
        return damaged

    def _key(self, command: str, arguments: Mapping[str, object]) -> bytes:
        request = canonical_json([self._toolchain_id, command, arguments])
        return hashlib.sha256(request.encode(errors="surrogatepass")).digest()

    def _say(self, fact: str) -> None:
        print(f"verdict cache {self._folder}: {fact}", file=sys.stderr)


def _sound(line: bytes) -> tuple[bytes, bytes] | None:
    """Key and answer of a line that is whole."""
    match = _LINE.fullmatch(line)
    if match is None:
        return None
    key = bytes.fromhex(match[1].decode())
    return (key, match[3]) if match[2] == _sum(key, match[3]) else None


def _sum(key: bytes, text: bytes) -> bytes:
    return hashlib.sha256(key + text).hexdigest().encode()


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.-]", "_", text)
