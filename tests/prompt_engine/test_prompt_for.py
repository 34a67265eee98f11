"""The library's one call, used without the server."""

import doctest
import subprocess
import sys
from datetime import date
from pathlib import Path

import prompt_engine
from tests.skills_store.skill_files import write_file

ALONE = """
import sys
import prompt_engine
before = sorted(name for name in sys.modules if name.startswith("prompt_engine."))
from pathlib import Path
from skills_store.index import IndexRequest
from skills_store.library import SkillLibrary
from skills_store.skill import SkillRoot
project, home = Path(sys.argv[1]), Path(sys.argv[2])
library = SkillLibrary(lambda: [SkillRoot("home", home / "skills")])
index = library.index(IndexRequest())
prompt = prompt_engine.prompt_for(
    project, home=home, model="gpt-5.2", tools=frozenset({"skill_view"}), skills_index=index
)
assert "Run just." in prompt.context and "release: Use it." in prompt.stable, prompt.text
assert "Likes tabs" in prompt.volatile
print(before, [name for name in sys.modules if name.partition(".")[0] in ("acp_server", "anyio")])
"""


def test_the_docstring_example_runs() -> None:
    results = doctest.testmod(prompt_engine)
    assert (results.failed, results.attempted > 5) == (0, True)


def test_both_libraries_work_without_the_server(tmp_path: Path) -> None:
    write_file(tmp_path / "project/AGENTS.md", "Run just.")
    write_file(tmp_path / "home/memories/USER.md", "Likes tabs")
    write_file(
        tmp_path / "home/skills/release/SKILL.md",
        "---\nname: release\ndescription: Use it.\n---\n1. Tag.\n",
    )
    command = [sys.executable, "-c", ALONE, str(tmp_path / "project"), str(tmp_path / "home")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[] []", "")


def test_a_missing_home_is_not_created(tmp_path: Path) -> None:
    day = date(2026, 11, 27)
    prompt = prompt_engine.prompt_for(tmp_path, home=tmp_path / "nowhere", day=day)
    assert not (tmp_path / "nowhere").exists()
    assert "Today is Friday, November 27, 2026." in prompt.volatile


def test_equal_files_give_equal_bytes(tmp_path: Path) -> None:
    write_file(tmp_path / "AGENTS.md", "Be brief.")
    texts = {
        prompt_engine.prompt_for(tmp_path, home=tmp_path / "h", model="m", day=date.min).text
        for _ in range(2)
    }
    assert len(texts) == 1
