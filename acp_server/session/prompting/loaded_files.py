"""Records of the instruction files that were delivered to a model."""

from collections.abc import Iterator, Mapping

from acp_server.session.prompting.provider import LoadedFile
from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.sources.context_files import ProjectContext
from prompt_engine.sources.subdirectory_hints import HintDelivery
from prompt_engine.trust import sha256_of


def loaded_context(found: ProjectContext) -> Iterator[LoadedFile]:
    """Yield the files in the system prompt."""
    notes = {note.path: note for note in found.notes}
    for file in found.files:
        yield _record_file(file.path, file.text, notes.get(file.path))


def loaded_hints(found: HintDelivery) -> Mapping[str, LoadedFile]:
    """Return the files delivered with a tool result, by label."""
    notes = {note.path: note for note in found.notes}
    return {
        hint.label: _record_file(hint.label, hint.text, notes.get(hint.label))
        for hint in found.hints
    }


def _record_file(path: str, text: str, note: ContextFileNote | None) -> LoadedFile:
    is_cut = note is not None and note.outcome == "cut"
    digest = sha256_of(text.encode(errors="surrogatepass"))
    return LoadedFile(path, digest, len(text), is_truncated=is_cut)
