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
from acp_server.text.excerpt import HEAD_SHARE, cut_middle

logger = logging.getLogger(__name__)

MAX_FILE_CHARACTERS = 32 * 1024 * 1024
MAX_DIRECTORY_BYTES = 256 * 1024 * 1024
MAX_NAME_CHARACTERS = 60
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}")


@frozen_dataclass
class SavedExcerpt:
    """An output as the model gets it: whole, or its head and tail and the file with all of it."""

    text: str
    saved_to: str = ""


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
        name = self.session_id
        if _PLAIN_NAME.fullmatch(name) is None:
            name = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return self.parent / name

    async def save(self, call_id: str, text: str) -> str:
        """Save the output of a call; return the file's path, or an empty text if that failed."""
        return await to_thread.run_sync(self.save_now, call_id, text)

    def save_now(self, call_id: str, text: str) -> str:
        """Do the same as `save`, blocking: for threads, and for calls that are being cancelled."""
        data = text[:MAX_FILE_CHARACTERS].encode("utf-8", "replace")
        try:
            return str(self.create(call_id, data, len(data)))
        except OSError as error:
            logger.warning("cannot save a long output: %s", error)
            return ""

    async def excerpt(
        self, call_id: str, text: str, max_characters: int, head_share: float = HEAD_SHARE
    ) -> SavedExcerpt:
        """Return a text; if it is longer, save it and return its head and tail."""
        if len(text) <= max_characters:
            return SavedExcerpt(text)
        arguments = call_id, text, max_characters, head_share
        return await to_thread.run_sync(self.excerpt_now, *arguments)

    def excerpt_now(
        self, call_id: str, text: str, max_characters: int, head_share: float = HEAD_SHARE
    ) -> SavedExcerpt:
        """Do the same as `excerpt`, blocking: for threads, and for calls that are cancelled."""
        if len(text) <= max_characters:
            return SavedExcerpt(text)
        path = self.save_now(call_id, text)
        source = describe_file(path, len(text.splitlines())) if path else ""
        return SavedExcerpt(cut_middle(text, max_characters, source, head_share=head_share), path)

    def create(self, call_id: str, data: bytes, max_bytes: int) -> Path:
        """Create a file that begins with `data` and may grow to `max_bytes`; it blocks.

        Raises:
            OSError: The file cannot be written.
        """
        # One by one: `parents` would create the outer directory with the default mode.
        for directory in (self.parent, self.directory):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._make_room(max_bytes)
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
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
        except OSError:  # such as a full disk: no part of it is kept
            path.unlink(missing_ok=True)
            raise
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


def describe_file(path: str, lines: int) -> str:
    """Return the name of a saved output with its size, for the model."""
    return f"{path} ({lines:,} lines; search_files and read_file can open it)"
