"""The skill library: folders with a SKILL.md. Knows skills, not agents."""
