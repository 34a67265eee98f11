"""Whatever two writers do to one home in whatever order, it holds what they were told it holds."""

import os
import random
import tempfile
import traceback
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from skills_store.calls import ManageCall
from skills_store.changes import ManageAction, SkillChange
from skills_store.document import validate_new_document
from skills_store.editor import SkillEditor
from skills_store.errors import SkillError
from skills_store.locks import LockedError
from tests.skills_store.skill_home import (
    SkillHome,
    files_in,
    skill_document,
    visible_files,
    write_skill,
)

NAMES = st.sampled_from(["brew", "tea", "mill", "filter"])
CATEGORIES = st.sampled_from(["", "kitchen", "brew", "a/b"])
BODIES = st.sampled_from(["1. Do it.\n", "1. Wait.\n2. Pour.\n", "Do it.\nDo it.\n"])
WORDS = st.sampled_from(["Do it.", "Do  it.", "Wait.", "Pour.", "name: brew"])
PATHS = st.sampled_from(
    ["references/a.md"] * 4 + ["scripts/a.sh", "SKILL.md", "references/A.md", "../tea/SKILL.md"]
)
ACTIONS: tuple[ManageAction, ...] = (*get_args(ManageAction), "patch", "patch", "edit", "create")
WITHOUT_SHRINKING = tuple(set(Phase) - {Phase.shrink, Phase.explain})  # it takes minutes
NO_SYNC = "fsync is left out: it costs milliseconds, and no power fails here"


@st.composite
def calls(draw: st.DrawFn) -> ManageCall:
    """Draw a call that may well be made: most are, some are refused."""
    name = draw(NAMES)
    content = draw(st.builds(skill_document, st.just(name), BODIES))
    if draw(st.integers(0, 7)) == 0:
        content = draw(st.just("no frontmatter") | st.builds(skill_document, NAMES, BODIES))
    return ManageCall(
        draw(st.sampled_from(get_args(ManageAction))),
        name,
        content=content,
        category=draw(CATEGORIES),
        old_string=draw(WORDS),
        new_string=draw(WORDS),
        replace_all=draw(st.booleans()),
        file_path=draw(PATHS),
        file_content=draw(BODIES),
        absorbed_into=draw(st.just("") | NAMES),
        origin=draw(st.sampled_from(["turn", "turn", "user", "review", "curator"])),
    )


class TwoWriters(RuleBasedStateMachine):
    """Two keepers plan and commit, interleaved; a model says what must be on the disk."""

    changes: Bundle[tuple[SkillEditor, SkillChange]] = Bundle("changes")

    def __init__(self) -> None:
        super().__init__()
        self.temporary_directories = tempfile.TemporaryDirectory()
        self.skill_home = SkillHome(Path(self.temporary_directories.name))
        write_skill(self.skill_home.skills, "kitchen/bystander", references__a_dot_md="a")
        write_skill(self.skill_home.bundled, "kitchen/mill", scripts__a_dot_sh="a")
        for path in ("kitchen/brew", "tea"):
            write_skill(self.skill_home.skills, path, references__a_dot_md="Do it.\n")
        self.bundled = files_in(self.skill_home.bundled)
        self.editors = (self.skill_home.editor, self.skill_home.new_editor())
        self.files = visible_files(self.skill_home.skills)
        self.patches: dict[str, int] = {}

    @rule(target=changes, call=calls(), which=st.sampled_from([0, 1]))
    def plan(
        self, call: ManageCall, which: int
    ) -> tuple[SkillEditor, SkillChange] | MultipleResults[tuple[SkillEditor, SkillChange]]:
        editor = self.editors[which]
        try:
            return editor, editor.plan(call)
        except SkillError:
            return multiple()

    @rule(call=calls(), which=st.sampled_from([0, 1]))
    def change_at_once(self, call: ManageCall, which: int) -> None:
        editor = self.editors[which]
        try:
            change = editor.plan(call)
        except SkillError:
            return
        self.commit_planned(editor, change)

    @rule(first=calls(), second=calls())
    def change_at_the_same_time(self, first: ManageCall, second: ManageCall) -> None:
        planned: list[tuple[SkillEditor, SkillChange]] = []
        for editor, call in zip(
            self.editors, (first, replace(second, name=first.name)), strict=True
        ):
            with suppress(SkillError):
                planned.append((editor, editor.plan(call)))
        for editor, change in planned:
            self.commit_planned(editor, change)

    @rule(planned=consumes(changes))
    def commit(self, planned: tuple[SkillEditor, SkillChange]) -> None:
        self.commit_planned(*planned)

    def commit_planned(self, editor: SkillEditor, change: SkillChange) -> None:
        try:
            done = editor.commit(change)
        except SkillError:
            return
        self.files = self.expected_stop_reason(change)
        if change.origin in {"review", "curator"}:
            assert done.undo_id is not None
        if change.action == "create":
            self.patches[change.name] = 0
        else:
            count = self.patches.get(change.name, 0)
            self.patches[change.name] = count + (change.action != "delete")

    @rule(call=calls(), which=st.sampled_from([0, 1]))
    def review_change_and_undo(self, call: ManageCall, which: int) -> None:
        editor = self.editors[which]
        try:
            done = editor.commit(editor.plan(replace(call, origin="review")))
        except SkillError:
            return
        assert done.undo_id is not None
        editor.undo(done.undo_id)
        record = editor.usage.record(call.name)
        self.patches.pop(call.name, None)
        if record is not None:  # what was undone was still done
            self.patches[call.name] = record.patch_count

    def expected_stop_reason(self, change: SkillChange) -> dict[str, bytes]:
        """Say what a change makes of the files, from its call alone."""
        relative_folder = change.folder.relative_to(self.skill_home.skills).as_posix()
        files = dict(self.files)
        if change.action == "delete":
            folders = ("SKILL.md", "references/", "scripts/", "templates/", "assets/")
            subfolders = tuple(f"{relative_folder}/{folder}" for folder in folders)
            return {path: data for path, data in files.items() if not path.startswith(subfolders)}
        if change.skill is not None and change.skill.root.kind == "bundled":
            for path, data in files_in(change.skill.folder).items():
                files[f"{relative_folder}/{path}"] = data
        for diff in change.diffs:
            path = diff.path.relative_to(self.skill_home.skills).as_posix()
            files.pop(path, None)
            if diff.new is not None:
                files[path] = diff.new.encode()
        return files

    @invariant()
    def the_disk_holds_what_was_committed(self) -> None:
        assert visible_files(self.skill_home.skills) == self.files
        assert files_in(self.skill_home.bundled) == self.bundled

    @invariant()
    def every_skill_is_valid(self) -> None:
        for path, data in self.files.items():
            if path.endswith("/SKILL.md"):
                assert validate_new_document(path.split("/")[-2], data.decode()) == ()

    @invariant()
    def the_sidecar_counts_what_was_done(self) -> None:
        records = self.skill_home.editor.usage.records()
        counted = {name: record.patch_count for name, record in records.items()}
        assert counted == self.patches
        for name, record in records.items():
            is_there = any(f"/{path}".endswith(f"/{name}/SKILL.md") for path in self.files)
            assert (record.state == "archived") is not is_there

    def teardown(self) -> None:
        self.temporary_directories.cleanup()


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    def sync(_: int) -> None:
        assert NO_SYNC

    monkeypatch.setattr(os, "fsync", sync)


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("examples", [3, pytest.param(300, marks=pytest.mark.full)])
def test_two_alternating_writers_leave_the_expected_state(examples: int) -> None:
    run_state_machine_as_test(
        TwoWriters,
        settings=settings(
            max_examples=examples,
            stateful_step_count=25,
            deadline=None,
            phases=WITHOUT_SHRINKING,
        ),
    )


def work_alone(folder: Path, seed: int, rounds: int) -> int:
    """Make random changes in a process of its own; return how many patches were made."""
    skill_home = SkillHome(folder)
    choose = random.Random(seed)  # noqa: S311 - a sequence that can be repeated, no secret
    made = 0
    for number in range(rounds):
        name = choose.choice(["brew", "tea", "mill"])
        call = choose.choice(
            [
                ManageCall("create", name, content=skill_document(name)),
                ManageCall("edit", name, content=skill_document(name, f"{seed}: {number}\n")),
                ManageCall("edit", name, content=skill_document(name, f"{seed}: again {number}\n")),
                ManageCall(
                    "write_file", name, file_path="references/a.md", file_content=f"{number}\n"
                ),
                ManageCall("remove_file", name, file_path="references/a.md"),
                ManageCall("patch", name, old_string=f"{seed}: ", new_string="x: "),
                ManageCall("delete", name),
            ]
        )
        try:
            skill_home.apply(call)
        except SkillError:
            continue
        except LockedError:
            return -1
        made += call.action not in {"create", "delete"}
    return made


@pytest.mark.usefixtures("_quick")
def test_two_concurrent_processes_leave_valid_skills_and_an_intact_sidecar(tmp_path: Path) -> None:
    skill_home = SkillHome(tmp_path)
    bystander = write_skill(skill_home.skills, "bystander", references__a_dot_md="a")
    before = files_in(bystander)
    children: list[int] = []
    for seed in (1, 2):
        child = os.fork()
        if child == 0:
            try:
                made = work_alone(tmp_path, seed, rounds=30)
            except BaseException:  # noqa: BLE001 - the parent must not go on twice
                traceback.print_exc()
                os._exit(2)
            os._exit(0 if made > 0 else 1)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes == [0, 0]
    assert files_in(bystander) == before
    records = skill_home.editor.usage.records()
    for path, data in visible_files(skill_home.skills).items():
        if path.endswith("/SKILL.md"):
            name = path.split("/")[-2]
            assert validate_new_document(name, data.decode()) == ()
            assert name == "bystander" or records[name].state == "active"
    assert not list(skill_home.skills.glob(".usage.json.broken"))
