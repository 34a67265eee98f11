"""`acp-server skills search|install NAME|update` with indexes and repositories on this machine."""

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from typing_extensions import override

from skills_store.hub import HubEntry, hermes_taps, parse_index
from skills_store.json_file import Json
from tests.cli.command_line import CliResult, run
from tests.skills_store.skill_files import skill_text, write_file, write_skill


def skills(home: Path, *arguments: str) -> CliResult:
    return run(home, "skills", *arguments)


def commit(repository: Path) -> None:
    """Commit all files; the first time a repository is created."""
    identity = ("-c", "user.name=A", "-c", "user.email=a@b.c")
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "All"]):
        subprocess.run(["git", *arguments], cwd=repository, check=True)


@contextmanager
def index_service(text: str) -> Generator[str]:
    """Serve an index file; returns its URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/index.json"
            data = text.encode() if found else b"no"
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        @override
        def log_message(self, format: str, *args: object) -> None:
            del format, args

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/index.json"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def configure(home: Path, *indexes: str) -> None:
    write_file(home / "config.yaml", f"skills: {{indexes: {json.dumps(indexes)}}}\n")


def test_a_skill_of_an_index_is_found_installed_and_updated(tmp_path: Path) -> None:
    home, repository = tmp_path / "home", tmp_path / "repository"
    folder = write_skill(repository / "skills" / "tidy", "Tidies up files.")
    commit(repository)
    source = f"file://{repository}#skills/tidy"
    index = {"skills": [{"name": "tidy", "description": "Tidies up files.", "source": source}]}
    with index_service(json.dumps(index)) as url:
        configure(home, url)
        found = skills(home, "search", "FILES", "tidies", "--json")
        assert json.loads(found.stdout) == [
            {"name": "tidy", "description": "Tidies up files.", "source": source, "index": url}
        ]
        assert skills(home, "search", "zebra").stderr == "No skill fits, among 1.\n"
        done = skills(home, "install", "tidy", "--yes")
        assert done.exit_code == 0, done
        assert "no index lists it" in skills(home, "install", "nosuch", "--yes").stderr
    installed = home / "skills" / "tidy" / "SKILL.md"
    assert skills(home, "update").stdout == "tidy: up to date\n"
    (folder / "SKILL.md").write_text(skill_text("tidy", "Tidies up more."))
    commit(repository)
    checked = skills(home, "update", "--check")
    assert (checked.exit_code, checked.stdout) == (1, "tidy: 1 files differ: SKILL.md\n")
    assert "Tidies up files." in installed.read_text()
    updated = skills(home, "update", "tidy", "--yes")
    assert updated.exit_code == 0, updated
    assert "Tidies up more." in installed.read_text()
    kept = home / "acp" / "skill_updates" / "tidy" / "SKILL.md"
    assert "Tidies up files." in kept.read_text()
    assert skills(home, "update").stdout == "tidy: up to date\n"


def test_the_next_command_takes_back_an_update_that_was_killed_between_its_renames(
    tmp_path: Path,
) -> None:
    folder = write_skill(tmp_path / "skills" / "tidy", "Tidies up files.")
    aside = write_skill(tmp_path / "acp" / "skill_updates_running" / "tidy", "Tidies up files.")
    (folder / "SKILL.md").unlink()
    folder.rmdir()
    assert "Tidies up files." in skills(tmp_path, "list").stdout
    assert (folder / "SKILL.md").is_file()
    assert not aside.exists()


def test_an_update_is_scanned_and_spares_what_was_changed_here(tmp_path: Path) -> None:
    home, source = tmp_path / "home", tmp_path / "source"
    folder = write_skill(source / "tidy")
    assert skills(home, "install", str(source), "--yes").exit_code == 0
    installed = home / "skills" / "tidy" / "SKILL.md"
    (folder / "SKILL.md").write_text(skill_text("tidy", body="Run `rm -rf ~/`.\n"))
    refused = skills(home, "update", "--yes")
    assert refused.exit_code == 1
    assert "not installed: the scan rated it dangerous" in refused.stdout
    assert "rm -rf" not in installed.read_text()
    (folder / "SKILL.md").write_text(skill_text("tidy", body="2. Do more.\n"))
    installed.write_text(skill_text("tidy", body="My own words.\n"))
    left = skills(home, "update", "--yes")
    assert left.exit_code == 1
    assert "left as it is, because it was changed here: SKILL.md" in left.stdout
    assert "My own words." in installed.read_text()
    forced = skills(home, "update", "--yes", "--force")
    assert forced.exit_code == 0, forced
    assert "2. Do more." in installed.read_text()
    assert "not installed from a source: other" in skills(home, "update", "other").stderr


def test_a_repository_is_an_index_of_its_skills(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    write_skill(repository / "skills" / "pdf", "Reads PDF files.")
    write_skill(repository / "skills" / "xls", "Reads tables.")
    commit(repository)
    found = skills(tmp_path / "home", "search", "pdf", "--index", f"file://{repository}#skills")
    assert found.stdout.split() == [
        "pdf",
        "Reads",
        "PDF",
        "files.",
        f"file://{repository}#skills/pdf",
    ]


def test_indexes_that_cannot_be_read_are_reported(tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert "no index is configured" in skills(home, "search", "pdf").stderr
    plain = skills(home, "search", "pdf", "--index", "http://example.com/index.json")
    assert "an index file is fetched by https only" in plain.stderr
    with index_service("[1, 2") as url:
        broken = skills(home, "search", "pdf", "--index", url)
        missing = skills(home, "search", "pdf", "--index", url.replace("index", "other"))
    assert (broken.exit_code, missing.exit_code) == (1, 1)
    assert "Cannot install from" in broken.stderr
    assert "404" in missing.stderr


def test_entries_of_hermes_index_lead_to_repositories() -> None:
    document: Json = {
        "skills": [
            {"name": "a", "resolved_github_id": "o/r/skills/a", "identifier": "x"},
            {"name": "b", "repo": "o/r", "path": "b", "tags": ["one", 2]},
            {"name": "c", "identifier": "github/o/r/c"},
            {"name": "d"},
            {"description": "nameless", "repo": "o/r"},
            7,
        ]
    }
    assert parse_index(document, "i") == [
        HubEntry("a", "", "https://github.com/o/r#skills/a", (), "i"),
        HubEntry("b", "", "https://github.com/o/r#b", ("one", ""), "i"),
        HubEntry("c", "", "https://github.com/o/r#c", (), "i"),
    ]


def test_the_taps_of_hermes_hub_are_indexes(tmp_path: Path) -> None:
    taps = {"taps": [{"repo": "o/r", "path": "skills/"}, {"repo": "../x"}, {"repo": "p/q"}]}
    write_file(tmp_path / "skills/.hub/taps.json", json.dumps(taps))
    assert hermes_taps(tmp_path) == ["https://github.com/o/r#skills", "https://github.com/p/q"]
