r"""YAML frontmatter of Markdown files, read leniently; for both libraries. Pure.

>>> from markdown_frontmatter.reading import read_leniently
>>> fields, body = read_leniently("---\nglobs: *.ts\nalwaysApply: false\n---\nUse tabs.\n")
>>> body, fields.values
('Use tabs.\n', {'globs': '*.ts', 'alwaysApply': False})
"""
