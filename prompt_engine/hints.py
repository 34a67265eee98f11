"""Instructions of subfolders as they stand in a conversation: wrapped, and found again there.

What is loaded is derived from the conversation alone, so a wrapper must not be forged: a tool's
output that looks like one would silence a project's real instructions. Each wrapper therefore
carries a seal, a keyed hash over path, digest and the very text it wraps. That binds the claim to
the text: a copy of a sealed wrapper proves only what is true, that this text stands there; a cut
or changed one proves nothing; and no tool, seeing a seal, can make another. Markers in other texts
need no escaping, so files and outputs reach the model byte for byte. The key is a session's
secret: it is kept with the session, goes with a fork, and never reaches a model or a tool. If it
is lost, hints are delivered once more.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DIGEST_CHARACTERS = 12

_TAG = "project_instructions"
_MARK = re.compile(
    rf'<{_TAG} path="(?P<label>[^"\n]*)" id="(?P<digest>[0-9a-f]{{{DIGEST_CHARACTERS}}})'
    rf'-(?P<seal>[0-9a-f]{{{DIGEST_CHARACTERS}}})"(?: state="changed")?>\n|\n</{_TAG}>'
)
_OURS = re.compile(rf"<(?=/?{_TAG})")
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Hint:
    """A file of instructions that applies where the work is now."""

    folder: Path
    """The folder it lies in, resolved."""
    path: Path
    label: str
    """The path as the model is told it: relative to the session's folder, or absolute."""
    text: str
    digest: str
    """Names the file's content, blocked or shown, in `DIGEST_CHARACTERS` hex digits."""
    is_changed: bool
    """Whether earlier instructions of this file or its folder stand in the conversation."""
    touched: Path
    """The path that brought it, as the caller gave it."""


@dataclass(frozen=True, slots=True)
class LoadedHints:
    """Which instructions the model has before it, in which state."""

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Digests by labels; of a file that was delivered again, the last."""

    @property
    def digests(self) -> frozenset[str]:
        """The contents the model has, wherever they came from."""
        return frozenset(self.files.values())

    def plus(self, later: "LoadedHints") -> "LoadedHints":
        """Return both, the later state of a file counting."""
        return LoadedHints({**self.files, **later.files})


def short_digest(sha256: str) -> str:
    """Return as much of a digest as tells contents of one project apart."""
    return sha256[:DIGEST_CHARACTERS]


def wrap(hint: Hint, secret: bytes) -> str:
    """Return a hint as it is appended to a result or message.

    The text's own marks of this kind are broken, or it could end its wrapper.
    """
    body = _OURS.sub(r"<\\", hint.text)
    state = ' state="changed"' if hint.is_changed else ""
    seal = _seal(secret, hint.label, hint.digest, body)
    return f'<{_TAG} path="{hint.label}" id="{hint.digest}-{seal}"{state}>\n{body}\n</{_TAG}>'


def wrap_all(hints: Sequence[Hint], named_only: Sequence[str], secret: bytes) -> str:
    """Return a delivery: its hints in order, then a line that names the rest; maybe empty."""
    parts = [wrap(hint, secret) for hint in hints]
    if named_only:
        more = len(named_only) - _MOST_NAMED
        names = ", ".join(named_only[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        parts.append(f"[More instructions apply here; read them before you go on: {names}]")
    return "\n\n".join(parts)


def loaded_in(texts: Iterable[str], secret: bytes) -> LoadedHints:
    """Return which hints stand whole in some texts of a conversation, oldest first."""
    marked = (text for text in texts if _TAG in text)  # most have none, and this is quick
    return LoadedHints(
        {label: digest for text in marked for label, digest in _sealed(text, secret)}
    )


def _sealed(text: str, secret: bytes) -> Iterator[tuple[str, str]]:
    """Find openings whose next mark is a closing: linear, and no forged opening swallows one."""
    opening: re.Match[str] | None = None
    for mark in _MARK.finditer(text):
        if mark["label"] is not None:
            opening = mark
        elif opening is not None:
            label, digest = opening["label"], opening["digest"]
            seal = _seal(secret, label, digest, text[opening.end() : mark.start()])
            if hmac.compare_digest(seal, opening["seal"]):
                yield label, digest
            opening = None


def _seal(secret: bytes, *parts: str) -> str:
    said = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hmac.new(secret, said, hashlib.sha256).hexdigest()[:DIGEST_CHARACTERS]
