"""Backward passes on the CPU backend run in the thread that calls backward."""

from __future__ import annotations

import threading

import torch


def test_hooks_run_in_the_thread_that_calls_backward() -> None:
    weight = torch.ones(2, device="cuda", requires_grad=True)
    threads = []
    weight.register_hook(lambda grad: threads.append(threading.get_ident()))
    (weight * 2).sum().backward()
    assert threads == [threading.get_ident()]
    assert weight.grad is not None
    assert weight.grad.tolist() == [2, 2]
