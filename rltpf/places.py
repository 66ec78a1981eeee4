"""Where the rows of files are, by their keys, outside memory."""

from __future__ import annotations

import errno
import sqlite3

Place = tuple[int, int, int]
"""Number of the file, byte offset and byte length."""


class Places:
    """Keys and places in a temporary database that SQLite spills to disk and removes with the process.

    A run of a hundred thousand items has half a million exchanges with models: in a `dict`, their keys alone would take
    a hundred megabytes. Raises `OSError` where the temporary folder is full. Calls must not overlap.
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        # What is lost with the process is made again from the files.
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(
            "CREATE TABLE places (key BLOB PRIMARY KEY, file INTEGER, offset INTEGER, length INTEGER) WITHOUT ROWID"
        )
        self._database.execute("BEGIN")
        self._count = 0

    def __contains__(self, key: str) -> bool:
        return self.get(key) is not None

    def __len__(self) -> int:
        return self._count

    def get(self, key: str) -> Place | None:
        return self._execute("SELECT file, offset, length FROM places WHERE key = ?", _bytes(key))

    def put(self, key: str, place: Place) -> None:
        """Note a place; the last one of a key counts."""
        self._count += key not in self
        self._execute("REPLACE INTO places VALUES (?, ?, ?, ?)", _bytes(key), *place)

    def _execute(self, statement: str, *values: bytes | int) -> Place | None:
        try:
            place: Place | None = self._database.execute(statement, values).fetchone()
        except sqlite3.OperationalError as error:
            what = f"the temporary folder cannot be used ({error}): name another in TMPDIR"
            raise OSError(errno.ENOSPC, what) from None
        return place


def _bytes(key: str) -> bytes:
    return key.encode(errors="surrogatepass")
