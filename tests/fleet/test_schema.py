"""The published schema of task files, and the page that describes them."""

import json
from pathlib import Path

from acp_server.fleet.task_file import TaskLine, task_schema

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "editors" / "task.schema.json"


def test_the_published_schema_is_that_of_the_parser() -> None:
    """Renew it by `python -m acp_server.fleet.task_file > editors/task.schema.json`."""
    assert PUBLISHED.read_text(encoding="utf-8") == f"{json.dumps(task_schema(), indent=2)}\n"


def test_the_page_describes_every_field() -> None:
    page = (ROOT / "docs/fleet.md").read_text(encoding="utf-8")
    assert [name for name in TaskLine.model_fields if f"`{name}`" not in page] == []
