"""Text blocks that carry subdirectory instructions in a conversation, and their recognition.

Which hints are loaded is derived from the conversation alone. A forged block in a tool's output
would therefore suppress a project's real instructions. Each block carries a signature: a keyed hash
of path, digest and the exact text it wraps. A copy of a signed block only proves that this text is
in the conversation, which is true; a truncated or modified one proves nothing; and a tool that sees
a signature cannot make another. Tags in other texts need no escaping, so files and outputs reach
the model byte for byte. The key is a secret of the session: it is stored with the session, copied
to a fork, and never sent to a model or a tool. If it is lost, hints are delivered once more.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

DIGEST_CHARACTERS = 12

_TAG = "project_instructions"
_TAG_RE = re.compile(
    rf'<{_TAG} path="(?P<label>[^"\n]*)" id="(?P<digest>[0-9a-f]{{{DIGEST_CHARACTERS}}})'
    rf'-(?P<seal>[0-9a-f]{{{DIGEST_CHARACTERS}}})"(?: state="changed")?>\n|\n</{_TAG}>'
)
_OWN_TAG_RE = re.compile(rf"<(?=/?{_TAG})")
_MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class InstructionHint:
    """Instruction file that applies to a path in use."""

    path: Path
    label: str
    """Path as shown to the model: relative to the session's directory, or absolute."""
    text: str
    digest: str
    """Identifies the file's content, blocked or shown; `DIGEST_CHARACTERS` hex digits."""
    is_changed: bool
    """Whether the conversation holds earlier instructions of this file or its directory."""


@dataclass(frozen=True, slots=True)
class LoadedHints:
    """Instruction files in the conversation, with their digests."""

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """Digest by label; the last one for a file that was delivered more than once."""

    @property
    def digests(self) -> frozenset[str]:
        """Digests of all contents in the conversation, from any source."""
        return frozenset(self.files.values())

    def merged_with(self, later: "LoadedHints") -> "LoadedHints":
        """Return the union; for a file in both, `later` wins."""
        return LoadedHints({**self.files, **later.files})


def short_digest(sha256: str) -> str:
    """Shorten a SHA-256 hex digest; enough to tell the contents of one project apart."""
    return sha256[:DIGEST_CHARACTERS]


def wrap_hint(hint: InstructionHint, secret: bytes) -> str:
    """Return a hint as it is appended to a result or message.

    Tags of this kind inside the text are escaped; otherwise the text could end its own block.
    """
    body = _OWN_TAG_RE.sub(r"<\\", hint.text)
    state = ' state="changed"' if hint.is_changed else ""
    signature = _sign(secret, hint.label, hint.digest, body)
    return f'<{_TAG} path="{hint.label}" id="{hint.digest}-{signature}"{state}>\n{body}\n</{_TAG}>'


def wrap_hints(hints: Sequence[InstructionHint], named_only: Sequence[str], secret: bytes) -> str:
    """Return the hints in order, then a line naming the files that did not fit; may be empty."""
    parts = [wrap_hint(hint, secret) for hint in hints]
    if named_only:
        more = len(named_only) - _MAX_NAMED
        names = ", ".join(named_only[:_MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
        parts.append(f"[More instructions apply here; read them before you go on: {names}]")
    return "\n\n".join(parts)


def find_loaded_hints(texts: Iterable[str], secret: bytes) -> LoadedHints:
    """Return the hints that are completely contained in the given texts, oldest first."""
    tagged = (text for text in texts if _TAG in text)  # cheap filter: most texts have no tag
    return LoadedHints(
        {label: digest for text in tagged for label, digest in _verified_hints(text, secret)}
    )


def mask_signatures(text: str) -> str:
    """Return a text without the signatures of its blocks, which differ between sessions.

    >>> mask_signatures('<project_instructions path="a" id="0123456789ab-ba9876543210">')
    '<project_instructions path="a" id="0123456789ab-ba9876543210">'
    >>> block = wrap_hint(InstructionHint(Path("a"), "a", "Be kind.", "0" * 12, False), b"secret")
    >>> mask_signatures(block).splitlines()[0]
    '<project_instructions path="a" id="000000000000-(signature)">'
    """

    def mask(found: re.Match[str]) -> str:
        seal = found["seal"]
        return found[0] if seal is None else found[0].replace(f"-{seal}", "-(signature)", 1)

    return _TAG_RE.sub(mask, text)


def _verified_hints(text: str, secret: bytes) -> Iterator[tuple[str, str]]:
    """Yield label and digest of every correctly signed block.

    Only an opening tag directly followed by a closing tag counts. That keeps the scan linear, and a
    forged opening tag cannot swallow a real block.
    """
    opening: re.Match[str] | None = None
    for tag in _TAG_RE.finditer(text):
        if tag["label"] is not None:
            opening = tag
        elif opening is not None:
            label, digest = opening["label"], opening["digest"]
            signature = _sign(secret, label, digest, text[opening.end() : tag.start()])
            # Constant-time comparison: a tool must not learn a signature from timing.
            if hmac.compare_digest(signature, opening["seal"]):
                yield label, digest
            opening = None


def _sign(secret: bytes, *parts: str) -> str:
    message = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hmac.new(secret, message, hashlib.sha256).hexdigest()[:DIGEST_CHARACTERS]
