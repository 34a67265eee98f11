"""Changes of a sub-agent merged into a text that has changed meanwhile."""

from acp_server.tools.agents.merging import merge_text

BASE = "".join(f"line {number}\n" for number in range(1, 31))


def test_an_unchanged_text_becomes_the_new_one() -> None:
    new = BASE.replace("line 3\n", "three\n")
    assert merge_text(BASE, new, BASE).text == new


def test_changes_at_different_places_are_both_kept() -> None:
    new = BASE.replace("line 20\n", "twenty\nand more\n").replace("line 25\n", "")
    current = BASE.replace("line 3\n", "three\nthree and a half\n")
    merged = merge_text(BASE, new, current)
    expected = new.replace("line 3\n", "three\nthree and a half\n")
    assert (merged.text, merged.conflicts) == (expected, ())


def test_a_change_whose_surroundings_changed_is_reported_and_the_others_are_made() -> None:
    new = BASE.replace("line 10\n", "ten\n").replace("line 20\n", "twenty\n")
    current = BASE.replace("line 11\n", "eleven\n")
    merged = merge_text(BASE, new, current)
    assert merged.text == current.replace("line 20\n", "twenty\n")
    (hunk,) = merged.conflicts
    assert hunk.splitlines() == [
        "@@ line 10 @@",
        *(f" line {number}" for number in (7, 8, 9)),
        "-line 10",
        "+ten",
        *(f" line {number}" for number in (11, 12, 13)),
    ]


def test_lines_at_both_ends_may_be_added_and_removed() -> None:
    current = BASE.replace("line 15\n", "fifteen\n")
    merged = merge_text(BASE, f"first\n{BASE}last\n", current)
    assert merged.text == f"first\n{current}last\n"
    merged = merge_text(BASE, BASE.removeprefix("line 1\n").removesuffix("line 30\n"), current)
    assert merged.text == current.removeprefix("line 1\n").removesuffix("line 30\n")


def test_everything_replaced_is_a_conflict() -> None:
    merged = merge_text(BASE, "new\n", BASE.replace("line 15\n", "fifteen\n"))
    assert "fifteen" in merged.text
    assert len(merged.conflicts) == 1
