"""Files of a session that keep outputs which are too long for its conversation.

They are private, bounded in size, readable by the session's own tools without a question, and
deleted with the session.
"""

import logging
import os
import re
import shutil
from hashlib import sha256
from pathlib import Path

from anyio import to_thread

from acp_server.startup.fast_dataclass import frozen_dataclass

logger = logging.getLogger(__name__)

MAX_FILE_CHARACTERS = 32 * 1024 * 1024
MAX_DIRECTORY_BYTES = 256 * 1024 * 1024
MAX_NAME_CHARACTERS = 60
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


@frozen_dataclass
class SavedOutputs:
    """The saved outputs of one session."""

    parent: Path
    session_id: str

    @property
    def directory(self) -> Path:
        """The directory of the files; it need not exist.

        The id is hashed if it is no plain name: clients may send any text as an id.
        """
        is_plain = _PLAIN_NAME.fullmatch(self.session_id) is not None
        return self.parent / (self.session_id if is_plain else _hashed(self.session_id))

    async def save(self, call_id: str, text: str) -> str:
        """Save the output of a call; return the file's path, or an empty text if that failed."""
        try:
            return str(await to_thread.run_sync(self._write, call_id, text))
        except OSError as error:
            logger.warning("cannot save a long output: %s", error)
            return ""

    def _write(self, call_id: str, text: str) -> Path:
        # One by one: `parents` would create the outer directory with the default mode.
        for directory in (self.parent, self.directory):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        data = text[:MAX_FILE_CHARACTERS].encode("utf-8", "replace")
        self._make_room(len(data))
        name = _UNSAFE.sub("-", call_id)[:MAX_NAME_CHARACTERS] or "call"
        path, number = self.directory / f"{name}.txt", 1
        while True:
            try:
                # Exclusive: it neither follows a link nor replaces what an earlier call saved.
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                break
            except FileExistsError:
                number += 1
                path = self.directory / f"{name}-{number}.txt"
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        return path

    def _make_room(self, new_bytes: int) -> None:
        """Delete the oldest outputs if the directory would become too large."""
        files = [(each.stat(), each) for each in self.directory.iterdir()]
        used = sum(status.st_size for status, _ in files) + new_bytes
        for status, path in sorted(files, key=lambda file: file[0].st_mtime_ns):
            if used <= MAX_DIRECTORY_BYTES:
                break
            path.unlink(missing_ok=True)
            used -= status.st_size

    async def delete(self) -> None:
        """Delete all saved outputs."""
        await to_thread.run_sync(lambda: shutil.rmtree(self.directory, ignore_errors=True))


def _hashed(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
