"""Every store that keeps data in files: how it is prepared, changed and read again.

Each entry names a change and the content that a new reader then sees. `test_stores` makes every
operation of every change fail in every way.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from acp_server.checkpoints.config import CheckpointRules
from acp_server.checkpoints.manifests import Manifest
from acp_server.checkpoints.objects import ObjectStore, name_of
from acp_server.checkpoints.records import Origin, Record
from acp_server.checkpoints.store import CheckpointStore
from acp_server.cli.setup import change_model
from acp_server.config.credentials import KeyStore, account_for
from acp_server.learning.proposals import Proposals
from acp_server.memory.errors import StoreError
from acp_server.memory.operations import Operation
from acp_server.memory.results import Answer
from acp_server.models.access import ListedModel
from acp_server.models.model_list_cache import load_list, save_list
from acp_server.permissions.rule_store import RuleStore
from acp_server.permissions.rules import Rule
from acp_server.permissions.scopes import CommandScope, SiteScope
from acp_server.permissions.trust import ContentTrust, TrustStore
from acp_server.turn.conversation import ToolCall
from skills_store.curation.report import Report, write_report
from skills_store.json_file import Document, DocumentFile
from tests.faults.files import FILES, NEW
from tests.faults.store_case import Store, bytes_of, nothing
from tests.memory.stores import memory_of

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


class NotDoneError(Exception):
    """A store replied that nothing was changed."""


# Documents: permission rules, trust, notes.


def changed(folder: Path) -> None:
    """Set a key in a document."""

    def change(document: Document) -> None:
        document["new"] = 2

    DocumentFile(folder / "acp" / "state.json").change(change)


def document_begun(folder: Path) -> None:
    """Create a document with a key that this version does not know."""
    (folder / "acp").mkdir()
    (folder / "acp" / "state.json").write_text('{"old": [1]}')


def broken_document(folder: Path) -> None:
    """Create an unreadable document."""
    (folder / "acp").mkdir()
    (folder / "acp" / "state.json").write_text("{broken")


def document_read(folder: Path) -> object:
    """Return the document and the files moved aside: a broken file is never lost."""
    acp = folder / "acp"
    texts = [path.read_text() for path in acp.glob("state.json*") if path.suffix != ".lock"]
    return DocumentFile(acp / "state.json").read(), "{broken" in texts


RULES = (Rule(CommandScope(("git", "push")), is_allowed=True), Rule(SiteScope("a.org"), False))  # noqa: FBT003


def rule_kept(number: int) -> Callable[[Path], None]:
    """Return a function that saves one of two rules."""
    return lambda folder: RuleStore(folder / "acp/permissions.json").add(folder, RULES[number])


def trust(path: Path) -> TrustStore:
    """Return the store of trusted workspaces."""
    return TrustStore(path / "acp/trust.json")


def contents_trusted(folder: Path) -> ContentTrust:
    """Return the store of trusted file contents."""
    return ContentTrust(folder / "acp/content.json")


DOCUMENTS = [
    Store("a first document", nothing, changed, document_read),
    Store("a document", document_begun, changed, document_read),
    Store("a broken document", broken_document, changed, document_read),
    Store(
        "a remembered rule",
        rule_kept(0),
        rule_kept(1),
        lambda folder: RuleStore(folder / "acp/permissions.json").load(folder),
    ),
    Store(
        "a trusted workspace",
        lambda folder: trust(folder).say(folder / "one", "trusted"),
        lambda folder: trust(folder).say(folder / "two", "declined"),
        lambda folder: trust(folder).all(),
    ),
    Store(
        "trust that is taken back",
        lambda folder: trust(folder).say(folder, "trusted"),
        lambda folder: trust(folder).revoke(folder),
        lambda folder: trust(folder).all(),
    ),
    Store(
        "a trusted file",
        lambda folder: contents_trusted(folder).give(folder / "one", "1"),
        lambda folder: contents_trusted(folder).give(folder / "two", "2"),
        lambda folder: contents_trusted(folder).all(),
    ),
]


# Keys, models, settings.

OTHER_ACCOUNT = account_for("openai")


def keys(folder: Path, account: str = OTHER_ACCOUNT) -> KeyStore:
    """Return the store of an account's key."""
    return KeyStore(folder, account=account, use_keyring=False)


def two_keys(folder: Path) -> None:
    """Save our key and a key of another account."""
    keys(folder).save("theirs")
    keys(folder, "mine").save("mine")


def keys_read(folder: Path) -> object:
    """Return the keys of both accounts."""
    found = [keys(folder).load(), keys(folder, "mine").load()]
    return [None if each is None else each.api_key for each in found]


def listed(folder: Path, address: str) -> object:
    """Save the model list of an endpoint."""
    return save_list(folder / "acp/models.json", address, (ListedModel("m", "M"),))


def model_settings(folder: Path) -> None:
    """Create a settings file as a person would write it."""
    (folder / "acp").mkdir()
    (folder / "acp/config.yaml").write_text("# mine\nmode: plan\nmodel: {default: old}\n")


SETTINGS = [
    Store("a first key", nothing, lambda folder: keys(folder, "mine").save("mine"), keys_read),
    Store(
        "another account's key",
        lambda folder: keys(folder).save("theirs"),
        lambda folder: keys(folder, "mine").save("mine"),
        keys_read,
    ),
    Store("a key that is forgotten", two_keys, lambda f: keys(f, "mine").forget(), keys_read),
    Store(
        "models that an endpoint offers",
        lambda folder: listed(folder, "http://a"),
        lambda folder: listed(folder, "http://b"),
        lambda folder: [
            load_list(folder / "acp/models.json", each) for each in ("http://a", "http://b")
        ],
        failures=(),
    ),
    Store(
        "a setting",
        model_settings,
        lambda folder: change_model(folder, default="new"),
        bytes_of("acp/config.yaml"),
    ),
]


# The memory.


MEMORY_FAILURES = (NotDoneError, StoreError)


def done(answer: Answer) -> None:
    """Raise an error if the answer is a refusal."""
    if not answer.is_success:
        raise NotDoneError(answer.text)


def remember(*operations: Operation) -> Callable[[Path], None]:
    """Return a function that applies these memory operations."""
    return lambda folder: done(memory_of(folder).apply("memory", operations))


def remembered(folder: Path) -> object:
    """Return the memory entries."""
    return memory_of(folder).contents("memory").entries


def replaced(folder: Path) -> None:
    """Replace an entry, unless that is done already."""
    if "tea" in str(remembered(folder)):
        remember(Operation("replace", "likes coffee", old_text="likes tea"))(folder)


def rewritten(folder: Path) -> None:
    """Write a person's own text into the memory file."""
    memory = memory_of(folder)
    done(memory.rewrite("memory", memory.raw("memory"), b"by hand\n\xc2\xa7\nand more\n"))


def taken_back(folder: Path) -> None:
    """Undo the last write, unless that is done already."""
    if "green" in str(remembered(folder)):
        done(memory_of(folder).undo("memory"))


def two_writes(folder: Path) -> None:
    """Write twice, so that there is something to undo."""
    remember(Operation("add", "likes tea"))(folder)
    remember(Operation("add", "green tea"))(folder)


MEMORY = [
    Store("a first fact", nothing, remember(Operation("add", "one")), remembered, MEMORY_FAILURES),
    Store(
        "a fact in another's place",
        remember(Operation("add", "likes tea"), Operation("add", "is Ada")),
        replaced,
        remembered,
        MEMORY_FAILURES,
    ),
    Store("a memory by hand", two_writes, rewritten, remembered, MEMORY_FAILURES),
    Store("a fact taken back", two_writes, taken_back, remembered, MEMORY_FAILURES),
]


# Checkpoints and learned proposals.


def checkpoints(folder: Path) -> CheckpointStore:
    """Return the checkpoint store of a workspace."""
    return CheckpointStore(folder / "kept" / "one", CheckpointRules())


def checkpoints_made(folder: Path) -> None:
    """Create the checkpoint directory of a workspace."""
    checkpoints(folder).make(folder)


def record_kept(folder: Path, title: str = "new") -> None:
    """Save a record over the previous one."""
    store = checkpoints(folder)
    store.make(folder)
    store.write(Record("r", Origin("s", title, 1.0)))


def manifest_kept(folder: Path) -> None:
    """Save a manifest of file states."""
    checkpoints(folder).write_manifest("r", Manifest(2.0, faults=("none",)))


def proposed(folder: Path) -> None:
    """Save a proposal."""
    proposals = Proposals(folder / "proposals", "s", LONG_AGO)
    proposals.path = folder / "proposals" / "one.md"
    proposals.add(ToolCall("c", "memory", '{"action": "add"}'))


KEPT = [
    Store(
        "bytes of a file",
        nothing,
        lambda folder: ObjectStore(folder / "objects").write(NEW),
        lambda folder: (
            (folder / "objects" / name_of(NEW)[:2] / name_of(NEW)[2:]).exists()
            and ObjectStore(folder / "objects").read(name_of(NEW))
        ),
    ),
    Store(
        "a first checkpoint",
        nothing,
        record_kept,
        lambda folder: [each.origin.title for each in checkpoints(folder).all()],
    ),
    Store(
        "the folder of checkpoints",
        nothing,
        checkpoints_made,
        lambda folder: (
            (folder / "kept/one/workspace").exists()
            and (folder / "kept/one/workspace").read_bytes()
        ),
    ),
    Store(
        "a checkpoint again",
        lambda folder: record_kept(folder, "old"),
        record_kept,
        lambda folder: [each.origin.title for each in checkpoints(folder).all()],
    ),
    Store(
        "a list of files",
        checkpoints_made,
        manifest_kept,
        lambda folder: checkpoints(folder).read_manifest("r"),
    ),
    Store("a proposal", nothing, proposed, bytes_of("proposals/one.md")),
    Store(
        "a report",
        nothing,
        lambda folder: write_report(folder / "report", Report(LONG_AGO, ())),
        lambda folder: (
            sorted((folder / "report").glob("*.*"))
            == [folder / "report/report.md", folder / "report/report.yaml"]
        ),
    ),
]

STORES = [*FILES, *DOCUMENTS, *SETTINGS, *MEMORY, *KEPT]
