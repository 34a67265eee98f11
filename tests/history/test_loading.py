"""The front of the archive: it imports nothing until it must, and costs the event loop nothing."""

import subprocess
import sys
import time
from pathlib import Path

from acp_server.history.archive import LazyArchive, SessionJournal
from acp_server.history.writer_queue import WriterQueue
from acp_server.turn.events import MessageChunk


def test_importing_the_lazy_archive_loads_no_database() -> None:
    script = """if True:
        import sys
        from pathlib import Path
        from acp_server.history.archive import LazyArchive
        LazyArchive(Path("sessions.db"))
        heavy = {"sqlite3", "psutil", "acp_server.history.writer"} & set(sys.modules)
        sys.exit(str(heavy) if heavy else 0)
    """
    subprocess.run([sys.executable, "-c", script], check=True)


def test_recording_a_chunk_takes_microseconds(tmp_path: Path) -> None:
    journal = SessionJournal("one", LazyArchive(tmp_path / "sessions.db"), WriterQueue())
    chunk = MessageChunk("m", "text")
    count = 20_000
    started = time.process_time()
    for _ in range(count):
        journal.show(chunk)
    assert (time.process_time() - started) / count < 10e-6
