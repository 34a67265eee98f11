"""How the files of a turn are restored: which questions are asked, and what is left undone."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from acp_server.checkpoints.errors import CheckpointError
from acp_server.checkpoints.files import FileImage
from acp_server.checkpoints.objects import object_name
from acp_server.checkpoints.records import RecordedChange
from acp_server.checkpoints.turn_recorder import TouchedFile
from acp_server.permissions.effects import RestoreFiles
from acp_server.permissions.gate import REJECTED, UNATTENDED, Refusal
from acp_server.permissions.questions import PermissionQuestion
from acp_server.tools.edit import restore
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallAppeared, CallChanged, FileDiff, Location
from tests.checkpoints.restore_setup import (
    AnsweringGate,
    RestoreSetup,
    create_restore_setup,
    text_file,
)
from tests.support.fake_editors import VerbatimEditor
from tests.support.user_texts import CANNOT_BE_READ, COULD_NOT_BE_SAVED, USER_DID_NOT_PERMIT

OLD, TURN, LATER = text_file("old\n"), text_file("turn\n"), text_file("later\n")
RULES_FORBID = "the rules of this run do not allow it"


async def turn_wrote(
    setup: RestoreSetup, *names: str, now: FileImage = TURN
) -> list[RecordedChange]:
    """Write files as a turn has left them, or as they were changed since."""
    for name in names:
        setup.service.write_file(name, now.data, now.mode)
    return [await setup.change(name, OLD, TURN) for name in names]


def texts(setup: RestoreSetup, *names: str) -> list[str]:
    return [(setup.root / name).read_text() for name in names]


async def test_unchanged_files_are_asked_about_together_and_changed_ones_one_by_one(
    tmp_path: Path,
) -> None:
    setup = create_restore_setup(tmp_path)
    changes = await turn_wrote(setup, "a", "b") + await turn_wrote(setup, "c", "d", now=LATER)
    result = await setup.restore(*changes, notes=["a note"])
    assert setup.titles == [
        "Restore 2 files?",
        "Restore c (changed since that turn)?",
        "Restore d (changed since that turn)?",
    ]
    assert setup.lost == [(), ("c",), ("d",)]
    notes = [Text("a note") in question.content for question in setup.gate.asked]
    assert notes == [True, False, False]
    assert setup.names(result.done) == ["a", "b", "c", "d"]
    assert (result.failures, texts(setup, "a", "b", "c", "d")) == ({}, ["old\n"] * 4)


@pytest.mark.parametrize(("count", "questions"), [(10, 10), (11, 1)])
async def test_more_than_ten_changed_files_are_asked_about_in_one_question(
    tmp_path: Path, count: int, questions: int
) -> None:
    setup = create_restore_setup(tmp_path)
    names = [f"{number:02}" for number in range(count)]
    result = await setup.restore(*await turn_wrote(setup, *names, now=LATER), notes=["a note"])
    assert len(setup.gate.asked) == questions
    assert [name for lost in setup.lost for name in lost] == names
    assert setup.names(result.done) == names


async def test_the_question_shows_the_changes_and_names_the_paths(tmp_path: Path) -> None:
    setup = create_restore_setup(tmp_path)
    setup.service.write_file("target", "target\n")
    (setup.root / "link").symlink_to("target")
    link = FileImage("link", b"target")
    changes = [*await turn_wrote(setup, "a"), await setup.change("link", OLD, link)]
    await setup.restore(*changes)
    (question,) = setup.gate.asked
    path, link_path = setup.root / "a", setup.root / "link"
    assert isinstance(question.effect, RestoreFiles)
    assert [target.link for target in question.effect.targets] == [path, link_path]
    assert question.locations == (Location(str(path)), Location(str(link_path)))
    assert question.kind == "edit"
    assert question.content[0] == FileDiff(str(path), "turn\n", "old\n")
    assert texts(setup, "target", "link") == ["target\n", "old\n"]
    assert not link_path.is_symlink()


@pytest.mark.parametrize("is_preview_allowed", [True, False])
async def test_contents_are_shown_before_the_question_only_if_they_are_not_secret(
    tmp_path: Path, *, is_preview_allowed: bool
) -> None:
    shown_before: list[bool] = []
    setup = create_restore_setup(tmp_path)

    def has_content() -> bool:
        return any(isinstance(each, CallChanged) and each.content for each in setup.sink.events)

    def answer(question: PermissionQuestion) -> Refusal | None:
        del question
        shown_before.append(has_content())
        return None

    setup.gate.answer = answer
    setup.gate.is_preview_allowed = is_preview_allowed
    await setup.restore(*await turn_wrote(setup, "a"))
    (appeared,) = (each for each in setup.sink.events if isinstance(each, CallAppeared))
    assert (appeared.title, appeared.kind) == ("Restore a", "edit")
    assert (shown_before, has_content()) == ([is_preview_allowed], True)
    assert setup.call_statuses == ["in_progress", "completed"]


@pytest.mark.parametrize(
    ("refusal", "now", "reason"),
    [
        pytest.param(Refusal(REJECTED), TURN, USER_DID_NOT_PERMIT, id="rejected"),
        pytest.param(Refusal("plan mode"), TURN, "plan mode", id="another reason"),
        pytest.param(Refusal(UNATTENDED), TURN, RULES_FORBID, id="no rule can allow it"),
        pytest.param(
            Refusal(UNATTENDED, is_allowable=True),
            TURN,
            f"{RULES_FORBID}. To restore it all the same: `--allow 'edit(a b)'`",
            id="a rule can allow it",
        ),
        pytest.param(
            Refusal(UNATTENDED, is_allowable=True),
            LATER,
            "it was changed since that turn. To restore it all the same: `--allow 'edit(a b)'`",
            id="changed since",
        ),
    ],
)
async def test_a_refused_file_stays_and_the_reason_is_for_the_user(
    tmp_path: Path, refusal: Refusal, now: FileImage, reason: str
) -> None:
    setup = create_restore_setup(tmp_path, AnsweringGate(lambda _: refusal))
    result = await setup.restore(*await turn_wrote(setup, "a b", now=now))
    assert (result.done, texts(setup, "a b")) == ([], [now.data.decode()])
    assert result.failures == {str(setup.root / "a b"): reason}
    assert setup.call_statuses == ["failed"]


async def test_the_turn_of_another_session_is_named(tmp_path: Path) -> None:
    refusal = Refusal(UNATTENDED, is_allowable=True)
    setup = create_restore_setup(tmp_path, AnsweringGate(lambda _: refusal))
    (known,) = await turn_wrote(setup, "a")
    other = setup.manager_of("other")
    async with other.turn("theirs"):
        async with other.editing([TouchedFile(setup.root / "a", OLD)]):
            pass
        await other.after_edit([TouchedFile(setup.root / "a", TURN)])
    result = await setup.restore(
        RecordedChange(known.path, known.before, known.after, is_own=False)
    )
    writer = "by “theirs” in the session “other”"
    assert setup.titles == [f"Restore a (changed {writer})?"]
    assert setup.lost == [(f"a ({writer})",)]
    assert result.failures[known.path].startswith(f"it was changed {writer}. To restore it")


async def test_a_restore_can_be_undone(tmp_path: Path) -> None:
    setup = create_restore_setup(tmp_path)
    changes = await turn_wrote(setup, "a", now=LATER)
    await setup.restore(*changes)
    (record, *_) = await setup.manager.records()
    (change,) = record.changes
    assert (change.before, change.after) == (LATER.version, OLD.version)
    assert change.before is not None
    assert await setup.manager.read(change.before.blob) == LATER.data


async def test_nothing_is_touched_that_could_not_be_saved_and_later_batches_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = create_restore_setup(tmp_path)
    names = [f"{number:03}" for number in range(7)]
    changes = await turn_wrote(setup, *names)
    save = setup.manager.store_or_fail
    saved: list[list[str]] = []

    async def save_some(touched: Sequence[TouchedFile]) -> None:
        saved.append([each.path.name for each in touched])
        if len(saved) == 1:
            raise CheckpointError("disk full")
        if len(saved) == 2:
            raise OSError("no space")
        await save(touched)

    monkeypatch.setattr(restore, "BATCH_SIZE", 2)
    monkeypatch.setattr(setup.manager, "store_or_fail", save_some)
    result = await setup.restore(*changes)
    assert saved == [["000", "001"], ["002", "003"], ["004", "005"], ["006"]]
    assert setup.names(result.done) == names[4:]
    not_saved = f"its current content {COULD_NOT_BE_SAVED}: "
    assert [result.failures[str(setup.root / name)] for name in names[:4]] == [
        *[f"{not_saved}disk full"] * 2,
        *[f"{not_saved}no space"] * 2,
    ]
    assert texts(setup, *names) == ["turn\n"] * 4 + ["old\n"] * 3
    assert setup.call_statuses == ["in_progress", "failed"]


def test_a_hundred_files_are_saved_at_a_time() -> None:
    assert restore.BATCH_SIZE == 100


async def test_a_file_whose_stored_content_is_gone_stays_and_the_others_are_restored(
    tmp_path: Path,
) -> None:
    setup = create_restore_setup(tmp_path)
    setup.service.write_file("gone", TURN.data)
    changes = [await setup.change("gone", LATER, TURN), *await turn_wrote(setup, "a")]

    def lose_content(question: PermissionQuestion) -> Refusal | None:
        del question
        digest = object_name(LATER.data)
        for path in setup.config_home.rglob(f"*{digest[-20:]}*"):
            path.unlink()
        return None

    setup.gate.answer = lose_content
    result = await setup.restore(*changes)
    assert (setup.names(result.done), texts(setup, "gone")) == (["a"], ["turn\n"])
    (reason,) = result.failures.values()
    assert CANNOT_BE_READ in reason
    assert setup.call_statuses == ["in_progress", "failed"]


async def test_a_file_that_changes_after_the_question_stays(tmp_path: Path) -> None:
    setup = create_restore_setup(tmp_path)

    def change_meanwhile(question: PermissionQuestion) -> Refusal | None:
        del question
        (setup.root / "a").write_text("typed while asked\n")
        return None

    setup.gate.answer = change_meanwhile
    result = await setup.restore(*await turn_wrote(setup, "a"))
    assert (result.done, texts(setup, "a")) == ([], ["typed while asked\n"])
    assert result.failures[str(setup.root / "a")]


async def test_created_directories_go_if_they_are_empty(tmp_path: Path) -> None:
    setup = create_restore_setup(tmp_path)
    for name in ("new/deep/a", "kept/b"):
        setup.service.write_file(name, TURN.data)
    setup.service.write_file("kept/theirs", "x")
    changes = [await setup.change(name, None, TURN) for name in ("new/deep/a", "kept/b")]
    folders = [str(setup.root / name) for name in ("new", "kept", "new/deep")]
    result = await setup.restore(*changes, folders=folders)
    assert result.failures == {}
    assert sorted(each.name for each in setup.root.iterdir()) == ["kept"]


@pytest.mark.parametrize(
    ("inside", "is_restored"),
    [
        pytest.param([], True, id="empty"),
        pytest.param(["deep/er", "other"], True, id="directories"),
        pytest.param(["deep/er/file.txt"], False, id="a file"),
        pytest.param(["deep/link@"], False, id="a link to a directory"),
    ],
)
async def test_a_directory_in_a_files_place_goes_only_if_no_file_is_in_it(
    tmp_path: Path, inside: list[str], *, is_restored: bool
) -> None:
    setup = create_restore_setup(tmp_path)
    folder = setup.root / "a"
    folder.mkdir()
    for name in inside:
        path = folder / name.removesuffix("@")
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("@"):
            path.symlink_to(setup.service.outside)
        elif name.endswith(".txt"):
            path.write_text("theirs")
        else:
            path.mkdir()
    result = await setup.restore(await setup.change("a", OLD, None))
    assert (setup.names(result.done), folder.is_file()) == (["a"] * is_restored, is_restored)
    assert setup.service.outside.exists()


async def test_a_link_to_a_directory_in_a_files_place_stays(tmp_path: Path) -> None:
    """It appears between the plan and the restore, so it is in nobody's record."""
    setup = create_restore_setup(tmp_path)

    def link_meanwhile(question: PermissionQuestion) -> Refusal | None:
        del question
        (setup.service.outside / "empty").mkdir()
        (setup.root / "a").symlink_to(setup.service.outside)
        return None

    setup.gate.answer = link_meanwhile
    result = await setup.restore(await setup.change("a", OLD, None))
    assert (result.done, (setup.root / "a").is_symlink()) == ([], True)
    assert (setup.service.outside / "empty").is_dir()


@pytest.mark.parametrize(
    ("before", "after", "now", "is_through_editor"),
    [
        pytest.param(OLD, TURN, TURN, True, id="text"),
        pytest.param(OLD, None, None, True, id="deleted text"),
        pytest.param(None, TURN, TURN, False, id="created"),
        pytest.param(FileImage("link", b"x"), TURN, TURN, False, id="link"),
        pytest.param(FileImage("file", b"\0", 0o644), TURN, TURN, False, id="binary"),
        pytest.param(
            OLD, text_file("turn\n", 0o444), text_file("turn\n", 0o444), False, id="read-only"
        ),
        pytest.param(
            OLD,
            FileImage("file", b"\0", 0o644),
            FileImage("file", b"\0", 0o644),
            False,
            id="was text",
        ),
    ],
)
async def test_only_writable_text_files_are_restored_through_the_editor(
    tmp_path: Path,
    before: FileImage | None,
    after: FileImage | None,
    now: FileImage | None,
    *,
    is_through_editor: bool,
) -> None:
    editor = VerbatimEditor()
    setup = create_restore_setup(tmp_path, editor=editor)
    path = setup.root / "a"
    if now is not None:
        setup.service.write_file("a", now.data, now.mode)
    result = await setup.restore(await setup.change("a", before, after))
    assert result.failures == {}
    assert (("write", path) in editor.calls) is is_through_editor
    if before is None:
        assert not path.exists()
    elif before.kind == "link":
        assert path.readlink() == Path("x")
    else:
        assert (path.read_bytes(), path.stat().st_mode & 0o777) == (before.data, before.mode)


async def test_an_obstacle_of_the_plan_is_reported_as_left(tmp_path: Path) -> None:
    setup = create_restore_setup(tmp_path)
    changes = await turn_wrote(setup, "a")
    impossible = RecordedChange(str(setup.root / ("n" * 5_000)), None, TURN.version)
    result = await setup.restore(impossible, *changes)
    assert (setup.names(result.done), list(result.failures)) == (["a"], [impossible.path])


async def test_nothing_is_asked_if_nothing_is_to_be_restored(tmp_path: Path) -> None:
    setup = create_restore_setup(tmp_path)
    setup.service.write_file("a", OLD.data)
    result = await setup.restore(await setup.change("a", OLD, TURN))
    assert (setup.gate.asked, result.done, result.failures) == ([], [], {})
