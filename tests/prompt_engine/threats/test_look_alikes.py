"""What looks like a letter is what Unicode says looks like it."""

import unicodedata

import pytest

from tests.prompt_engine.threats.look_alikes import TABLE, build_table

UNICODE = "14.0.0"
"""Of the Python that the table is made with: another one knows the names of other characters."""


@pytest.mark.skipif(unicodedata.unidata_version != UNICODE, reason="other characters have names")
def test_the_table_matches_the_published_one() -> None:
    assert TABLE.read_text("utf-8") == build_table()
