"""What moved on between a look and a change is not overwritten."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from acp_server.session.ports.editor import EditorPort
from acp_server.tools.files import disk
from acp_server.tools.files.errors import FileAlreadyExistsError, FileChangedError, FileError
from acp_server.tools.files.snapshot import FileSnapshot, bytes_digest
from tests.support.case_table import each_case
from tests.support.fake_editors import (
    NewlineKeepingEditor,
    NonSavingEditor,
    ReadOnlyEditor,
    RefusingEditor,
    VerbatimEditor,
)
from tests.tools.files.file_services import (
    ALL_EDITORS,
    FileServiceSetup,
    create_fresh_service,
    create_service,
    name_of,
)

EDITORS = pytest.mark.parametrize("make", ALL_EDITORS, ids=name_of)
READING = pytest.mark.parametrize("make", [VerbatimEditor, NewlineKeepingEditor, ReadOnlyEditor])

TEXT = "a\r\n"
TARGET = "sub/target.txt"


def change_text(path: Path) -> None:
    path.write_bytes(b"other\r\n")


def change_newlines(path: Path) -> None:
    path.write_bytes(b"a\n")


def change_mark(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfa\r\n")


def delete(path: Path) -> None:
    path.unlink()


def swap_for_a_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("other.txt")


def swap_for_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def swap_its_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("away"))
    path.parent.symlink_to("away")


CHANGES: tuple[Callable[[Path], None], ...] = (
    change_text,
    change_newlines,
    change_mark,
    delete,
    swap_for_a_link,
    swap_for_a_folder,
    swap_its_folder,
)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@EDITORS
@each_case(("change", "action"), product(CHANGES, ["write", "delete", "move"]))
async def test_a_file_changed_on_disk_is_not_overwritten(
    tmp_path: Path, make: Callable[[], EditorPort], change: Callable[[Path], None], action: str
) -> None:
    setup = create_fresh_service(tmp_path, make())
    path = setup.write_file(TARGET, TEXT)
    setup.write_file("sub/other.txt", "other\n")
    base = await setup.read(TARGET)
    change(path)
    before = contents(setup.root)
    with pytest.raises(FileError):
        await _act(setup, action, base)
    assert contents(setup.root) == before


async def _act(setup: FileServiceSetup, action: str, base: FileSnapshot) -> None:
    match action:
        case "write":
            await setup.files.write(base.resolved, "mine\n", base)
        case "delete":
            await setup.files.delete(base.resolved, base)
        case _:
            await setup.files.move(base.resolved, await setup.files.resolve("to.txt"), base)


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (change_text, "its text is another"),
        (change_newlines, "its encoding or newlines changed"),
        (delete, "it does not exist any more"),
        (swap_for_a_link, "it leads to {root}/sub/other.txt now"),
    ],
    ids=["text", "newlines", "deleted", "link"],
)
async def test_the_error_describes_how_the_file_changed(
    tmp_path: Path, change: Callable[[Path], None], how: str
) -> None:
    setup = create_service(tmp_path)
    path = setup.write_file(TARGET, TEXT)
    base = await setup.read(TARGET)
    change(path)
    with pytest.raises(FileChangedError) as caught:
        await setup.files.write(base.resolved, "mine\n", base)
    assert caught.value.reason == (
        f"{TARGET} changed meanwhile: {how.format(root=setup.root)}; "
        "read it again and redo the change"
    )


@EDITORS
async def test_a_file_that_appeared_is_not_overwritten(
    tmp_path: Path, make: Callable[[], EditorPort]
) -> None:
    setup = create_service(tmp_path, make())
    resolved = await setup.files.resolve("a.txt")
    assert await setup.files.read_if_exists(resolved) is None
    path = setup.write_file("a.txt", "theirs\n")
    with pytest.raises(FileChangedError, match="it exists by now"):
        await setup.files.write(resolved, "mine\n", None)
    assert path.read_text() == "theirs\n"


@READING
async def test_text_typed_since_the_read_is_not_overwritten(
    tmp_path: Path, make: Callable[[], NewlineKeepingEditor]
) -> None:
    editor = make()
    setup = create_service(tmp_path, editor)
    path = setup.write_file("a.txt", TEXT)
    base = await setup.read("a.txt")
    editor.type_text(path, "typed\n")
    with pytest.raises(FileChangedError, match="its text is another"):
        await setup.files.write(base.resolved, "mine\n", base)
    assert (path.read_text(), editor.buffers[path]) == ("a\n", "typed\n")


@READING
async def test_text_saved_since_the_read_is_no_conflict(
    tmp_path: Path, make: Callable[[], NewlineKeepingEditor]
) -> None:
    editor = make()
    setup = create_service(tmp_path, editor)
    path = setup.write_file("a.txt", "a\n")
    editor.type_text(path, "typed\n")
    base = await setup.read("a.txt")
    editor.save(path, "typed\n")
    await setup.files.write(base.resolved, "typed and edited\n", base)
    assert path.read_text() == "typed and edited\n"


async def test_a_disk_change_under_unsaved_text_is_noticed(tmp_path: Path) -> None:
    editor = NewlineKeepingEditor()
    setup = create_service(tmp_path, editor)
    path = setup.write_file("a.txt", "a\n")
    editor.type_text(path, "typed\n")
    base = await setup.read("a.txt")
    path.write_text("pulled\n")
    with pytest.raises(FileChangedError, match="the file on disk was replaced, and the editor"):
        await setup.files.write(base.resolved, "mine\n", base)
    assert path.read_text() == "pulled\n"


@pytest.mark.parametrize("action", ["replace", "remove", "rename"])
async def test_the_disk_is_compared_again_just_before_the_write(
    tmp_path: Path, action: str
) -> None:
    setup = create_service(tmp_path)
    path = setup.write_file("a.txt", "theirs\n")
    resolved, to = await setup.files.resolve("a.txt"), await setup.files.resolve("b.txt")
    acts: dict[str, Callable[[], None]] = {
        "replace": lambda: disk.replace(resolved, b"mine\n", bytes_digest(b"a\n")),
        "remove": lambda: disk.remove(resolved, bytes_digest(b"a\n")),
        "rename": lambda: disk.rename(resolved, to, bytes_digest(b"a\n")),
    }
    with pytest.raises(FileChangedError, match="the file on disk was replaced"):
        acts[action]()
    assert contents(setup.root) == {str(path): b"theirs\n"}


async def test_a_changed_mode_is_preserved_and_no_conflict(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    path = setup.write_file("a.txt", "a\n")
    base = await setup.read("a.txt")
    path.chmod(0o755)
    await setup.files.write(base.resolved, "b\n", base)
    assert path.stat().st_mode & 0o777 == 0o755


async def test_written_content_is_the_base_of_the_next_write(tmp_path: Path) -> None:
    for make in ALL_EDITORS:
        setup = create_service(tmp_path / name_of(make), make())
        base = None
        path = await setup.files.resolve("a.txt")
        for number in range(3):
            base = await setup.files.write(path, f"{number}\n", base)
        assert await setup.text("a.txt") == "2\n"


@EDITORS
async def test_a_deleted_file_is_gone_whatever_the_editor_shows(
    tmp_path: Path, make: Callable[[], EditorPort]
) -> None:
    setup = create_service(tmp_path, make())
    path = setup.write_file("a.txt", "a\n")
    base = await setup.read("a.txt")
    await setup.files.delete(base.resolved, base)
    assert not path.exists()
    assert await setup.read_if_exists("a.txt") is None
    await setup.files.write(base.resolved, "again\n", None)
    assert await setup.text("a.txt") == "again\n"


async def test_deleting_a_link_keeps_its_target(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    target = setup.write_file("a.txt", "a\n")
    (setup.root / "link").symlink_to("a.txt")
    base = await setup.read("link")
    await setup.files.delete(base.resolved, base)
    assert [target.exists(), (setup.root / "link").is_symlink()] == [True, False]


@EDITORS
async def test_a_moved_file_is_unchanged_at_its_destination(
    tmp_path: Path, make: Callable[[], EditorPort]
) -> None:
    setup = create_service(tmp_path, make())
    path = setup.write_file("a.sh", b"\xef\xbb\xbfa\r\n", 0o755)
    base = await setup.read("a.sh")
    to = await setup.files.resolve("deep/er/b.sh")
    moved = await setup.files.move(base.resolved, to, base)
    assert (to.path.read_bytes(), path.exists()) == (b"\xef\xbb\xbfa\r\n", False)
    assert to.path.stat().st_mode & 0o777 == 0o755
    assert (moved.resolved, moved.text, moved.form) == (to, base.text, base.form)
    assert await setup.read_if_exists("a.sh") is None
    await setup.files.write(to, "b\n", moved)
    assert await setup.text("deep/er/b.sh") == "b\n"


async def test_unsaved_text_is_moved_too(tmp_path: Path) -> None:
    editor = NonSavingEditor()
    setup = create_service(tmp_path, editor)
    editor.type_text(setup.write_file("a.txt", b"a\r\n", 0o755), "typed\n")
    base = await setup.read("a.txt")
    to = await setup.files.resolve("b.txt")
    await setup.files.move(base.resolved, to, base)
    assert (to.path.read_bytes(), to.path.stat().st_mode & 0o777) == (b"typed\r\n", 0o755)
    assert await setup.read_if_exists("a.txt") is None


@pytest.mark.parametrize("taken", ["file", "folder", "dangling"])
async def test_a_move_overwrites_nothing(tmp_path: Path, taken: str) -> None:
    setup = create_service(tmp_path, RefusingEditor())
    setup.write_file("a.txt", "a\n")
    setup.write_file("file", "b\n")
    (setup.root / "folder").mkdir()
    (setup.root / "dangling").symlink_to("nowhere")
    base = await setup.read("a.txt")
    with pytest.raises(FileAlreadyExistsError):
        await setup.files.move(base.resolved, await setup.files.resolve(taken), base)
    assert await setup.text("a.txt") == "a\n"
