"""Starts morph in pytest's process, or checks that it was started as pytest's options say."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import pytest

import morph
from morph import activation
from morph.activation import configuration
from morph.activation.request import Request
from morph.backends import visibility
from morph.backends.tables import table
from morph.base import announcement, variables
from morph.base.errors import ActivationError, MorphError
from morph.base.journal import Journal
from morph.running.launcher.options import Options
from morph.running.startup import children
from morph.running.startup.beside import modules_beside
from morph.software import machine, settings
from morph.software.settings import Size

SANITIZE = "--morph-sanitize"
SOURCES = "--morph-devices", "--morph-device-memory", "--morph-device-profile"


def start(
    config: pytest.Config,
    backend: str | None,
    devices: str | None,
    memory: str | None,
    profile: str | None,
    sanitize: str | None,
) -> None:
    """Make CUDA names work in this process and its children until pytest ends.

    Args:
        config: pytest's configuration.
        backend: The backend's name; None leaves the choice to morph.
        devices: The number of software devices, as written; None for the default.
        memory: The memory of each, as written; None for the default.
        profile: The card that they stand for; None for none.
        sanitize: What to check of kernels, as written; None for nothing.

    Raises:
        pytest.UsageError: If that is not possible, or contradicts what was started before.
    """
    options = Options(
        backend, devices=devices, device_memory=memory, device_profile=profile, sanitize=sanitize
    )
    announcement.is_in_header = True
    try:
        size = settings.size(devices, memory, profile, SOURCES)
        settings.sanitizers(sanitize, SANITIZE)
        if backend is not None:
            table.load(backend)
        if _is_under_morph():
            _set_variables(config, options.variables())  # for what was left open
            import torch  # noqa: F401  (which activates morph)

            _check(options, size)
        else:
            _activate(config, options, size)
    except MorphError as error:
        raise pytest.UsageError(str(error)) from None
    finally:
        announcement.is_in_header = False
    if settings.LEAK in settings.sanitizers(sanitize, SANITIZE):
        from morph.running.pytest_plugin import leaks

        leaks.register(config)


def _is_under_morph() -> bool:
    """Return whether ``python -m morph`` started this process or a parent, or CUDA is served already."""
    is_child = morph.was_started and morph.is_required
    return is_child or activation.is_armed() or activation.status().backend is not None


def _activate(config: pytest.Config, options: Options, size: Size) -> None:
    rehearsed = variables.read(variables.REHEARSE)
    if rehearsed:
        raise ActivationError(f"a rehearsal is started by python -m morph --rehearse {rehearsed} -m pytest")
    found = configuration.effective(config.rootpath)
    scope = found.scope.including(["__main__", *_modules(config)])
    options = options._replace(backend=options.backend or found.backend)
    environment = dict(os.environ)
    children.inherit(environment, options.variables(), scope)
    _set_variables(config, environment)
    config.add_cleanup(activation.deactivate)
    activation.activate_as(Request(options.backend, scope=scope, size=size))


def _modules(config: pytest.Config) -> Iterator[str]:
    """Yield the names of the modules beside the tests that are named, which see CUDA as a program does."""
    given = [name.partition("::")[0] for name in config.known_args_namespace.file_or_dir]
    named = [config.invocation_params.dir / name for name in given]
    tests = [config.rootpath / name for name in config.getini("testpaths")]
    for path in [config.rootpath, *named, *tests]:
        yield from modules_beside(path if path.is_dir() else path.parent)


def _check(options: Options, size: Size) -> None:
    """Refuse options that come too late, when ``python -m morph`` was asked for something else."""
    if not activation.status().active or visibility.hides_all():
        return
    here = machine.started() if machine.is_started() else None
    pairs = [
        ("backend", options.backend, activation.status().backend),
        ("devices", size.devices, here and here.total),
        ("device-memory", size.memory, here and here.memory),
        ("device-profile", size.profile, here and here.card and here.card.name),
    ]
    for name, wanted, found in pairs:
        if wanted not in (None, found):
            word = getattr(options, name.replace("-", "_"))
            raise ActivationError(
                f"--morph-{name} {word} comes too late: {activation.summary()}; "
                f"say python -m morph --{name} {word} -m pytest"
            )


def _set_variables(config: pytest.Config, values: Mapping[str, str | None]) -> None:
    """Set environment variables until pytest ends; one that is None stays as it is."""
    journal = Journal()
    config.add_cleanup(journal.undo)
    for name, value in values.items():
        if value is not None and os.environ.get(name) != value:
            journal.set_item(os.environ, name, value)
