"""The installation of an activation in the process: a backend, the seam, and all served names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

from morph import backends, device, kernels, software
from morph.activation import building, choice
from morph.activation.request import Request
from morph.backends import Backend, counting
from morph.backends.tables.table import Facts
from morph.base import announcement, variables
from morph.base.errors import ActivationError
from morph.base.journal import Journal
from morph.device import dynamo, seam
from morph.device.seam import Seam, sparse
from morph.finders.packages.finder import packages
from morph.finders.packages.observer import observe
from morph.finders.torch_cuda import serving
from morph.finders.torch_cuda.views import Views
from morph.software import faults, settings


class Installation(NamedTuple):
    """An installation.

    Attributes:
        journal: Undoes all of it.
        backend: The backend that serves CUDA's names.
        seam: The seam that makes CUDA a name of the device below Python; None where it is the device's name.
        noops: Returns how often each name that does nothing on this backend was called.
        caught: Returns how often each operator reached the device under CUDA's name.
    """

    journal: Journal
    backend: Backend
    seam: Seam | None
    noops: Callable[[], dict[str, int]]
    caught: Callable[[], dict[str, int]]


def install(request: Request, journal: Journal) -> Installation:
    """Install the backend of ``request``; torch must be imported.

    Args:
        request: The requested activation.
        journal: Records every rebinding, even if this raises.

    Raises:
        UnknownBackendError: If there is no such backend.
        AbsentBackendError: If its package or its device is absent.
        ActivationError: If this Python runs without its lock.
    """
    _refuse_free_threading()
    backend = _choose(request, journal)
    _ensure_checked(backend.table.facts, backend.simulated)
    _serve_packages(request, journal)
    if backend.table.facts.native_cuda:
        _make_active(backend, journal)
        kernels.install(backend, journal)
        caught: Callable[[], dict[str, int]] = dict
        if request.observer is not None:  # which has to see every lookup of a name
            serving.serve_cuda(backend, Views.of(backend, request.scope), journal, request.observer)
            caught = _count_operators(backend, journal)
        return Installation(journal, backend, None, dict, caught)
    opened = _open_seam(backend, journal)
    _make_active(backend, journal)
    views = Views.of(backend, request.scope)
    opened.answer_by_caller(views)
    device.install(backend, views, journal)
    kernels.install(backend, journal)
    answers = serving.serve_cuda(backend, views, journal, request.observer)
    return Installation(journal, backend, opened, lambda: answers.noops, opened.caught)


def _count_operators(backend: Backend, journal: Journal) -> Callable[[], dict[str, int]]:
    if not backend.table.facts.software:  # no operator of a real device's comes by morph
        return dict
    native = software.started().native
    native.count_operators(True)
    journal.on_undo(lambda: native.count_operators(False))
    counted: Callable[[], dict[str, int]] = native.counted_operators
    return counted


def _refuse_free_threading() -> None:
    if not getattr(sys, "_is_gil_enabled", lambda: True)():  # Python 3.13
        raise ActivationError("morph does not support free-threaded Python; set PYTHON_GIL=1, or use another")


def _ensure_checked(facts: Facts, simulated: bool) -> None:
    asked = [
        (variables.SANITIZE, "kernels and memory are checked", settings.sanitizers()),
        (variables.INJECT, "faults are injected", faults.wanted()),
    ]
    for name, what, wanted in asked:
        if wanted and not facts.software:
            where = f"on the software device, not on {facts.name}; say --backend cpu"
            raise ActivationError(f"{name}: {what} {where}")
    if not (facts.software or simulated) and settings.is_fitted():
        raise ActivationError(
            f"{variables.FIT}: memory is accounted on the software device, "
            f"not on {facts.name}; say --backend cpu, or --rehearse {facts.name}"
        )


def _choose(request: Request, journal: Journal) -> Backend:
    choose = choice.simulated if request.simulated else choice.choose
    name = choice.requested(request.backend)
    return choose(name, journal, announcement.report_in_first_process, request.size)


def _serve_packages(request: Request, journal: Journal) -> None:
    journal.on_undo(packages.uninstall)
    packages.install(request.scope)
    packages.take_over()
    if request.observer is not None:
        observe(request.observer, journal)


def _open_seam(backend: Backend, journal: Journal) -> Seam:
    if not seam.is_python_chosen():
        building.ensure(backend.table.facts)
    opened = seam.open_seam(announcement.report)
    journal.on_undo(dynamo.hash_functions_again)
    journal.on_undo(opened.disengage)
    opened.engage(backend.device_type)
    dynamo.hash_functions_again()
    _count_late(opened, backend)
    _work_around(opened, backend)
    if backend.table.facts.watcher and not backend.simulated:
        backends.resolve(backend.table.facts.watcher.replace(":", "."))(opened, journal)
    if backend.table.facts.sparse_products == "by index":
        with journal.tolerating("products of sparse matrices"):
            journal.on_undo(sparse.multiply_by_index(backend.device_type))
    return opened


def _count_late(opened: Seam, backend: Backend) -> None:
    """Let ``torch.device("cuda:1")`` be made before the program has chosen which devices it sees."""
    if not backend.simulated and hasattr(backend.namespace, "_lazy_call"):
        opened.expect_devices(counting.count(backend))
        backend.namespace._lazy_call(lambda: opened.expect_devices(-1))


def _work_around(opened: Seam, backend: Backend) -> None:
    """Have the device compute what the vendor refuses, as far as the table says how."""
    facts = backend.table.facts
    if facts.formatless:
        opened.leave_out_formats(
            facts.formatless, f"{facts.name} has no channels_last: tensors stay contiguous"
        )
    if facts.host_kernels:
        opened.compute_rest_on_host()
    if facts.own_device:
        opened.number_by_local_rank()
    if facts.unordered_copies:
        opened.order_copies(f'no memory is pinned for {facts.name} here: to("cpu", non_blocking=True) waits')
    if facts.exhausted:
        opened.tell_exhaustion(facts.exhausted)
    if facts.unreduced:
        dtypes = " and ".join(facts.unreduced)
        saying = f"{facts.collective} reduces no {dtypes}: it is gathered, and reduced on the host"
        opened.reduce_on_host(facts.unreduced, saying)


def _make_active(backend: Backend, journal: Journal) -> None:
    journal.on_undo(lambda: backends.set_active(None))
    backends.set_active(backend)
