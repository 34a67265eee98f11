r"""Agent Skills library: finds, renders, edits and installs directories with a SKILL.md.

>>> import tempfile
>>> from pathlib import Path
>>> from skills_store.index import IndexRequest
>>> from skills_store.library import SkillLibrary
>>> from skills_store.skill import SkillRoot
>>> home = tempfile.TemporaryDirectory()
>>> root = SkillRoot("home", Path(home.name), is_writable=True)
>>> folder = root.path / "coding" / "release"
>>> folder.mkdir(parents=True)
>>> text = "---\nname: release\ndescription: Use when a version is released.\n---\n1. Tag it.\n"
>>> _ = (folder / "SKILL.md").write_text(text)
>>> library = SkillLibrary(lambda: [root])
>>> print(library.index(IndexRequest()).partition("<available_skills>\n")[2])
coding:
  - release: Use when a version is released.
</available_skills>
>>> library.view("release").content == text
True
>>> library.find("releas")
Traceback (most recent call last):
skills_store.errors.SkillNotFoundError: There is no skill named 'releas'. Did you mean ...
>>> home.cleanup()

Importing the package imports none of its modules: at start-up other packages import only the atomic
writes and locks.
"""
