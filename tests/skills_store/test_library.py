"""All roots as one: who wins a name, what is told of the others, and when the disk is looked at."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from skills_store import errors
from skills_store.errors import (
    AmbiguousSkillError,
    ArchivedSkillError,
    HiddenSkillError,
    SkillError,
    SkillNotFoundError,
    UnreadableSkillError,
)
from skills_store.index import IndexRequest
from skills_store.library import ListedSkill, SkillLibrary, SkillListing
from skills_store.skill import ArchivedSkill, SkillRoot
from skills_store.visibility import VisibilityFacts
from tests.skills_store.skill_files import (
    home_root,
    make_files_old,
    make_library,
    skill_text,
    write_file,
    write_skill,
)


def test_the_first_root_wins_a_name_and_the_others_are_reported(tmp_path: Path) -> None:
    for root in ("workspace", "home", "external"):
        write_skill(tmp_path / root / root / "pdf", f"Of {root}.")
        write_skill(tmp_path / root / f"only-{root}")
    library = make_library(*(tmp_path / root for root in ("workspace", "home", "external")))
    assert library.find("pdf").description == "Of workspace."
    shadowed = [(each.skill.description, each.winner.description) for each in library.shadowed()]
    assert shadowed == [("Of home.", "Of workspace."), ("Of external.", "Of workspace.")]
    assert len(library.skills()) == 1 + 3


def test_a_linked_duplicate_is_not_reported_as_shadowed(tmp_path: Path) -> None:
    write_skill(tmp_path / "agents/pdf")
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude/pdf").symlink_to("../agents/pdf")
    assert make_library(tmp_path / "claude", tmp_path / "agents").shadowed() == ()


def test_the_first_root_provides_the_category_description(tmp_path: Path) -> None:
    for root in ("a", "b"):
        write_skill(tmp_path / root / "coding" / root)
        write_file(tmp_path / root / "coding/DESCRIPTION.md", f"---\ndescription: {root}!\n---\n")
    library = make_library(tmp_path / "a", tmp_path / "b")
    assert library.list_skills() == SkillListing(
        (ListedSkill("a", "Use it.", "coding"), ListedSkill("b", "Use it.", "coding")),
        (("coding", "a!"),),
    )


def test_an_ambiguous_name_is_an_error_that_lists_both_skills(tmp_path: Path) -> None:
    write_skill(tmp_path / "a/pdf")
    write_skill(tmp_path / "b/pdf")
    library = make_library(tmp_path)
    with pytest.raises(AmbiguousSkillError, match=r"2 skills .* 'a/pdf', 'b/pdf'") as raised:
        library.view("pdf")
    assert raised.value.choices == ("a/pdf", "b/pdf")
    assert library.find("b/pdf").folder == tmp_path / "b/pdf"


def test_an_unknown_name_suggests_similar_ones(tmp_path: Path) -> None:
    write_skill(tmp_path / "git-flow")
    with pytest.raises(SkillNotFoundError, match="Did you mean 'git-flow'") as raised:
        make_library(tmp_path).view("gitflow")
    assert raised.value.similar == ("git-flow",)


@pytest.mark.parametrize("name", ["", "/", "../pdf", "a/../pdf", "\0", "n" * 10_000, "pdf/"])
def test_no_name_resolves_outside_the_library(tmp_path: Path, name: str) -> None:
    write_skill(tmp_path / "skills/pdf")
    write_skill(tmp_path / "pdf")
    with pytest.raises(SkillNotFoundError):
        make_library(tmp_path / "skills").find(name)


def test_an_invalid_skill_is_reported_by_its_name(tmp_path: Path) -> None:
    write_file(tmp_path / "mute/SKILL.md", "---\nname: mute\n---\n")
    with pytest.raises(UnreadableSkillError, match=r"mute/SKILL.md:1: it has no description"):
        make_library(tmp_path).view("mute")


def test_an_archived_name_is_answered_with_its_destination(tmp_path: Path) -> None:
    write_skill(tmp_path / "umbrella", fields="related_skills: [old, umbrella, never]")
    archived = {
        "old": ArchivedSkill("old", "umbrella", "2026-01-02T03:04:05Z"),
        "umbrella": ArchivedSkill("umbrella"),
    }
    library = SkillLibrary(lambda: [home_root(tmp_path)], find_archived=archived.get)
    with pytest.raises(ArchivedSkillError) as raised:
        library.view("old")
    assert raised.value.archived == archived["old"]
    assert str(raised.value) == (
        "The skill 'old' was archived on 2026-01-02. What it held is now in the skill 'umbrella': "
        "load that one. The user brings it back with `acp-server skills restore old`."
    )
    assert library.view("umbrella").archived_related_skills == (archived["old"],)
    assert [library.is_known(name) for name in ("old", "umbrella", "never")] == [True, True, False]


def test_the_list_shows_the_skills_visible_to_the_session(tmp_path: Path) -> None:
    write_skill(tmp_path / "ops/mac", fields="platforms: [macos]")
    write_skill(tmp_path / "ops/cloud/kube")
    write_skill(tmp_path / "opsec/keys")
    write_skill(tmp_path / "top")
    library, linux = make_library(tmp_path), VisibilityFacts("linux")
    assert library.list_skills(linux, "ops") == SkillListing(
        (ListedSkill("kube", "Use it.", "ops/cloud"),),
        (("general", ""), ("ops/cloud", ""), ("opsec", "")),
    )
    everything = [each.name for each in library.list_skills().skills]
    assert everything == ["top", "mac", "kube", "keys"]
    assert [each.name for each in library.list_skills(category="general").skills] == ["top"]
    assert library.list_skills(category="none").skills == ()


def test_a_hidden_skill_cannot_be_viewed_by_name(tmp_path: Path) -> None:
    write_skill(tmp_path / "mac", fields="platforms: [macos]")
    library, linux = make_library(tmp_path), VisibilityFacts("linux")
    for look in (
        lambda: library.view("mac", facts=linux),
        lambda: library.view_file("mac", "SKILL.md", facts=linux),
    ):
        with pytest.raises(HiddenSkillError, match="it is for macos only"):
            look()
    assert library.view("mac").name == "mac"
    assert (library.skills(linux), library.find("mac").name) == ((), "mac")


def test_a_skill_added_by_another_program_appears_without_a_restart(tmp_path: Path) -> None:
    library = make_library(tmp_path / "skills")
    assert library.index(IndexRequest()) == ""
    write_skill(tmp_path / "skills/coding/new")
    assert "- new: Use it." in library.index(IndexRequest())
    write_skill(tmp_path / "skills/coding/new", "Use it not.")
    assert "- new: Use it not." in library.index(IndexRequest())
    (tmp_path / "skills/coding/new/SKILL.md").unlink()
    assert library.index(IndexRequest()) == ""


def test_a_watched_library_is_cached_until_a_change_is_reported(tmp_path: Path) -> None:
    library = make_library(tmp_path)
    library.set_watched(is_watched=True)
    assert library.skills() == ()
    write_skill(tmp_path / "new")
    assert library.skills() == ()
    library.mark_changed()
    assert [skill.name for skill in library.skills()] == ["new"]
    write_skill(tmp_path / "newer")
    library.set_watched(is_watched=False)
    assert len(library.skills()) == 2


def test_the_watcher_is_given_the_paths_to_watch(tmp_path: Path) -> None:
    write_skill(tmp_path / "elsewhere/pdf")
    write_file(tmp_path / "dotfiles/git.md", skill_text("git"))
    (tmp_path / "home/coding/git").mkdir(parents=True)
    (tmp_path / "home/pdf").symlink_to("../elsewhere/pdf")
    (tmp_path / "home/coding/git/SKILL.md").symlink_to(tmp_path / "dotfiles/git.md")
    library = make_library(tmp_path / "home", tmp_path / "none")
    home = tmp_path / "home"
    wanted = {
        *(home, home / "coding", home / "coding/git", home / "pdf", tmp_path / "none"),
        tmp_path / "dotfiles",
    }
    found = library.watch_directories()
    assert (found.wanted, found.present) == (wanted, wanted - {tmp_path / "none"})


def test_the_directories_of_a_changed_library_are_current(tmp_path: Path) -> None:
    write_skill(tmp_path / "home/pdf")
    write_file(tmp_path / "dotfiles/git.md", skill_text("git"))
    make_files_old(tmp_path)
    library = make_library(tmp_path / "home")
    home = tmp_path / "home"
    assert library.watch_directories() == library.watch_directories()
    # From now on a file of a known skill is a symlink, and there is a new skill.
    (home / "pdf/SKILL.md").unlink()
    (home / "pdf/SKILL.md").symlink_to(tmp_path / "dotfiles/git.md")
    write_skill(home / "new")
    wanted = {home, home / "pdf", home / "new", tmp_path / "dotfiles"}
    assert library.watch_directories().present == wanted


def test_a_change_between_the_first_scan_and_the_watcher_is_seen(tmp_path: Path) -> None:
    library = make_library(tmp_path)
    library.skills()
    write_skill(tmp_path / "new")
    library.set_watched(is_watched=True)
    assert len(library.skills()) == 1


def test_a_scan_since_the_watcher_started_is_not_repeated(tmp_path: Path) -> None:
    library = make_library(tmp_path)
    library.skills()
    library.set_watched(is_watched=True, since_last_scan=True)
    write_skill(tmp_path / "new")
    assert library.skills() == ()
    library.mark_changed()
    library.set_watched(is_watched=True, since_last_scan=True)
    assert len(library.skills()) == 1


def test_a_change_during_a_scan_is_seen_by_the_next_one(tmp_path: Path) -> None:
    def roots() -> Iterator[SkillRoot]:
        yield home_root(tmp_path)
        if not (tmp_path / "late").exists():
            library.mark_changed()

    library = SkillLibrary(lambda: list(roots()))
    library.set_watched(is_watched=True)
    assert library.skills() == ()
    write_skill(tmp_path / "late")
    assert len(library.skills()) == 1


def test_an_unchanged_collection_is_reused(tmp_path: Path) -> None:
    write_skill(tmp_path / "pdf")
    make_files_old(tmp_path)
    library = make_library(tmp_path)
    assert library.collection() is library.collection()


def test_reordered_roots_are_scanned_again(tmp_path: Path) -> None:
    for root in ("a", "b"):
        write_skill(tmp_path / root / "pdf", f"Of {root}.")
    make_files_old(tmp_path)
    roots = [home_root(tmp_path / "a"), home_root(tmp_path / "b")]
    library = SkillLibrary(lambda: tuple(roots))
    assert library.find("pdf").description == "Of a."
    roots.reverse()
    assert library.find("pdf").description == "Of b."


def test_concurrent_threads_can_query_the_library(tmp_path: Path) -> None:
    for number in range(50):
        write_file(tmp_path / f"s-{number}" / "SKILL.md", skill_text(f"s-{number}"))
    library, answers = make_library(tmp_path), list[str]()
    threads = [
        Thread(target=lambda: answers.append(library.index(IndexRequest()))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert len(set(answers)) == 1


def test_each_error_belongs_to_the_error_hierarchy() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    failures = [kind for kind in kinds if issubclass(kind, Exception)]
    assert all(issubclass(kind, SkillError) for kind in failures)
    assert all(kind.__name__ in (errors.__doc__ or "") for kind in failures)
