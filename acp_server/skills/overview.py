"""What `/skills` shows: the skills of a session, their state, and what is kept back and why.

Pure. Every word of a skill is put on one line of its own, whatever it holds.
"""

from collections.abc import Iterator, Mapping, Sequence

from prompt_engine.threats import scan
from skills_store import Circumstances
from skills_store.collection import Collection, call_name, category_name
from skills_store.skill import Skill
from skills_store.usage import UsageRecord
from skills_store.visibility import reason_hidden

NONE = "There are no skills in this session."
MOST_CHARACTERS = 160
SHADOWED = "{kind} `{name}`: another of its name goes before it ({winner})"
UNTRUSTED = (
    "This workspace's own, which is not trusted (`acp-server trust` in its folder says that it is)"
)


def overview_of(
    collection: Collection,
    circumstances: Circumstances,
    records: Mapping[str, UsageRecord],
    waiting: Sequence[str],
) -> str:
    """Return the skills as Markdown; `waiting` are the names of those that wait for trust."""
    seen: list[str] = []
    kept_back: list[str] = []
    for skill in collection.skills:
        reason = reason_hidden(skill, circumstances)
        name = call_name(skill, collection)
        if reason is None:
            seen.append(_line(name, skill, records.get(skill.full_name)))
        else:
            kept_back.append(f"`{name}`: {_one_line(reason)}")
    kept_back += [_shadowed(each.skill, each.winner) for each in collection.shadowed]
    problems = [_one_line(str(problem)) for problem in collection.problems]
    parts = (
        _part(f"{len(seen)} in force", seen),
        _part("Kept back", kept_back),
        _part(UNTRUSTED, [f"`{_one_line(name)}`" for name in waiting]),
        _part("Troubles", problems),
    )
    return "\n\n".join(part for part in parts if part) or NONE


def _part(title: str, lines: Sequence[str]) -> str:
    return "\n".join([f"**{title}**\n", *(f"- {line}" for line in lines)]) if lines else ""


def _line(name: str, skill: Skill, record: UsageRecord | None) -> str:
    """Return a skill in force; a description that is not shown to the model is not shown here."""
    has_threat = skill.root.kind != "bundled" and bool(scan(skill.description, "context"))
    told = "(its description is kept back)" if has_threat else _one_line(skill.description)
    marks = "".join(f", {mark}" for mark in _marks(record))
    return f"`{name}` ({category_name(skill)}, {skill.root.kind}{marks}): {told}"


def _marks(record: UsageRecord | None) -> Iterator[str]:
    if record is None:
        return
    if record.pinned:
        yield "pinned"
    if record.state != "active":
        yield record.state
    if record.use_count:
        yield f"used {record.use_count} time{'' if record.use_count == 1 else 's'}"


def _shadowed(skill: Skill, winner: Skill) -> str:
    return SHADOWED.format(kind=skill.root.kind, name=skill.full_name, winner=winner.root.kind)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"
