"""The writer gives memory back once the records of a long turn are written."""

from pathlib import Path

import pytest

from acp_server.history import writer
from acp_server.history.archive import LazyArchive
from acp_server.turn.events import MessageChunk
from tests.history.samples import make_facts


@pytest.mark.parametrize(("chunks", "times"), [(writer.LONG_TURN_RECORDS + 1, 1), (100, 0)])
async def test_memory_is_given_back_once_after_a_long_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunks: int, times: int
) -> None:
    returned: list[bool] = []
    monkeypatch.setattr(writer, "return_free_memory", lambda: returned.append(True))
    archive = LazyArchive(tmp_path / "sessions.db")
    journal = archive.create(make_facts())
    journal.begin_turn()
    for number in range(chunks):
        journal.show(MessageChunk("m", f"{number}"))
    await journal.commit()
    assert returned == []
    journal.end_turn()
    await journal.commit()
    journal.begin_turn()
    journal.end_turn()
    await archive.close()
    assert returned == [True] * times
