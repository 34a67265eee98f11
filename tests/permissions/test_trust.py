"""Trust in a workspace: asked once, kept by its resolved path, taken back by a command."""

import errno
import json
import os
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from acp_server.permissions.trust import (
    ApprovalStore,
    FixedTrust,
    NoTrustAsker,
    ProjectUse,
    TrustStore,
    TrustVerdict,
    WorkspaceTrust,
)

USES = ("mode in .hermes.md",)


class FakeTrustAsker:
    """Answers the same each time, and remembers what it was asked."""

    def __init__(self, verdict: TrustVerdict | None) -> None:
        self.verdict: TrustVerdict | None = verdict
        self.asked: list[tuple[Path, Sequence[str]]] = []

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> TrustVerdict | None:
        """Answer."""
        self.asked.append((root, uses))
        await anyio.lowlevel.checkpoint()
        return self.verdict

    async def ask_use(self, root: Path, phrase: str) -> TrustVerdict | None:
        return await self.ask_trust(root, (phrase,))


@pytest.mark.parametrize(
    ("verdict", "given", "kept"),
    [("trusted", True, "trusted"), ("declined", False, "declined"), (None, False, None)],
)
async def test_a_trust_answer_is_applied_and_saved(
    tmp_path: Path, verdict: TrustVerdict | None, *, given: bool, kept: TrustVerdict | None
) -> None:
    store, asker = TrustStore(tmp_path / "acp" / "trust.json"), FakeTrustAsker(verdict)
    trust = WorkspaceTrust(store, asker, tmp_path)
    assert await trust.is_trusted(USES) is given
    assert asker.asked == [(tmp_path, USES)]
    assert store.verdict(tmp_path) == kept


async def test_trust_is_asked_once_per_session_and_not_again_after_an_answer(
    tmp_path: Path,
) -> None:
    store, asker = TrustStore(tmp_path / "trust.json"), FakeTrustAsker(None)
    trust = WorkspaceTrust(store, asker, tmp_path)
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(trust.is_trusted, USES)
    asker.verdict = "trusted"
    assert await WorkspaceTrust(store, asker, tmp_path).is_trusted(USES)
    assert await WorkspaceTrust(store, asker, tmp_path).is_trusted(USES)
    assert len(asker.asked) == 2


class FullStore(TrustStore):
    """A store on a disk that is full."""

    def save(self, root: Path, verdict: TrustVerdict) -> None:
        del root, verdict
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_an_answer_that_cannot_be_saved_applies_to_the_session(tmp_path: Path) -> None:
    store, asker = FullStore(tmp_path / "trust.json"), FakeTrustAsker("trusted")
    trust = WorkspaceTrust(store, asker, tmp_path)
    assert [await trust.is_trusted(USES) for _ in range(2)] == [True, True]
    assert (len(asker.asked), store.verdict(tmp_path)) == (1, None)


async def test_nothing_is_asked_when_the_project_requests_nothing(tmp_path: Path) -> None:
    asker = FakeTrustAsker("trusted")
    trust = WorkspaceTrust(TrustStore(tmp_path / "trust.json"), asker, tmp_path)
    assert not await trust.is_trusted(())
    assert asker.asked == []


def test_a_root_is_identified_by_its_resolved_path(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    store = TrustStore(tmp_path / "trust.json")
    store.save(link, "trusted")
    assert store.verdict(real) == "trusted"
    assert json.loads((tmp_path / "trust.json").read_text()) == {str(real): "trusted"}
    assert store.revoke(real)
    assert not store.revoke(real)
    assert store.verdict(link) is None


def test_a_broken_file_trusts_nothing_and_is_moved_aside_on_the_next_save(
    tmp_path: Path,
) -> None:
    file = tmp_path / "trust.json"
    file.write_text("{")
    store = TrustStore(file)
    assert store.verdict(tmp_path) is None
    store.save(tmp_path, "trusted")
    assert store.verdict(tmp_path) == "trusted"
    assert (tmp_path / "trust.json.broken").read_text() == "{"
    assert file.stat().st_mode & 0o777 == 0o600


async def test_a_use_that_the_question_did_not_name_is_asked_about_once(tmp_path: Path) -> None:
    asker, approvals = FakeTrustAsker("trusted"), ApprovalStore(tmp_path / "uses.json")
    named, new = ProjectUse("the server a", "1"), ProjectUse("the server b", "2")

    def open_session() -> WorkspaceTrust:
        store = TrustStore(tmp_path / "trust.json")
        return WorkspaceTrust(store, asker, tmp_path, approvals)

    trust = open_session()
    assert await trust.is_trusted((named.phrase,))
    assert await trust.approved((named,)) == ["1"]
    asker.verdict = "declined"
    for _ in range(2):
        assert await open_session().approved((named, new)) == ["1"]
    assert [uses for _, uses in asker.asked] == [(named.phrase,), (new.phrase,)]


async def test_without_a_store_of_approvals_trust_covers_all_uses(tmp_path: Path) -> None:
    trust = WorkspaceTrust(FixedTrust("trusted"), NoTrustAsker(), tmp_path)
    assert await trust.approved((ProjectUse("the server a", "1"),)) == ["1"]
