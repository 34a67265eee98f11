"""Every store that keeps data in files: how it is prepared, changed and read again.

Each entry names a change and the content that a new reader then sees. `test_stores` makes every
operation of every change fail in every way.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from acp_server.checkpoints.config import CheckpointConfig
from acp_server.checkpoints.manifests import Manifest
from acp_server.checkpoints.objects import ObjectStore, object_name
from acp_server.checkpoints.records import TurnOrigin, TurnRecord
from acp_server.checkpoints.store import CheckpointStore
from acp_server.cli.setup import update_model_settings
from acp_server.config.credentials import KeyStore, account_name
from acp_server.learning.proposals import Proposals
from acp_server.memory.errors import MemoryStoreError
from acp_server.memory.operations import EntryOperation
from acp_server.memory.results import MemoryResult
from acp_server.models.access import ListedModel
from acp_server.models.model_list_cache import load_model_list, save_model_list
from acp_server.permissions.rule_store import RuleStore
from acp_server.permissions.rules import PermissionRule
from acp_server.permissions.scopes import CommandPattern, CommandScope, SiteScope
from acp_server.permissions.trust import ContentTrust, TrustStore
from acp_server.turn.conversation import ToolCall
from skills_store.curation.report import CurationReport, write_report
from skills_store.json_file import JsonFile, JsonObject
from tests.faults.files import FILES, NEW
from tests.faults.store_case import StoreCase, make_bytes_reader, prepare_nothing
from tests.memory.stores import open_memory

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


class NotDoneError(Exception):
    """A store replied that nothing was changed."""


# Documents: permission rules, trust, notes.


def update_document(folder: Path) -> None:
    """Set a key in a document."""

    def change(document: JsonObject) -> None:
        document["new"] = 2

    JsonFile(folder / "acp" / "state.json").update(change)


def create_document(folder: Path) -> None:
    """Create a document with a key that this version does not know."""
    (folder / "acp").mkdir()
    (folder / "acp" / "state.json").write_text('{"old": [1]}')


def create_broken_document(folder: Path) -> None:
    """Create an unreadable document."""
    (folder / "acp").mkdir()
    (folder / "acp" / "state.json").write_text("{broken")


def read_document(folder: Path) -> object:
    """Return the document and the files moved aside: a broken file is never lost."""
    acp = folder / "acp"
    texts = [path.read_text() for path in acp.glob("state.json*") if path.suffix != ".lock"]
    return JsonFile(acp / "state.json").read(), "{broken" in texts


RULES = (
    PermissionRule(CommandScope((CommandPattern(("git", "push"), Path("/w")),)), is_allowed=True),
    PermissionRule(SiteScope("a.org"), is_allowed=False),
)


def make_rule_saver(number: int) -> Callable[[Path], None]:
    """Return a function that saves one of two rules."""
    return lambda folder: RuleStore(folder / "acp/permissions.json").add(folder, RULES[number])


def open_trust_store(path: Path) -> TrustStore:
    """Return the store of trusted workspaces."""
    return TrustStore(path / "acp/trust.json")


def open_content_trust(folder: Path) -> ContentTrust:
    """Return the store of trusted file contents."""
    return ContentTrust(folder / "acp/content.json")


DOCUMENTS = [
    StoreCase("a first document", prepare_nothing, update_document, read_document),
    StoreCase("a document", create_document, update_document, read_document),
    StoreCase("a broken document", create_broken_document, update_document, read_document),
    StoreCase(
        "a remembered rule",
        make_rule_saver(0),
        make_rule_saver(1),
        lambda folder: RuleStore(folder / "acp/permissions.json").load(folder),
    ),
    StoreCase(
        "a trusted workspace",
        lambda folder: open_trust_store(folder).save(folder / "one", "trusted"),
        lambda folder: open_trust_store(folder).save(folder / "two", "declined"),
        lambda folder: open_trust_store(folder).read_all(),
    ),
    StoreCase(
        "trust that is taken back",
        lambda folder: open_trust_store(folder).save(folder, "trusted"),
        lambda folder: open_trust_store(folder).revoke(folder),
        lambda folder: open_trust_store(folder).read_all(),
    ),
    StoreCase(
        "a trusted file",
        lambda folder: open_content_trust(folder).trust(folder / "one", "1"),
        lambda folder: open_content_trust(folder).trust(folder / "two", "2"),
        lambda folder: open_content_trust(folder).read_all(),
    ),
]


# Keys, models, settings.

OTHER_ACCOUNT = account_name("openai")


def open_key_store(folder: Path, account: str = OTHER_ACCOUNT) -> KeyStore:
    """Return the store of an account's key."""
    return KeyStore(folder, account=account, use_keyring=False)


def save_two_keys(folder: Path) -> None:
    """Save our key and a key of another account."""
    open_key_store(folder).save("theirs")
    open_key_store(folder, "mine").save("mine")


def read_keys(folder: Path) -> object:
    """Return the keys of both accounts."""
    found = [open_key_store(folder).load(), open_key_store(folder, "mine").load()]
    return [None if each is None else each.api_key for each in found]


def save_test_model_list(folder: Path, address: str) -> object:
    """Save the model list of an endpoint."""
    return save_model_list(folder / "acp/models.json", address, (ListedModel("m", "M"),))


def write_model_settings(folder: Path) -> None:
    """Create a settings file as a person would write it."""
    (folder / "acp").mkdir()
    (folder / "acp/config.yaml").write_text("# mine\nmode: plan\nmodel: {default: old}\n")


SETTINGS = [
    StoreCase(
        "a first key",
        prepare_nothing,
        lambda folder: open_key_store(folder, "mine").save("mine"),
        read_keys,
    ),
    StoreCase(
        "another account's key",
        lambda folder: open_key_store(folder).save("theirs"),
        lambda folder: open_key_store(folder, "mine").save("mine"),
        read_keys,
    ),
    StoreCase(
        "a key that is forgotten",
        save_two_keys,
        lambda f: open_key_store(f, "mine").delete(),
        read_keys,
    ),
    StoreCase(
        "models that an endpoint offers",
        lambda folder: save_test_model_list(folder, "http://a"),
        lambda folder: save_test_model_list(folder, "http://b"),
        lambda folder: [
            load_model_list(folder / "acp/models.json", each) for each in ("http://a", "http://b")
        ],
        failures=(),
    ),
    StoreCase(
        "a setting",
        write_model_settings,
        lambda folder: update_model_settings(folder, default="new"),
        make_bytes_reader("acp/config.yaml"),
    ),
]


# The memory.


MEMORY_FAILURES = (NotDoneError, MemoryStoreError)


def raise_if_refused(answer: MemoryResult) -> None:
    """Raise an error if the answer is a refusal."""
    if not answer.is_success:
        raise NotDoneError(answer.text)


def make_memory_change(*operations: EntryOperation) -> Callable[[Path], None]:
    """Return a function that applies these memory operations."""
    return lambda folder: raise_if_refused(open_memory(folder).apply("memory", operations))


def read_memory(folder: Path) -> object:
    """Return the memory entries."""
    return open_memory(folder).contents("memory").entries


def replace_memory_entry(folder: Path) -> None:
    """Replace an entry, unless that is done already."""
    if "tea" in str(read_memory(folder)):
        make_memory_change(EntryOperation("replace", "likes coffee", old_text="likes tea"))(folder)


def rewrite_memory(folder: Path) -> None:
    """Write a person's own text into the memory file."""
    memory = open_memory(folder)
    raise_if_refused(
        memory.rewrite("memory", memory.raw("memory"), b"by hand\n\xc2\xa7\nand more\n")
    )


def undo_memory_write(folder: Path) -> None:
    """Undo the last write, unless that is done already."""
    if "green" in str(read_memory(folder)):
        raise_if_refused(open_memory(folder).undo("memory"))


def write_memory_twice(folder: Path) -> None:
    """Write twice, so that there is something to undo."""
    make_memory_change(EntryOperation("add", "likes tea"))(folder)
    make_memory_change(EntryOperation("add", "green tea"))(folder)


MEMORY = [
    StoreCase(
        "a first fact",
        prepare_nothing,
        make_memory_change(EntryOperation("add", "one")),
        read_memory,
        MEMORY_FAILURES,
    ),
    StoreCase(
        "a fact in another's place",
        make_memory_change(EntryOperation("add", "likes tea"), EntryOperation("add", "is Ada")),
        replace_memory_entry,
        read_memory,
        MEMORY_FAILURES,
    ),
    StoreCase("a memory by hand", write_memory_twice, rewrite_memory, read_memory, MEMORY_FAILURES),
    StoreCase(
        "a fact taken back", write_memory_twice, undo_memory_write, read_memory, MEMORY_FAILURES
    ),
]


# Checkpoints and learned proposals.


def open_checkpoint_store(folder: Path) -> CheckpointStore:
    """Return the checkpoint store of a workspace."""
    return CheckpointStore(folder / "kept" / "one", CheckpointConfig())


def create_checkpoints(folder: Path) -> None:
    """Create the checkpoint directory of a workspace."""
    open_checkpoint_store(folder).create(folder)


def save_record(folder: Path, title: str = "new") -> None:
    """Save a record over the previous one."""
    store = open_checkpoint_store(folder)
    store.create(folder)
    store.write(TurnRecord("r", TurnOrigin("s", title, 1.0)))


def save_manifest(folder: Path) -> None:
    """Save a manifest of file states."""
    open_checkpoint_store(folder).write_manifest("r", Manifest(2.0, failures=("none",)))


def save_proposal(folder: Path) -> None:
    """Save a proposal."""
    proposals = Proposals(folder / "proposals", "s", LONG_AGO)
    proposals.path = folder / "proposals" / "one.md"
    proposals.add(ToolCall("c", "memory", '{"action": "add"}'))


CHECKPOINTS_AND_PROPOSALS = [
    StoreCase(
        "bytes of a file",
        prepare_nothing,
        lambda folder: ObjectStore(folder / "objects").write(NEW),
        lambda folder: (
            (folder / "objects" / object_name(NEW)[:2] / object_name(NEW)[2:]).exists()
            and ObjectStore(folder / "objects").read(object_name(NEW))
        ),
    ),
    StoreCase(
        "a first checkpoint",
        prepare_nothing,
        save_record,
        lambda folder: [each.origin.title for each in open_checkpoint_store(folder).read_all()],
    ),
    StoreCase(
        "the folder of checkpoints",
        prepare_nothing,
        create_checkpoints,
        lambda folder: (
            (folder / "kept/one/workspace").exists()
            and (folder / "kept/one/workspace").read_bytes()
        ),
    ),
    StoreCase(
        "a checkpoint again",
        lambda folder: save_record(folder, "old"),
        save_record,
        lambda folder: [each.origin.title for each in open_checkpoint_store(folder).read_all()],
    ),
    StoreCase(
        "a list of files",
        create_checkpoints,
        save_manifest,
        lambda folder: open_checkpoint_store(folder).read_manifest("r"),
    ),
    StoreCase("a proposal", prepare_nothing, save_proposal, make_bytes_reader("proposals/one.md")),
    StoreCase(
        "a report",
        prepare_nothing,
        lambda folder: write_report(folder / "report", CurationReport(LONG_AGO, ())),
        lambda folder: (
            sorted((folder / "report").glob("*.*"))
            == [folder / "report/report.md", folder / "report/report.yaml"]
        ),
    ),
]

STORES = [*FILES, *DOCUMENTS, *SETTINGS, *MEMORY, *CHECKPOINTS_AND_PROPOSALS]
