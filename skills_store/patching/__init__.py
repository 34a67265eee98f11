r"""Applies a model's edits and patches to a text. Pure: no I/O; expects line-feed endings.

>>> from skills_store.patching.hunk_application import apply_hunks
>>> from skills_store.patching.matching import replace
>>> from skills_store.patching.v4a import parse_patch
>>> replace("def f():\n    return 1\n", "return 1", "return 2").text
'def f():\n    return 2\n'
>>> (change,) = parse_patch("*** Update File: a.py\n@@ def f():\n-    return 1\n+    return 2")
>>> apply_hunks("def f():\n    return 1\n", change.hunks).text
'def f():\n    return 2\n'
"""
