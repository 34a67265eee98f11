"""Click commands whose help ends with examples from `examples.toml`, which only help loads."""

import tomllib
from pathlib import Path

import click


class ExampleCommand(click.Command):
    """Click command with examples."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples of this command."""
        file = Path(__file__).with_name("examples.toml")
        examples: dict[str, str] = tomllib.loads(file.read_text(encoding="utf-8"))
        text = examples.get(ctx.command_path.partition(" ")[2], "").rstrip()
        # To click, \b marks a paragraph whose lines stay as they are.
        self.epilog = "\n\n".join(f"\b\n{paragraph}" for paragraph in text.split("\n\n"))
        super().format_epilog(ctx, formatter)


class ExampleGroup(ExampleCommand, click.Group):
    """Click group with examples, also of its commands."""

    command_class = ExampleCommand
