"""From the command line to the running program: the backend, the child processes, and the program itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from morph import activation, announcement
from morph import startup as waiting
from morph.errors import MorphError
from morph.finders.rewriting import rewriter
from morph.finders.scope import Scope
from morph.launcher import children, startup
from morph.launcher.command import ALL, Options
from morph.launcher.program import Program


def run(options: Options, program: Program) -> None:
    """Run ``program`` under morph.

    Raises:
        SystemExit: With status 2 if morph cannot start, after one line on standard error; else as the program
            ends itself.
    """
    waiting.withdraw()
    rewriter.uninstall()
    if options.rehearse == ALL:
        from morph.launcher import rehearsing

        raise SystemExit(rehearsing.on_every_vendor(options, program))
    try:
        children.inherit(os.environ, options, Scope())
        literals = startup.literals_of("__main__")
        with _armed(options, Scope()):
            program.run(literals)
    except MorphError as error:
        if activation.status().active:  # it belongs to the line of the program that it came from
            raise
        announcement.report(str(error))
        raise SystemExit(2) from None


@contextmanager
def _armed(options: Options, scope: Scope) -> Iterator[None]:
    if options.rehearse is None:
        activation.arm(options.backend, scope=scope)
        yield
        return
    from morph.launcher import rehearsing

    with rehearsing.rehearsed(options) as observer:
        activation.arm(options.rehearse, simulated=True, observer=observer, scope=scope)
        yield
