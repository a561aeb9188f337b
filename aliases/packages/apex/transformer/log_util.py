"""Loggers."""

from __future__ import annotations

import logging
import os


def get_transformer_logger(name: str) -> logging.Logger:
    """Return the logger of a file or a module."""
    return logging.getLogger(os.path.splitext(name)[0])


def set_logging_level(verbosity: int | str) -> None:
    """Set the level of apex's loggers."""
    logging.getLogger("apex").setLevel(verbosity)
