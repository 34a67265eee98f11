"""Conversations that outlive their turns. Builds on the turn engine; knows no ACP."""
