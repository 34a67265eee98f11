"""Workspace trust: whether the settings, skills, hooks and servers of a workspace may be used.

The user is asked once for each root, when one of these would be used for the first time. The answer
is saved by resolved path. Until then they are listed but not used.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

import anyio
from anyio import to_thread

from acp_server.startup.fast_dataclass import frozen_dataclass
from skills_store.json_file import JsonFile, JsonObject

logger = logging.getLogger(__name__)

TrustVerdict = Literal["trusted", "declined"]


class TrustStore:
    """Saved trust decisions, one per root, in a file of the home directory. All calls block."""

    def __init__(self, file: Path) -> None:
        self._file = JsonFile(file)

    def verdict(self, root: Path) -> TrustVerdict | None:
        """Return the decision on a workspace; None if there is none yet."""
        return self.read_all().get(_key(root))

    def read_all(self) -> Mapping[str, TrustVerdict]:
        """Return all decisions by resolved root path."""
        found = self._file.read().items()
        # Unknown values come from a newer version or a broken file; they trust nothing.
        return {
            root: saved_verdict
            for root, saved_verdict in found
            if saved_verdict in ("trusted", "declined")
        }

    def save(self, root: Path, verdict: TrustVerdict) -> None:
        """Save a decision on a workspace.

        Raises:
            OSError: it cannot be saved.
        """

        def change(document: JsonObject) -> None:
            document[_key(root)] = verdict

        self._file.update(change)

    def revoke(self, root: Path) -> bool:
        """Delete the decision on a workspace; return whether there was one.

        Raises:
            OSError: it cannot be read or written.
        """
        return self._file.remove_key(_key(root))


@frozen_dataclass
class ProjectUse:
    """Something of a workspace that the user decides on by itself, such as an MCP server."""

    phrase: str
    """Names it, with what it would do."""
    digest: str
    """Changes whenever the user has to decide again."""


class ApprovalStore:
    """Saved decisions on uses of workspaces, in a file of the home directory. All calls block."""

    def __init__(self, file: Path) -> None:
        self._file = JsonFile(file)

    def verdicts(self, root: Path) -> Mapping[str, TrustVerdict]:
        """Return the decisions on a workspace's uses, by digest."""
        found = self._file.read().get(_key(root))
        pairs = found.items() if isinstance(found, dict) else ()
        return {digest: verdict for digest, verdict in pairs if verdict in ("trusted", "declined")}

    def save(self, root: Path, decided: Mapping[str, TrustVerdict]) -> None:
        """Save decisions on uses of a workspace.

        Raises:
            OSError: they cannot be saved.
        """

        def change(document: JsonObject) -> None:
            before = document.get(_key(root))
            document[_key(root)] = {**(before if isinstance(before, dict) else {}), **decided}

        self._file.update(change)


class TrustAsker(Protocol):
    """Asks the user whether to trust a workspace."""

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> TrustVerdict | None:
        """Return the user's decision on a root whose `uses` need it; None: not now."""
        ...

    async def ask_use(self, root: Path, phrase: str) -> TrustVerdict | None:
        """Return the user's decision on one more use of a trusted root; None: not now."""
        ...


class TrustDecisions(Protocol):
    """Reads and saves trust decisions."""

    def verdict(self, root: Path) -> TrustVerdict | None:
        """Return the decision on a workspace; None if there is none yet."""
        ...

    def save(self, root: Path, verdict: TrustVerdict) -> None:
        """Save a decision on a workspace."""
        ...


class FixedTrust:
    """Fixed trust decision for every workspace, chosen when the run was started; saves nothing."""

    def __init__(self, verdict: TrustVerdict) -> None:
        self._verdict: TrustVerdict = verdict

    def verdict(self, root: Path) -> TrustVerdict:
        """Return the fixed decision."""
        del root
        return self._verdict

    def save(self, root: Path, verdict: TrustVerdict) -> None:
        """Ignore the decision."""


class NoTrustAsker:
    """Asker for a run without a user."""

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> None:
        """Return None: there is no user to ask."""

    async def ask_use(self, root: Path, phrase: str) -> None:
        """Return None: there is no user to ask."""


class WorkspaceTrust:
    """Trust of one session in its workspace."""

    def __init__(
        self,
        store: TrustDecisions,
        asker: TrustAsker,
        root: Path,
        approvals: ApprovalStore | None = None,
    ) -> None:
        """Create it; without `approvals`, trust covers every use of the workspace."""
        self._store = store
        self._approvals = approvals
        self._named: tuple[str, ...] = ()
        """What the question about the workspace named in this session."""
        self._asker = asker
        self._root = root
        self._was_asked = False
        self._answer: TrustVerdict | None = None
        self._lock = anyio.Lock()

    async def is_trusted(self, uses: Sequence[str]) -> bool:
        """Return whether these may be used; ask the user the first time if nothing is known.

        If an answer cannot be saved, it holds for this session.
        """
        # Concurrent callers wait for the one question instead of asking again.
        async with self._lock:
            # Read each time: the user may have run `acp-server trust` meanwhile.
            known = await to_thread.run_sync(self._store.verdict, self._root) or self._answer
            if known is None and uses and not self._was_asked:
                # Before asking: if the question is cancelled or fails, it is not repeated in this
                # session.
                self._was_asked = True
                self._named = tuple(uses)
                known = self._answer = await self._asker.ask_trust(self._root, uses)
                if known is not None:
                    await self._save(known)
            return known == "trusted"

    async def approved(self, uses: Sequence[ProjectUse]) -> Collection[str]:
        """Return the digests of those uses of a trusted workspace that the user approved.

        What the question about the workspace named is approved with it. Any other use, such as a
        server that a later version of a file adds, is asked about once.
        """
        if self._approvals is None:
            return [use.digest for use in uses]
        async with self._lock:
            known = await to_thread.run_sync(self._approvals.verdicts, self._root)
            decided: dict[str, TrustVerdict] = {}
            for use in uses:
                if use.digest in known:
                    continue
                is_named = any(use.phrase in each for each in self._named)
                verdict = "trusted" if is_named else await self._ask_use(use)
                if verdict is not None:
                    decided[use.digest] = verdict
            if decided:
                try:
                    await to_thread.run_sync(self._approvals.save, self._root, decided)
                except OSError as error:
                    logger.warning("could not save approvals of %s: %s", self._root, error)
            verdicts = {**known, **decided}
            return [use.digest for use in uses if verdicts.get(use.digest) == "trusted"]

    async def _ask_use(self, use: ProjectUse) -> TrustVerdict | None:
        return await self._asker.ask_use(self._root, use.phrase)

    async def _save(self, verdict: TrustVerdict) -> None:
        try:
            await to_thread.run_sync(self._store.save, self._root, verdict)
        except OSError as error:
            logger.warning("could not save the trust decision on %s: %s", self._root, error)


class ContentTrust:
    """Blocked instruction files that the user has read and allows, each in exactly one state.

    Keyed by resolved path and SHA-256, so any change of the file ends the trust. All calls block.
    """

    def __init__(self, file: Path) -> None:
        self._file = JsonFile(file)

    def is_trusted(self, path: Path, sha256: str) -> bool:
        """Return whether exactly this content of this file is trusted."""
        return self._file.read().get(_key(path)) == sha256

    def read_all(self) -> Mapping[str, str]:
        """Return the digests of all trusted files, by their resolved paths."""
        return {
            path: digest for path, digest in self._file.read().items() if isinstance(digest, str)
        }

    def trust(self, path: Path, sha256: str) -> None:
        """Trust one content of a file.

        Raises:
            OSError: it cannot be saved.
        """

        def change(document: JsonObject) -> None:
            document[_key(path)] = sha256

        self._file.update(change)

    def revoke(self, path: Path) -> bool:
        """Stop trusting a file; return whether it was trusted.

        Raises:
            OSError: it cannot be read or written.
        """
        return self._file.remove_key(_key(path))


def _key(path: Path) -> str:
    # Resolved, so that another link to a trusted workspace needs no second question, and a link
    # that is pointed elsewhere loses its trust.
    return str(path.resolve())
