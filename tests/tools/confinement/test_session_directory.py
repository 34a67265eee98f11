"""Confined commands have a temporary directory of their session, and no other one."""

import shutil
import tempfile
from pathlib import Path

from tests.permissions.live_attempts import MODES, LiveAttempt, start_attempts
from tests.tools.confinement.sandbox_setup import needs_sandbox

PARENT = Path("/tmp")  # noqa: S108  where the server creates it
SOCKET_CHARACTERS = 60
"""What the path leaves of the 104 bytes of a socket's address is enough for usual names."""


@needs_sandbox
def test_a_session_writes_in_its_own_temporary_directory_alone(tmp_path: Path) -> None:
    outside = Path(tempfile.mkdtemp(prefix="outside-"))
    script = (
        f"cd $TMPDIR && touch {tmp_path.name} && mktemp; touch {outside}/made {PARENT}/acp-made; "
        "python3 -c 'import tempfile; print(tempfile.mkdtemp())' || true"
    )
    roots = [tmp_path / name for name in ("one", "two")]
    for root in roots:
        root.mkdir()
    left = {*PARENT.glob("acp-*")}  # by runs that were killed
    attempts = [LiveAttempt(f"it {r.name}", r, "terminal", {"command": script}) for r in roots]
    try:
        with start_attempts(tmp_path / "home", attempts, "workspace") as live:
            for mode in MODES:
                refused = live.run(attempts[0], mode)
                assert refused.has_failed
                assert refused.is_asked == (mode != "plan")
            live.answer = "allow_once"
            for attempt in attempts:
                live.run(attempt, "ask")
            # Other sessions of this machine have directories, too.
            made = {each.parent for each in PARENT.glob(f"acp-*/{tmp_path.name}")} - left
            assert len(made) == len(roots)
            for directory in made:
                assert len(str(directory)) < SOCKET_CHARACTERS
                assert directory.stat().st_mode & 0o777 == 0o700
            live.server.close_stdin()
            live.server.wait()
        assert not any(each.exists() for each in made)
        assert [*outside.iterdir()] == []
        assert not (PARENT / "acp-made").exists()
    finally:
        shutil.rmtree(outside)


@needs_sandbox
def test_a_configured_directory_stays_writable(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    home = tmp_path / "home"
    shared.mkdir()
    (home / "acp").mkdir(parents=True)
    (home / "acp/config.yaml").write_text(f"sandbox:\n  writable: ['{shared}']\n")
    root = tmp_path / "root"
    root.mkdir()
    attempt = LiveAttempt("it", root, "terminal", {"command": f"touch {shared}/made"})
    with start_attempts(home, [attempt], "workspace") as live:
        live.answer = "allow_once"
        live.run(attempt, "ask")
    assert (shared / "made").exists()
