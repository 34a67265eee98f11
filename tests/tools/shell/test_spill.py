"""Files with outputs that are too long for memory."""

from pathlib import Path

from acp_server.session.saved_outputs import MAX_FILE_CHARACTERS, SavedOutputs
from acp_server.tools.shell.output import OutputLog
from acp_server.tools.shell.spill import SpillFile


def test_output_that_fits_into_memory_needs_no_file(tmp_path: Path) -> None:
    spill = SpillFile(SavedOutputs(tmp_path, "s1"), "call")
    OutputLog(10, 10, spill).write(b"0123456789" * 2)
    assert (spill.path(), list(tmp_path.iterdir())) == ("", [])


def test_longer_output_is_kept_from_its_first_byte_without_what_a_terminal_hides(
    tmp_path: Path,
) -> None:
    spill = SpillFile(SavedOutputs(tmp_path, "s1"), "call")
    log = OutputLog(10, 10, spill)
    for chunk in (b"one\n", b" 10%\r 20%\r100%\n", b"\x1b[31mred\x1b[0m\n", "né\n".encode()):
        log.write(chunk)
    assert Path(spill.path()).read_text() == "one\n100%\nred\nné\n"
    log.write(b"more")
    assert Path(spill.path()).read_text() == "one\n100%\nred\nné\nmore"
    assert "(4 lines" in spill.describe()


def test_a_file_is_bounded_and_says_what_it_lacks(tmp_path: Path) -> None:
    spill = SpillFile(SavedOutputs(tmp_path, "s1"), "call")
    log, line, megabyte = OutputLog(10, 10, spill), b"0123456\n", 1024 * 1024
    for _ in range(34):
        log.write(line * (megabyte // len(line)))
    assert Path(spill.path()).stat().st_size == MAX_FILE_CHARACTERS
    assert spill.characters == 34 * megabyte
    assert f"without the last {2 * megabyte:,} bytes" in spill.describe()


def test_output_that_cannot_be_written_is_not_named(tmp_path: Path) -> None:
    spill = SpillFile(SavedOutputs(tmp_path / "file" / "below", "s1"), "call")
    (tmp_path / "file").write_text("")
    OutputLog(1, 1, spill).write(b"0123456789")
    assert (spill.path(), spill.describe()) == ("", "")
