"""Which files an undo restores, in which order, and how their changes are shown."""

import os
from pathlib import Path

import pytest

from acp_server.checkpoints.files import FileImage
from acp_server.checkpoints.records import FileVersion, RecordedChange, TurnOrigin, TurnRecord
from acp_server.checkpoints.turn_range import TurnRange
from acp_server.checkpoints.turn_recorder import TouchedFile
from acp_server.tools.edit import restore_plan
from acp_server.tools.edit.restore_plan import RestoreStep
from acp_server.turn.conversation import Text
from acp_server.turn.events import FileDiff
from tests.checkpoints.restore_setup import create_restore_setup, text_file
from tests.support.fake_editors import VerbatimEditor

OLD, TURN, LATER = text_file("old\n"), text_file("turn\n"), text_file("later\n")
LINK = FileImage("link", b"a.txt", 0)


def write(path: Path, image: FileImage | None) -> None:
    if image is None:
        path.unlink(missing_ok=True)
    elif image.kind == "link":
        path.symlink_to(image.data.decode())
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(image.data)
        path.chmod(image.mode)


@pytest.mark.parametrize(
    ("now", "is_planned", "is_changed"),
    [
        pytest.param(TURN, True, False, id="as the turn left it"),
        pytest.param(OLD, False, False, id="as before"),
        pytest.param(LATER, True, True, id="changed since"),
        pytest.param(None, True, True, id="deleted since"),
        pytest.param(text_file("turn\n", 0o600), True, True, id="another mode"),
        pytest.param(LINK, True, True, id="a link since"),
    ],
)
async def test_a_file_is_restored_unless_it_is_as_before_the_turn(
    tmp_path: Path, now: FileImage | None, *, is_planned: bool, is_changed: bool
) -> None:
    setup = create_restore_setup(tmp_path)
    change = await setup.change("x.txt", OLD, TURN)
    write(setup.root / "x.txt", now)
    plan = await setup.plan(change)
    changed = [True] * is_planned if is_changed else [False] * is_planned
    assert [step.is_changed_since for step in plan.steps] == changed
    assert plan.changed == (plan.steps if is_changed else ())
    assert plan.unchanged == (() if is_changed else plan.steps)
    assert [step.on_disk for step in plan.steps] == [now.version if now else None] * is_planned


async def test_an_uncertain_state_counts_as_changed_since(tmp_path: Path) -> None:
    setup = create_restore_setup(tmp_path)
    known = await setup.change("x.txt", OLD, TURN)
    write(setup.root / "x.txt", TURN)
    (step,) = (
        await setup.plan(
            RecordedChange(known.path, known.before, known.after, is_after_known=False)
        )
    ).steps
    assert step.is_changed_since


@pytest.mark.parametrize(
    ("disk", "unsaved", "expected"),
    [
        pytest.param(TURN, "turn\n", ["unchanged"], id="saved"),
        pytest.param(TURN, "typed\n", ["changed"], id="typed since"),
        pytest.param(OLD, "turn\n", ["unchanged"], id="the turn's text is not saved"),
        pytest.param(OLD, "typed\n", ["changed"], id="typed over the former text"),
        pytest.param(TURN, "old\n", ["changed"], id="the former text is not saved"),
    ],
)
async def test_unsaved_text_is_what_the_file_is(
    tmp_path: Path, disk: FileImage, unsaved: str, expected: list[str]
) -> None:
    editor = VerbatimEditor()
    setup = create_restore_setup(tmp_path, editor=editor)
    change = await setup.change("x.txt", OLD, TURN)
    path = setup.root / "x.txt"
    write(path, disk)
    editor.type_text(path, unsaved)
    (step,) = (await setup.plan(change)).steps
    assert ["changed" if step.is_changed_since else "unchanged"] == expected
    assert step.is_unsaved == (unsaved.encode() != disk.data)
    current = step.current()
    assert current is not None
    assert current.data == unsaved.encode()


async def test_a_link_is_not_read_through_the_editor(tmp_path: Path) -> None:
    editor = VerbatimEditor()
    setup = create_restore_setup(tmp_path, editor=editor)
    write(setup.root / "a.txt", OLD)
    write(setup.root / "x.txt", LINK)
    editor.type_text(setup.root / "a.txt", "typed\n")
    (step,) = (await setup.plan(await setup.change("x.txt", OLD, LINK))).steps
    assert (step.snapshot, step.is_changed_since, step.current()) == (None, False, LINK)


async def test_a_file_below_a_linked_directory_counts_as_missing(tmp_path: Path) -> None:
    setup = create_restore_setup(tmp_path)
    change = await setup.change("folder/x.txt", OLD, TURN)
    write(setup.service.outside / "x.txt", TURN)
    (setup.root / "folder").symlink_to(setup.service.outside)
    (step,) = (await setup.plan(change)).steps
    assert (step.on_disk, step.snapshot, step.is_changed_since) == (None, None, True)


async def test_deletions_come_first_and_the_deepest_path_first(tmp_path: Path) -> None:
    setup = create_restore_setup(tmp_path)
    changes: list[RecordedChange] = []
    for name in ("b", "a", "d/e/f", "d/e/a", "d/x"):
        changes.append(await setup.change(f"new-{name}", None, TURN))
        write(setup.root / f"new-{name}", TURN)
        changes.append(await setup.change(f"old-{name}", OLD, None))
    plan = await setup.plan(*changes)
    order = ["d/e/a", "d/e/f", "d/x", "a", "b"]
    assert setup.names([str(step.path) for step in plan.steps]) == [
        *(f"new-{name}" for name in order),
        *(f"old-{name}" for name in order),
    ]


async def test_what_cannot_be_read_is_an_obstacle_and_the_others_are_planned(
    tmp_path: Path,
) -> None:
    setup = create_restore_setup(tmp_path)
    os.mkfifo(setup.root / "pipe")
    write(setup.root / "x.txt", TURN)
    plan = await setup.plan(
        await setup.change("pipe", OLD, TURN), await setup.change("x.txt", OLD, TURN)
    )
    assert setup.names([str(step.path) for step in plan.steps]) == ["x.txt"]
    assert plan.obstacles == {str(setup.root / "pipe"): "pipe is not a regular file"}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(13, "Permission denied"), "Permission denied"),
        (OSError("no number"), "no number"),
    ],
)
async def test_the_reason_of_the_system_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, reason: str
) -> None:
    setup = create_restore_setup(tmp_path)
    change = await setup.change("x.txt", OLD, TURN)

    def refuse(path: Path) -> FileImage | None:
        del path
        raise error

    monkeypatch.setattr(restore_plan, "read_file_image", refuse)
    plan = await setup.plan(change)
    assert (plan.steps, plan.obstacles) == ((), {change.path: reason})


async def test_an_impossible_path_is_an_obstacle(tmp_path: Path) -> None:
    setup = create_restore_setup(tmp_path)
    change = RecordedChange(str(setup.root / ("n" * 5_000)), None, TURN.version)
    plan = await setup.plan(change)
    assert (plan.steps, list(plan.obstacles)) == ((), [change.path])


@pytest.mark.parametrize(
    ("by_other", "is_own", "is_changed"),
    [
        pytest.param("x.txt", True, False, id="the turn's own edit"),
        pytest.param("x.txt", False, True, id="found by comparing"),
        pytest.param("other.txt", False, False, id="another file"),
    ],
)
async def test_a_file_that_another_session_may_have_written_counts_as_changed_since(
    tmp_path: Path, by_other: str, *, is_own: bool, is_changed: bool
) -> None:
    setup = create_restore_setup(tmp_path)
    known = await setup.change("x.txt", OLD, TURN)
    other = setup.manager_of("other")
    write(setup.root / "x.txt", TURN)
    async with other.turn("theirs"):
        path = setup.root / by_other
        async with other.editing([TouchedFile(path, OLD)]):
            pass
        await other.after_edit([TouchedFile(path, TURN)])
    (step,) = (
        await setup.plan(RecordedChange(known.path, known.before, known.after, is_own=is_own))
    ).steps
    assert step.is_changed_since is is_changed
    assert (step.changed_by.session_id if step.changed_by else None) == (
        "other" if is_changed else None
    )


async def describe(
    tmp_path: Path, before: FileImage | None, now: FileImage | None
) -> tuple[object, ...]:
    setup = create_restore_setup(tmp_path)
    write(setup.root / "a.txt", OLD)
    change = await setup.change("x", before, now)
    write(setup.root / "x", now)
    return await setup.describe(*(await setup.plan(change)).steps)


@pytest.mark.parametrize(
    ("before", "now", "old", "new"),
    [
        pytest.param(OLD, TURN, "turn\n", "old\n", id="changed"),
        pytest.param(None, TURN, "turn\n", "", id="created"),
        pytest.param(OLD, None, None, "old\n", id="deleted"),
        pytest.param(text_file(""), None, None, "", id="empty"),
    ],
)
async def test_a_change_of_text_is_shown_as_a_diff(
    tmp_path: Path, before: FileImage | None, now: FileImage | None, old: str | None, new: str
) -> None:
    shown = await describe(tmp_path, before, now)
    assert shown == (FileDiff(str(tmp_path / "workspace/x"), old, new),)


@pytest.mark.parametrize(
    ("before", "now", "line"),
    [
        pytest.param(
            FileImage("file", b"\0" * 1_234, 0o644),
            TURN,
            "a file of 5 bytes, mode 644 → a file of 1,234 bytes, mode 644",
            id="binary",
        ),
        pytest.param(LINK, TURN, "a file of 5 bytes, mode 644 → a link to 'a.txt'", id="link"),
        pytest.param(None, LINK, "a link to 'a.txt' → no file", id="new link"),
        pytest.param(
            text_file("turn\n", 0o755),
            TURN,
            "a file of 5 bytes, mode 644 → a file of 5 bytes, mode 755",
            id="mode",
        ),
    ],
)
async def test_what_is_no_text_is_listed(
    tmp_path: Path, before: FileImage | None, now: FileImage | None, line: str
) -> None:
    shown = await describe(tmp_path, before, now)
    assert shown == (Text(f"- `{tmp_path / 'workspace/x'}`: {line}"),)


async def test_a_text_with_a_new_mode_is_shown_and_listed(tmp_path: Path) -> None:
    shown = await describe(tmp_path, text_file("old\n", 0o755), TURN)
    path = tmp_path / "workspace/x"
    assert shown == (
        FileDiff(str(path), "turn\n", "old\n"),
        Text(f"- `{path}`: a file of 5 bytes, mode 644 → a file of 4 bytes, mode 755"),
    )


@pytest.mark.parametrize(("limit", "shown_files"), [(10, 2), (9, 1), (18, 2), (19, 3), (0, 0)])
async def test_diffs_beyond_the_limit_are_listed_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, shown_files: int
) -> None:
    setup = create_restore_setup(tmp_path)
    changes = [await setup.change(name, OLD, TURN) for name in ("a", "b", "c")]
    for name in ("a", "b", "c"):
        write(setup.root / name, TURN)
    monkeypatch.setattr(restore_plan, "MAX_SHOWN_CHARACTERS", limit)  # a diff has 9 characters
    shown = await setup.describe(*(await setup.plan(*changes)).steps)
    diffs = [each for each in shown if isinstance(each, FileDiff)]
    assert setup.names([each.path for each in diffs]) == ["a", "b", "c"][:shown_files]
    lines = [each.text for each in shown if isinstance(each, Text)]
    listed = "\n".join(lines).splitlines()
    assert len(listed) == 3 - shown_files


def test_a_megabyte_of_diffs_is_shown() -> None:
    assert restore_plan.MAX_SHOWN_CHARACTERS == 1_048_576


async def test_a_file_without_its_stored_content_is_left_out_with_the_reason(
    tmp_path: Path,
) -> None:
    setup = create_restore_setup(tmp_path)
    missing = FileVersion("file", "0" * 64, 0o644)
    os.mkfifo(setup.root / "pipe")
    for name in ("gone.txt", "x.txt"):
        write(setup.root / name, TURN)
    plan = await setup.plan(
        RecordedChange(str(setup.root / "gone.txt"), missing, TURN.version),
        await setup.change("x.txt", OLD, TURN),
        await setup.change("pipe", OLD, TURN),
    )
    assert len(plan.steps) == 2
    readable = await setup.planner.exclude_unreadable(plan)
    assert setup.names([str(step.path) for step in readable.steps]) == ["x.txt"]
    assert setup.names(list(readable.obstacles)) == ["pipe", "gone.txt"]
    assert readable.obstacles[str(setup.root / "gone.txt")]


async def test_the_original_comes_with_its_mode_and_kind(tmp_path: Path) -> None:
    setup = create_restore_setup(tmp_path)
    originals: list[FileImage | None] = []
    for name, image in (("a", text_file("old\n", 0o600)), ("b", LINK), ("c", None)):
        change = await setup.change(name, image, TURN)
        write(setup.root / name, TURN)
        (step,) = (await setup.plan(change)).steps
        originals.append(await setup.planner.load_original(step))
    assert originals == [text_file("old\n", 0o600), LINK, None]


async def test_steps_and_plans_cannot_be_changed(tmp_path: Path) -> None:
    setup = create_restore_setup(tmp_path)
    write(setup.root / "x.txt", TURN)
    plan = await setup.plan(await setup.change("x.txt", OLD, TURN))
    for value, name in ((plan, "steps"), (plan.steps[0], "path")):
        with pytest.raises(AttributeError):
            setattr(value, name, None)
    record = TurnRecord("1", TurnOrigin("s", "go", 0.0))
    assert (await setup.planner.plan(TurnRange((record,)))).steps == ()
    assert isinstance(plan.steps[0], RestoreStep)
