"""Lines of a file are read from wherever they are, however large it is."""

import os
import tracemalloc
from pathlib import Path

import pytest
from anyio import fail_after

from acp_server.session.workspace import SessionWorkspace
from acp_server.tools.files import disk
from acp_server.tools.files.disk import MAX_BYTES
from acp_server.tools.files.errors import BinaryFileError, HugeFileError, NoSuchFileError
from acp_server.tools.files.excerpts import MAX_PART_CHARACTERS, MAX_STREAM_BYTES, stream_lines
from acp_server.tools.files.paths import resolve_path
from tests.support.fake_editors import VerbatimEditor
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.files.file_services import FileServiceSetup, create_service


async def part(
    setup: FileServiceSetup, name: str, first_line: int, line_count: int
) -> tuple[str, int | None]:
    return await setup.files.read_lines(await setup.files.resolve(name), first_line, line_count)


@pytest.mark.parametrize(
    ("first_line", "line_count", "expected"),
    [
        (1, 2, ("one\ntwo\n", None)),
        (3, 1, ("three\n", None)),
        (3, 99, ("three\nfour", 4)),
        (5, 1, ("", 4)),
        (99, 1, ("", 4)),
        (1, 0, ("", None)),
    ],
)
async def test_lines_are_read_and_counted_as_far_as_the_reading_went(
    tmp_path: Path, first_line: int, line_count: int, expected: tuple[str, int | None]
) -> None:
    setup = create_service(tmp_path)
    setup.write_file("a.txt", "one\r\ntwo\r\nthree\r\nfour")
    assert await part(setup, "a.txt", first_line, line_count) == expected


COUNT = 200_000
LINE = "ä" * 60

FORMS = {
    "LF": ("utf-8", "", "\n"),
    "CRLF with BOM": ("utf-8", "\ufeff", "\r\n"),
    "CR": ("utf-8", "", "\r"),
    "UTF-16 LE": ("utf-16-le", "\ufeff", "\r\n"),
    "UTF-16 BE": ("utf-16-be", "\ufeff", "\n"),
    "Latin-1": ("latin-1", "", "\n"),
}


@pytest.mark.parametrize(
    ("form", "size"),
    [
        pytest.param(
            form,
            size,
            id=f"{form}, {size}",
            marks=pytest.mark.full if size == "huge" and form != "LF" else (),
        )
        for form in FORMS
        for size in ("huge", "over a small limit")
    ],
)
async def test_lines_of_a_huge_file_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, size: str
) -> None:
    encoding, mark, newline = FORMS[form]
    max_bytes, last_number = MAX_BYTES, COUNT
    if size != "huge":
        max_bytes, last_number = MAX_BYTES // 50, COUNT // 50
        monkeypatch.setattr(disk, "MAX_BYTES", max_bytes)
    setup = create_service(tmp_path, VerbatimEditor())
    lines = newline.join(f"{LINE}{number}" for number in range(1, last_number + 1))
    path = setup.write_file("a.txt", (mark + lines).encode(encoding))
    assert path.stat().st_size > max_bytes
    first = (f"{LINE}1\n{LINE}2\n", None)
    assert await part(setup, "a.txt", 1, 2) == first
    last = (f"{LINE}{last_number - 1}\n{LINE}{last_number}", last_number)
    assert await part(setup, "a.txt", last_number - 1, 3) == last
    assert await part(setup, "a.txt", last_number + 9, 3) == ("", last_number)


async def test_an_endless_line_is_truncated_without_buffering(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    path = setup.write_file("a.txt", "x" * 1000)
    path.write_bytes(b"x" * (MAX_BYTES + 1) + b"\nlast")
    tracemalloc.start()
    try:
        cut = await part(setup, "a.txt", 1, 5)
        after = await part(setup, "a.txt", 2, 5)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert cut == ("x" * MAX_PART_CHARACTERS, None)
    assert after == ("last", 2)
    assert peak_bytes < MAX_BYTES


async def test_a_text_of_exactly_the_maximum_length_is_complete(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    text = "x" * (MAX_PART_CHARACTERS - 1) + "\n"
    setup.write_file("a.txt", text)
    assert await part(setup, "a.txt", 1, 1) == (text, None)


@pytest.mark.parametrize(
    ("size_bytes", "kind"),
    [(MAX_BYTES + 1, BinaryFileError), (MAX_STREAM_BYTES + 1, HugeFileError)],
)
async def test_a_file_that_is_not_text_or_too_large_is_refused(
    tmp_path: Path, size_bytes: int, kind: type[Exception]
) -> None:
    setup = create_service(tmp_path)
    os.truncate(setup.write_file("a.bin", ""), size_bytes)
    with fail_after(HANG_TIMEOUT_SECONDS), pytest.raises(kind):
        await part(setup, "a.bin", 1, 1)


async def test_reading_lines_of_a_missing_file_reports_it_as_missing(tmp_path: Path) -> None:
    with pytest.raises(NoSuchFileError):
        await part(create_service(tmp_path), "a.txt", 1, 1)


class StoppedError(Exception):
    """The test's way to end a search."""


def test_counting_lines_can_be_cancelled(tmp_path: Path) -> None:
    setup = create_service(tmp_path)
    setup.write_file("a.txt", b"\n" * (MAX_BYTES // 10))
    checks: list[None] = []

    def check() -> None:
        checks.append(None)
        if len(checks) == 3:
            raise StoppedError

    with pytest.raises(StoppedError):
        stream_lines(
            resolve_path("a.txt", SessionWorkspace(setup.root), setup.root), MAX_BYTES, 1, check
        )
