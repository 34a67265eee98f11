"""Whether a workspace's own settings, skills, hooks and servers are used: the user's to say.

Asked once for each root, when something would be used, and kept by its resolved path. Until then
they are listed and not used.
"""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import anyio
from anyio import to_thread

from skills_store.documents import Document, DocumentFile

logger = logging.getLogger(__name__)

Verdict = Literal["trusted", "declined"]


class TrustStore:
    """What was said of each root, in one file of the home folder. All calls block."""

    def __init__(self, file: Path) -> None:
        self._file = DocumentFile(file)

    def verdict(self, root: Path) -> Verdict | None:
        """Return what was said of a workspace; None: nothing yet."""
        return self.all().get(_key(root))

    def all(self) -> Mapping[str, Verdict]:
        """Return every root of which something was said, by its resolved path."""
        found = self._file.read().items()
        return {root: said for root, said in found if said in ("trusted", "declined")}

    def say(self, root: Path, verdict: Verdict) -> None:
        """Keep what is said of a workspace.

        Raises:
            OSError: it cannot be kept.
        """

        def change(document: Document) -> None:
            document[_key(root)] = verdict

        self._file.change(change)

    def revoke(self, root: Path) -> bool:
        """Forget what was said of a workspace; return whether anything was.

        Raises:
            OSError: it cannot be read or written.
        """
        return self._file.drop(_key(root))


class TrustAsker(Protocol):
    """Asks the user."""

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> Verdict | None:
        """Return what they say of a root whose `uses` wait for it; None: not now."""
        ...


class TrustRecord(Protocol):
    """What was said of roots."""

    def verdict(self, root: Path) -> Verdict | None:
        """Return what was said of a workspace; None: nothing yet."""
        ...

    def say(self, root: Path, verdict: Verdict) -> None:
        """Keep what is said of a workspace."""
        ...


class SettledTrust:
    """One verdict on every workspace, settled by whoever started the run; nothing is kept."""

    def __init__(self, verdict: Verdict) -> None:
        self._verdict: Verdict = verdict

    def verdict(self, root: Path) -> Verdict:
        """Return what was settled."""
        del root
        return self._verdict

    def say(self, root: Path, verdict: Verdict) -> None:
        """Keep nothing."""


class NobodyToTrust:
    """Has nobody to ask."""

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> None:
        """Say nothing."""


class TrustKeeper:
    """One session's trust in its workspace."""

    def __init__(self, store: TrustRecord, asker: TrustAsker, root: Path) -> None:
        self._store = store
        self._asker = asker
        self._root = root
        self._was_asked = False
        self._said: Verdict | None = None
        self._lock = anyio.Lock()

    async def is_given(self, uses: Sequence[str]) -> bool:
        """Whether these may be used; asks the first time that nobody knows.

        An answer that cannot be kept holds for this session.
        """
        async with self._lock:
            known = await to_thread.run_sync(self._store.verdict, self._root) or self._said
            if known is None and uses and not self._was_asked:
                self._was_asked = True
                known = self._said = await self._asker.ask_trust(self._root, uses)
                if known is not None:
                    await self._keep(known)
            return known == "trusted"

    async def _keep(self, verdict: Verdict) -> None:
        try:
            await to_thread.run_sync(self._store.say, self._root, verdict)
        except OSError as error:
            logger.warning("what was said of %s is not kept: %s", self._root, error)


class ContentTrust:
    """Blocked files of instructions that the user has read and allows, each in exactly one state.

    By resolved path and SHA-256: any change of the file ends it. All calls block.
    """

    def __init__(self, file: Path) -> None:
        self._file = DocumentFile(file)

    def is_given(self, path: Path, sha256: str) -> bool:
        """Whether this content of this file is trusted."""
        return self._file.read().get(_key(path)) == sha256

    def all(self) -> Mapping[str, str]:
        """Return the digests of all trusted files, by their resolved paths."""
        return {path: said for path, said in self._file.read().items() if isinstance(said, str)}

    def give(self, path: Path, sha256: str) -> None:
        """Trust a content.

        Raises:
            OSError: it cannot be kept.
        """

        def change(document: Document) -> None:
            document[_key(path)] = sha256

        self._file.change(change)

    def revoke(self, path: Path) -> bool:
        """Trust a file no longer; return whether it was.

        Raises:
            OSError: it cannot be read or written.
        """
        return self._file.drop(_key(path))


def _key(path: Path) -> str:
    return str(path.resolve())
