import pytest

from acp_server.tools.shell.recent_output import NewOutput, OutputExcerpt, RecentOutput


def filled(*chunks: bytes, capacity_bytes: int = 100) -> RecentOutput:
    backlog = RecentOutput(capacity_bytes)
    for chunk in chunks:
        backlog.write(chunk)
    return backlog


def test_each_poll_shows_only_new_output() -> None:
    backlog = filled(b"one\n")
    assert backlog.take_new(is_last=False) == NewOutput("one\n", 0)
    assert backlog.take_new(is_last=False) == NewOutput("", 0)
    backlog.write(b"two\n")
    assert backlog.take_new(is_last=True) == NewOutput("two\n", 0)


def test_an_incomplete_character_is_held_until_complete() -> None:
    backlog = filled(b"x\xc3")
    assert backlog.take_new(is_last=False) == NewOutput("x", 0)
    backlog.write(b"\xa4y\xe2\x82")
    assert backlog.take_new(is_last=False) == NewOutput("äy", 0)
    assert backlog.take_new(is_last=True) == NewOutput("\ufffd", 0)


def test_output_that_exceeded_the_buffer_is_counted() -> None:
    backlog = filled(b"ab", b"cdefgh", "äij".encode(), capacity_bytes=3)
    assert backlog.take_new(is_last=False) == NewOutput("ij", 10)
    backlog.write(b"klmnopqrstu")
    assert backlog.take_new(is_last=False) == NewOutput("stu", 8)
    assert backlog.take_new(is_last=False) == NewOutput("", 0)


LINES = [b"line %d\r\n" % number for number in range(6)]


@pytest.mark.parametrize(
    ("offset", "limit", "excerpt"),
    [
        pytest.param(None, 2, OutputExcerpt(4, ("line 4", "line 5"), 6), id="the last"),
        pytest.param(0, 2, OutputExcerpt(0, ("line 0", "line 1"), 6), id="the first"),
        pytest.param(3, 2, OutputExcerpt(3, ("line 3", "line 4"), 6), id="from the middle"),
        pytest.param(5, 10, OutputExcerpt(5, ("line 5",), 6), id="beyond the end"),
        pytest.param(9, 10, OutputExcerpt(6, (), 6), id="behind the end"),
        pytest.param(None, 0, OutputExcerpt(6, (), 6), id="none"),
    ],
)
def test_lines_are_counted_in_total(offset: int | None, limit: int, excerpt: OutputExcerpt) -> None:
    assert filled(*LINES).excerpt(offset, limit) == excerpt


def test_discarded_lines_are_skipped() -> None:
    backlog = filled(*LINES, b"last", capacity_bytes=15)
    assert backlog.excerpt(0, 5) == OutputExcerpt(4, ("4", "line 5", "last"), 7)
    assert backlog.total_lines == 7


def test_empty_output_has_no_lines() -> None:
    assert filled().excerpt(None, 5) == OutputExcerpt(0, (), 0)
    assert filled(b"\n").excerpt(None, 5) == OutputExcerpt(0, ("",), 1)
