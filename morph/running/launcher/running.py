"""Runs a program: sets up the backend and the child processes, then starts the program itself."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from morph import activation
from morph.activation import configuration
from morph.backends.tables import table
from morph.base import announcement
from morph.base.errors import MorphError
from morph.base.importing import withdraw
from morph.finders.scope import OPTED_IN, Scope
from morph.running.launcher.options import ALL, Options
from morph.running.launcher.program import Program
from morph.running.startup import children

if TYPE_CHECKING:
    from morph.activation.request import Observer
    from morph.software.settings import Size


def run(options: Options, program: Program) -> None:
    """Run ``program`` under morph.

    Raises:
        SystemExit: With status 2 if morph cannot start, after one line on standard error; else as the
            program ends.
    """
    withdraw()
    try:
        size = _size(options)
        json = options.json if options.json != "-" else None
        for file in filter(None, [options.report, json]):
            _ensure_writable(file)
        if options.sanitize and json:
            open(json, "w").close()  # processes append to it
        if options.rehearse:
            from morph.running.launcher import rehearsing

            rehearsing.ensure_device()
            if options.rehearse == ALL:
                raise SystemExit(rehearsing.on_every_vendor(options, program))
        settings = configuration.effective(program.folder())
        scope = settings.scope
        if scope.others is not OPTED_IN:
            scope = scope.including(program.modules())
        if named := options.rehearse or options.backend:
            table.load(named)  # a wrong name is refused now, not when the program imports torch
        options = options._replace(backend=named or settings.backend)
        children.inherit(os.environ, options.variables(), scope)
        _report_fit(options)
        with _armed(options, program, scope, size):
            program.run()
    except MorphError as error:
        if activation.status().active:  # attributed to the line of the program that caused it
            raise
        announcement.report(str(error))
        raise SystemExit(2) from None


def _ensure_writable(file: str) -> None:
    """Ensure that ``file`` can be written later, without changing it."""
    is_new = not os.path.lexists(file)
    try:
        with open(file, "ab"):
            pass
        if is_new:
            os.unlink(file)
    except OSError as error:
        raise MorphError(f"cannot write {file}: {error.strerror}") from None


def _size(options: Options) -> Size:
    from morph.software import faults, settings

    settings.sanitizers(options.sanitize, "--sanitize")
    faults.wanted(options.inject, "--inject")
    asked = options.devices, options.device_memory, options.device_profile
    source = "--fit" if options.fit == options.device_profile else "--device-profile"
    return settings.size(*asked, ("--devices", "--device-memory", source))


def _report_fit(options: Options) -> None:
    from morph.software import settings

    if settings.is_fitted():  # MORPH_FIT is set for the option, too
        from morph.software import fit_report

        fit_report.collect(None if options.rehearse else options.json)


@contextmanager
def _armed(options: Options, program: Program, scope: Scope, size: Size) -> Iterator[None]:
    is_simulated = options.rehearse is not None
    request = activation.Request(options.backend, simulated=is_simulated, scope=scope, size=size)
    with _observed(options, program) as request.observer:
        activation.arm(request)
        yield


def _observed(options: Options, program: Program) -> AbstractContextManager[Observer | None]:
    if options.rehearse is None and options.report is None:
        return nullcontext()
    if options.report is None:
        from morph.running.launcher.rehearsing import rehearsed

        return rehearsed(options)
    from morph.evidence import reporting
    from morph.evidence.rehearsal.processes import recorded

    return recorded(functools.partial(reporting.write, options.report, program.words()))
