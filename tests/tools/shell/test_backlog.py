import pytest

from acp_server.tools.shell.recent_output import Backlog, Excerpt, News


def filled(*chunks: bytes, capacity_bytes: int = 100) -> Backlog:
    backlog = Backlog(capacity_bytes)
    for chunk in chunks:
        backlog.write(chunk)
    return backlog


def test_each_look_shows_what_is_new() -> None:
    backlog = filled(b"one\n")
    assert backlog.news(is_last=False) == News("one\n", 0)
    assert backlog.news(is_last=False) == News("", 0)
    backlog.write(b"two\n")
    assert backlog.news(is_last=True) == News("two\n", 0)


def test_half_a_character_waits_for_its_other_half() -> None:
    backlog = filled(b"x\xc3")
    assert backlog.news(is_last=False) == News("x", 0)
    backlog.write(b"\xa4y\xe2\x82")
    assert backlog.news(is_last=False) == News("äy", 0)
    assert backlog.news(is_last=True) == News("\ufffd", 0)


def test_what_came_too_fast_is_counted() -> None:
    backlog = filled(b"ab", b"cdefgh", "äij".encode(), capacity_bytes=3)
    assert backlog.news(is_last=False) == News("ij", 10)
    backlog.write(b"klmnopqrstu")
    assert backlog.news(is_last=False) == News("stu", 8)
    assert backlog.news(is_last=False) == News("", 0)


LINES = [b"line %d\r\n" % number for number in range(6)]


@pytest.mark.parametrize(
    ("offset", "limit", "excerpt"),
    [
        pytest.param(None, 2, Excerpt(4, ("line 4", "line 5"), 6), id="the last"),
        pytest.param(0, 2, Excerpt(0, ("line 0", "line 1"), 6), id="the first"),
        pytest.param(3, 2, Excerpt(3, ("line 3", "line 4"), 6), id="from the middle"),
        pytest.param(5, 10, Excerpt(5, ("line 5",), 6), id="beyond the end"),
        pytest.param(9, 10, Excerpt(6, (), 6), id="behind the end"),
        pytest.param(None, 0, Excerpt(6, (), 6), id="none"),
    ],
)
def test_lines_are_counted_over_all(offset: int | None, limit: int, excerpt: Excerpt) -> None:
    assert filled(*LINES).excerpt(offset, limit) == excerpt


def test_lines_that_are_not_kept_are_passed_over() -> None:
    backlog = filled(*LINES, b"last", capacity_bytes=15)
    assert backlog.excerpt(0, 5) == Excerpt(4, ("4", "line 5", "last"), 7)
    assert backlog.total_lines == 7


def test_nothing_printed_is_no_line() -> None:
    assert filled().excerpt(None, 5) == Excerpt(0, (), 0)
    assert filled(b"\n").excerpt(None, 5) == Excerpt(0, ("",), 1)
