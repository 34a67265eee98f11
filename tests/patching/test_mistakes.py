"""Mistakes of models: applied as a careful reader would, or refused with a reason; never wrong."""

import pytest

from skills_store.patching.changes import UpdateFile
from skills_store.patching.errors import PatchError
from skills_store.patching.hunk_application import apply_hunks
from skills_store.patching.matching import replace
from skills_store.patching.v4a import parse_patch
from tests.patching.mistakes import MISTAKES, Mistake
from tests.support.case_table import each_case

MIN_CASES = 74


def apply(mistake: Mistake) -> str:
    """Return the text after the edit."""
    if mistake.old is not None:
        return replace(mistake.text, mistake.old, mistake.new, replace_all=mistake.replace_all).text
    (change,) = parse_patch(mistake.new)
    assert isinstance(change, UpdateFile)
    return apply_hunks(mistake.text, change.hunks).text


def test_the_table_is_large_and_its_names_are_unique() -> None:
    assert len({mistake.id for mistake in MISTAKES}) == len(MISTAKES) >= MIN_CASES


@each_case("mistake", MISTAKES, ids=lambda mistake: mistake.id)
def test_a_mistake_is_understood_or_refused_with_a_reason(mistake: Mistake) -> None:
    if mistake.result is not None:
        assert apply(mistake) == mistake.result
        return
    with pytest.raises(PatchError) as caught:
        apply(mistake)
    assert mistake.says in str(caught.value)
