"""Curation of skills: merge candidates, transfer of files, report, and schedule.

The model decides which skills belong together; nothing here calls it.
"""
