"""The command line: `gradc COMMAND`. Each command is a file here that loads when it is called."""

from __future__ import annotations

import importlib

import click

from gradc.ir.diagnostic import GradcError

COMMANDS = {
    "dump": "Print a function's gradient at a stage of the compiler.",
    "bench": "Time value and gradients beside other systems.",
    "demo": "Train a digit classifier and show the compiler's stages.",
    "opt": "Run passes on IR text and print the result.",
}


class LazyGroup(click.Group):
    """Lists the commands from the table and imports only the one that runs.

    An error about the user's program or files is printed in one message, with exit code 1.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found: click.Command = importlib.import_module(f"gradc.cli.{cmd_name}").command
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(sorted(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except GradcError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gradc", message="%(prog)s %(version)s")
def main() -> None:
    """A graph compiler for the gradients of plain NumPy functions."""
