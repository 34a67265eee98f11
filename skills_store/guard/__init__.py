"""Skill guard: scans a skill before installation and decides whether to allow it.

Checks the structure of a skill here (kinds, sizes, modes and links of its files); its texts are
judged by a scan that the caller passes in.

The guard only catches known patterns. A skill without findings is not proven safe; the permission
gate still authorises each of its actions.
"""
