"""What holds for every text, not only for those we thought of."""

import doctest
import time
from difflib import SequenceMatcher
from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skills_store import patching
from skills_store.patching.changes import AddFile, UpdateFile
from skills_store.patching.errors import NotFoundError, PatchError
from skills_store.patching.hunk_application import apply_hunks
from skills_store.patching.matching import replace
from skills_store.patching.nearest import MIN_SIMILARITY, find_nearest
from skills_store.patching.partial_patch import PatchRegion, partial_patch_regions
from skills_store.patching.v4a import parse_patch

WORDS = st.sampled_from(["a", "b = 1", "  c()", "\td", "", "it\u2019s", "x  y", "# z", "}", "e \t"])
LINES = st.lists(WORDS, max_size=12)
ANYTHING = st.text(alphabet="ab \t\n\r\"'\\n1\u2019…é-=.", max_size=40)
PIECES = st.lists(
    st.sampled_from(
        [
            "*** Begin Patch\n",
            "*** Update File: a\n",
            "*** Add File: b\n",
            "*** Move to: c\n",
            "*** Delete File: d\n",
            "*** End of File\n",
            "*** End Patch\n",
            "@@ x\n",
            "@@ -1,2 +3 @@\n",
            "+y\n",
            "-z\r\n",
            " w\n",
            "\n",
            "```\n",
            "*** ",
            "v",
        ]
    ),
    max_size=20,
).map("".join)


def test_the_example_of_the_package_is_correct() -> None:
    assert doctest.testmod(patching).failed == 0


@given(ANYTHING, st.data(), ANYTHING)
def test_an_exact_replacement_equals_str_replace(text: str, data: st.DataObject, new: str) -> None:
    start = data.draw(st.integers(0, len(text)))
    old = text[start : data.draw(st.integers(start, len(text)))]
    assume(old and old != new and text.find(old) == text.rfind(old))
    # A newline is kept that the model most likely forgot.
    assume(not (old.endswith("\n") and new and not new.endswith("\n")))
    assert replace(text, old, new).text == text.replace(old, new)


@given(text=ANYTHING, old=ANYTHING, new=ANYTHING, replace_all=st.booleans())
def test_text_outside_the_spans_is_unchanged(
    *, text: str, old: str, new: str, replace_all: bool
) -> None:
    try:
        replacement = replace(text, old, new, replace_all=replace_all)
    except PatchError:
        return
    starts = [start for start, _ in replacement.spans]
    ends = [end for _, end in replacement.spans]
    unchanged = [text[a:b] for a, b in zip([0, *ends], [*starts, len(text)], strict=True)]
    rest = replacement.text
    assert rest.startswith(unchanged[0])
    assert rest.endswith(unchanged[-1])
    for piece in unchanged:
        assert piece in rest
        rest = rest[rest.index(piece) + len(piece) :]


@given(LINES, LINES)
def test_nothing_is_called_unlike_while_there_is_a_similar_line(
    lines: list[str], old: list[str]
) -> None:
    text = "\n".join(lines)
    wanted = [line for line in old if any(character.isalnum() for character in line)]
    pairs = product(text.split("\n"), wanted)
    ratios = [
        SequenceMatcher(None, one.strip(), other.strip(), autojunk=False).ratio()
        for one, other in pairs
    ]
    search = find_nearest(text, "\n".join(old))
    assert not search.is_unlike or max(ratios, default=0) < MIN_SIMILARITY


def patch_between(old: list[str], new: list[str]) -> str:
    """Write a patch of one hunk that names every line, so that no place is in doubt."""
    lines = ["*** Begin Patch", "*** Update File: a", "@@"]
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            lines += [f" {line}" for line in old[start:end]]
        else:
            lines += [f"-{line}" for line in old[start:end]]
            lines += [f"+{line}" for line in new[new_start:new_end]]
    return "\n".join([*lines, "*** End Patch", ""])


@given(LINES, LINES)
def test_a_patch_of_a_whole_file_produces_the_new_file(old: list[str], new: list[str]) -> None:
    assume(any(line.strip() for line in old) and old != new)
    (change,) = parse_patch(patch_between(old, new))
    assert isinstance(change, UpdateFile)
    text = "".join(f"{line}\n" for line in old)
    assert apply_hunks(text, change.hunks).text == "".join(f"{line}\n" for line in new)


@given(st.sets(st.integers(0, 49), min_size=1), st.sampled_from(["drop", "change", "add"]))
def test_a_patch_of_small_hunks_produces_the_new_file(numbers: set[int], kind: str) -> None:
    text, new, body = "", "", ""
    for number in range(50):
        added = f"line {number}\n"
        text += added
        if number not in numbers:
            new += added
            continue
        after = {"drop": "", "change": f"new {number}\n", "add": f"{added}more {number}\n"}[kind]
        new += after
        body += f"@@\n-{added}" + "".join(f"+{line}\n" for line in after.splitlines())
    (change,) = parse_patch(f"*** Update File: a\n{body}")
    assert isinstance(change, UpdateFile)
    assert apply_hunks(text, change.hunks).text == new


@given(PIECES)
def test_a_truncated_patch_can_always_be_shown(patch: str) -> None:
    shown = [partial_patch_regions(patch[:end]) for end in range(len(patch) + 1)]
    assert [len(each) for each in shown] == sorted(len(each) for each in shown)


@given(PIECES)
def test_the_final_preview_equals_the_patch(pieces: str) -> None:
    patch = f"{pieces}\n*** End Patch\n"
    try:
        changes = parse_patch(patch)
    except PatchError:
        return
    regions: list[PatchRegion] = []
    for change in changes:
        if isinstance(change, AddFile):
            regions.append(PatchRegion(change.path, None, change.text))
        elif isinstance(change, UpdateFile):
            regions += [
                PatchRegion(change.path, join_lines(h.old_lines), join_lines(h.new_lines))
                for h in change.hunks
            ]
    assert sorted(partial_patch_regions(patch), key=repr) == sorted(regions, key=repr)


def join_lines(lines: tuple[str, ...]) -> str:
    return "".join(f"{line}\n" for line in lines)


BIG = "".join(f"    value_{number} = compute({number}, other)  \n" for number in range(22_000))


@pytest.mark.parametrize(
    ("text", "old"),
    [
        pytest.param(BIG, "\n".join(f"no_{n} = nothing" for n in range(100)), id="nothing alike"),
        pytest.param(BIG, BIG[: 100 * 40].replace("other", "an other"), id="much alike"),
        pytest.param("}\n" * 500_000, "}\n" * 99 + "x", id="the same line again and again"),
        pytest.param("  }\n }\n" * 150_000, "}\n" * 99 + "}", id="indented in turns"),
        pytest.param("a " * 500_000, "a  " * 100 + "b", id="one long line"),
        pytest.param(" " * 1_000_000 + "x", "y  z", id="a long run of blanks"),
        pytest.param("'" * 1_000_000, "a\n'\nb", id="quotes without end"),
        pytest.param("é" * 1_000_000, 'é "a"', id="no plain letters"),
    ],
)
def test_no_megabyte_text_takes_long(text: str, old: str) -> None:
    started = time.process_time()
    with pytest.raises(NotFoundError):
        replace(text, old, "something else")
    assert time.process_time() - started < 3  # ten times what it takes, for slow machines
