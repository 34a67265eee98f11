"""Which of the two counts, when the editor shows one text and the disk holds another."""

from pathlib import Path

import pytest

from acp_server.tools.files.encoding import TextForm
from tests.support.fake_editors import NewlineKeepingEditor, NonSavingEditor, ReadOnlyEditor
from tests.tools.files.file_services import create_service


def run_command(path: Path, text: str | None) -> None:
    """Change a file as a command of ours does: behind the editor."""
    if text is None:
        path.unlink()
    else:
        path.write_bytes(text.encode())


async def test_the_disk_wins_after_a_command_changed_a_file(tmp_path: Path) -> None:
    setup = create_service(tmp_path, NewlineKeepingEditor())
    path = setup.write_file("a.txt", "old\r\n")
    await setup.read("a.txt")
    run_command(path, "new\r\n")
    setup.files.note_command()
    for _ in range(2):
        snapshot = await setup.read("a.txt")
        assert (snapshot.text, snapshot.is_saved) == ("new\n", True)
    await setup.edit("a.txt", "new", "newer")
    assert path.read_bytes() == b"newer\r\n"


async def test_the_disk_wins_after_a_command_deleted_a_file(tmp_path: Path) -> None:
    setup = create_service(tmp_path, NewlineKeepingEditor())
    path = setup.write_file("a.txt", "old\n")
    await setup.read("a.txt")
    run_command(path, None)
    setup.files.note_command()
    assert await setup.read_if_exists("a.txt") is None


async def test_the_disk_wins_after_a_command_changed_a_written_file(tmp_path: Path) -> None:
    setup = create_service(tmp_path, NewlineKeepingEditor())
    path = setup.write_file("a.txt", "old\r\n")
    await setup.write("a.txt", "written\n")
    run_command(path, "formatted\n")
    setup.files.note_command()
    snapshot = await setup.read("a.txt")
    assert (snapshot.text, snapshot.form) == ("formatted\n", TextForm())


async def test_text_typed_by_the_user_wins_over_a_command(tmp_path: Path) -> None:
    editor = NewlineKeepingEditor()
    setup = create_service(tmp_path, editor)
    path = setup.write_file("a.txt", "old\n")
    await setup.read("a.txt")
    editor.type_text(path, "typed\n")
    run_command(path, "new\n")
    setup.files.note_command()
    snapshot = await setup.read("a.txt")
    assert (snapshot.text, snapshot.is_saved) == ("typed\n", False)


async def test_unsaved_text_in_the_editor_wins_over_a_command(tmp_path: Path) -> None:
    setup = create_service(tmp_path, NonSavingEditor())
    path = setup.write_file("a.txt", "old\n")
    await setup.write("a.txt", "written\n")
    run_command(path, "new\n")
    setup.files.note_command()
    assert await setup.text("a.txt") == "written\n"


async def test_text_restored_to_its_state_before_a_command_wins(tmp_path: Path) -> None:
    """The editor's text is the one that was out of date; by now we wrote it ourselves."""
    setup = create_service(tmp_path, NonSavingEditor())
    path = setup.write_file("a.txt", "old\n")
    await setup.read("a.txt")
    run_command(path, "new\n")
    setup.files.note_command()
    written = await setup.write("a.txt", "old\n")
    assert written.text == "old\n"
    assert await setup.text("a.txt") == "old\n"


async def test_without_a_command_the_editor_wins(tmp_path: Path) -> None:
    """It may be the user who saved, then took it back."""
    setup = create_service(tmp_path, NewlineKeepingEditor())
    path = setup.write_file("a.txt", "old\n")
    await setup.read("a.txt")
    path.write_text("new\n")
    snapshot = await setup.read("a.txt")
    assert (snapshot.text, snapshot.is_saved) == ("old\n", False)


async def test_a_command_before_the_first_read_has_no_effect(tmp_path: Path) -> None:
    setup = create_service(tmp_path, NewlineKeepingEditor())
    path = setup.write_file("a.txt", "old\n")
    setup.files.note_command()
    await setup.read("a.txt")
    path.write_text("new\n")
    assert await setup.text("a.txt") == "old\n"


async def test_a_reloaded_buffer_is_in_sync_again(tmp_path: Path) -> None:
    editor = NewlineKeepingEditor()
    setup = create_service(tmp_path, editor)
    path = setup.write_file("a.txt", "old\n")
    await setup.read("a.txt")
    run_command(path, "new\n")
    setup.files.note_command()
    editor.reload(path)
    assert await setup.text("a.txt") == "new\n"
    editor.type_text(path, "old\n")
    assert await setup.text("a.txt") == "old\n"


@pytest.mark.parametrize("typed", [None, "typed\n"])
async def test_a_write_that_bypassed_the_editor_wins_over_its_old_text(
    tmp_path: Path, typed: str | None
) -> None:
    editor = ReadOnlyEditor()
    setup = create_service(tmp_path, editor)
    path = setup.write_file("a.txt", "old\n")
    if typed is not None:
        editor.type_text(path, typed)
    await setup.write("a.txt", "written\n")
    assert await setup.text("a.txt") == "written\n"
    editor.type_text(path, "typed later\n")
    assert await setup.text("a.txt") == "typed later\n"


async def test_a_file_whose_newlines_the_editor_changed_is_unsaved(tmp_path: Path) -> None:
    editor = NewlineKeepingEditor()
    setup = create_service(tmp_path, editor)
    editor.type_text(setup.write_file("a.txt", "a\n"), "a\r\n")
    snapshot = await setup.read("a.txt")
    assert (snapshot.text, snapshot.form) == ("a\n", TextForm(newline="\r\n"))
    assert not snapshot.is_saved
