"""Files with outputs that are too long for memory."""

from pathlib import Path

from acp_server.session.saved_outputs import MAX_FILE_CHARACTERS, SavedOutputs
from acp_server.tools.shell.output import OutputLog
from acp_server.tools.shell.spill import SpillFile
from tests.faults.disk import FaultPlan, fail_operation, plans_for, trace_operations


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


def test_a_disk_that_gets_full_leaves_what_was_written_before_and_the_whole_count(
    tmp_path: Path,
) -> None:
    spill = SpillFile(SavedOutputs(tmp_path, "s1"), "call")
    spill.write(b"kept\n")
    path = Path(spill.path())
    # The second operation is the write, after the file was opened.
    with fail_operation(tmp_path, FaultPlan(2, "short write, then ENOSPC")) as disk:
        spill.write(b"lost\n")
        assert spill.path() == str(path)
    assert disk.is_full
    spill.write(b"lost, too\n")
    assert "(1 lines" in spill.describe()
    assert "without the last 15 bytes" in spill.describe()
    assert path.read_text() == "kept\n"
    assert spill.characters == len("kept\nlost\nlost, too\n")


def test_no_part_of_an_output_is_left_if_it_cannot_be_saved(tmp_path: Path) -> None:
    def save(folder: Path) -> str:
        spill = SpillFile(SavedOutputs(folder, "s1"), "call")
        spill.write(b"a line\n")
        assert spill.characters == 0
        path = spill.path()
        assert spill.characters == len("a line\n")
        return path

    whole = tmp_path / "whole"
    plans = list(plans_for(trace_operations(lambda: save(whole), whole)))
    assert any(plan.fault == "short write, then ENOSPC" for plan in plans)
    for number, plan in enumerate(plans):
        folder = tmp_path / str(number)
        with fail_operation(folder, plan):
            path = save(folder)
        saved = [each.read_text() for each in folder.rglob("*.txt")]
        assert saved == (["a line\n"] if path else []), plan
