"""Compare the archived skills of a curator run with the curator's summary."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from skills_store.changes import Change, Moved
from skills_store.curation.summary import Block


@dataclass(frozen=True, slots=True)
class Archival:
    """An archived skill; `into` is its successor, if any."""

    name: str
    into: str = ""


def archivals(made: Iterable[Change]) -> tuple[Archival, ...]:
    """Return the skills archived by changes, in order."""
    moved = (change.effect for change in made if isinstance(change.effect, Moved))
    return tuple(Archival(effect.entry.name, effect.entry.absorbed_into) for effect in moved)


def discrepancies(block: Block, happened: Sequence[Archival]) -> tuple[str, ...]:
    """Return the differences between a summary and the archived skills, as sentences for the model.

    >>> discrepancies(Block(), [Archival("pdf-read", "pdf")])
    ("'pdf-read' was archived into 'pdf' and stands in no list.",)
    """
    return tuple(_differences(_said(block), Counter(happened)))


def _said(block: Block) -> Counter[Archival]:
    merged = (Archival(_bare(each.source), _bare(each.into)) for each in block.consolidations)
    pruned = (Archival(_bare(each.name)) for each in block.prunings)
    return Counter([*merged, *pruned])


def _differences(said: Counter[Archival], happened: Counter[Archival]) -> Iterator[str]:
    names = Counter(each.name for each in said.elements())
    for each in happened:
        if each in said:
            continue
        where = "stands otherwise in the block" if each.name in names else "stands in no list"
        yield f"{_told(each)} and {where}."
    archived = {each.name for each in happened}
    for each in said:
        if each.name not in archived:
            yield f"{each.name!r} stands in the block and was not archived."
    for name, count in names.items():
        if count > 1:
            yield f"{name!r} stands in the block {count} times; once is right."


def _told(archival: Archival) -> str:
    into = f"into {archival.into!r}" if archival.into else "as a plain pruning"
    return f"{archival.name!r} was archived {into}"


def _bare(name: str) -> str:
    """Return a name without its category."""
    return name.rsplit("/", 1)[-1]
