"""Homes of agents: what one changes reaches neither the node's home nor another agent."""

from pathlib import Path

from acp_server.fleet.agent_homes import make_agent_home


def test_settings_are_shared_and_memory_and_skills_are_copied(tmp_path: Path) -> None:
    node = tmp_path / "node"
    for name in ("memories/MEMORY.md", "skills/deploy/SKILL.md", "config.yaml", "acp/sessions.db"):
        (node / name).parent.mkdir(parents=True, exist_ok=True)
        (node / name).write_text("as it was")
    (node / "skills/dangling").symlink_to(tmp_path / "missing")
    homes = [make_agent_home(tmp_path / name, node) for name in ("one", "two")]
    assert sorted(each.name for each in homes[0].iterdir()) == [
        *("acp", "config.yaml", "memories", "skills")
    ]
    assert [*(homes[0] / "acp").iterdir()] == []
    assert (homes[0] / "config.yaml").resolve() == node / "config.yaml"
    for name in ("memories/MEMORY.md", "skills/deploy/SKILL.md"):
        (homes[0] / name).write_text("learned")
        assert (node / name).read_text() == (homes[1] / name).read_text() == "as it was"
