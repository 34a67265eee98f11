"""Text of `/skills`: the skills of a session, their state, and those hidden with the reason.

Pure. Every text from a skill is put on one line, whatever it contains.
"""

from collections.abc import Mapping, Sequence

from acp_server.text.lines import to_single_line
from prompt_engine.threats import scan
from skills_store.collection import SkillCollection, call_name, category_name
from skills_store.skill import Skill
from skills_store.usage import UsageRecord
from skills_store.visibility import VisibilityFacts, reason_hidden

NO_SKILLS = "There are no skills in this session."
MAX_CHARACTERS = 160
SHADOWED = "{kind} `{name}`: replaced by a skill of the same name ({winner})"
UNTRUSTED = "From this workspace, which is not trusted (run `acp-server trust` in it to trust it)"


def render_overview(
    collection: SkillCollection,
    facts: VisibilityFacts,
    records: Mapping[str, UsageRecord],
    untrusted: Sequence[str],
) -> str:
    """Return the skills as Markdown; `untrusted` are the names of skills that wait for trust."""
    visible: list[str] = []
    hidden: list[str] = []
    for skill in collection.skills:
        reason = reason_hidden(skill, facts)
        name = call_name(skill, collection)
        if reason is None:
            visible.append(_line(name, skill, records.get(skill.full_name)))
        else:
            hidden.append(f"`{name}`: {to_single_line(reason, MAX_CHARACTERS)}")
    for each in collection.shadowed:
        kind, winner = each.skill.root.kind, each.winner.root.kind
        hidden.append(SHADOWED.format(kind=kind, name=each.skill.full_name, winner=winner))
    problems = [to_single_line(str(problem), MAX_CHARACTERS) for problem in collection.problems]
    parts = (
        _part(f"{len(visible)} available", visible),
        _part("Hidden", hidden),
        _part(UNTRUSTED, [f"`{to_single_line(name, MAX_CHARACTERS)}`" for name in untrusted]),
        _part("Problems", problems),
    )
    return "\n\n".join(part for part in parts if part) or NO_SKILLS


def _part(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"**{title}**\n", *(f"- {line}" for line in lines)]) if lines else ""


def _line(name: str, skill: Skill, record: UsageRecord | None) -> str:
    """Return the line of a visible skill, without a description that is hidden from the model."""
    has_threat = skill.root.kind != "bundled" and bool(scan(skill.description, "context"))
    description = (
        "(its description is blocked)"
        if has_threat
        else to_single_line(skill.description, MAX_CHARACTERS)
    )
    marks = [category_name(skill), skill.root.kind]
    if record is not None and record.pinned:
        marks.append("pinned")
    if record is not None and record.state != "active":
        marks.append(record.state)
    if record is not None and record.use_count:
        marks.append(f"used {record.use_count} time{'' if record.use_count == 1 else 's'}")
    return f"`{name}` ({', '.join(marks)}): {to_single_line(description, MAX_CHARACTERS)}"
