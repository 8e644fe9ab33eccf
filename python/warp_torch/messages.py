# SPDX-License-Identifier: Apache-2.0
# messages.py: where what the package says goes: a logger that can be replaced.
"""Loggers: where timers, ``init`` and reports print."""

from __future__ import annotations

import sys
import warnings
from typing import Protocol

from warp_torch import config

__all__ = [
    "LOG_DEBUG",
    "LOG_ERROR",
    "LOG_INFO",
    "LOG_WARNING",
    "Logger",
    "ScopedLogLevel",
    "ScopedLogger",
    "get_logger",
    "set_logger",
]

LOG_DEBUG, LOG_INFO, LOG_WARNING, LOG_ERROR = 10, 20, 30, 40


class Logger(Protocol):
    """What ``set_logger`` takes: an object with these four methods."""

    def debug(self, message: str) -> None:
        """Details for whoever looks for a fault."""

    def info(self, message: str) -> None:
        """What timers, ``init`` and reports say."""

    def warning(self, message: str, category=None, stacklevel: int = 1) -> None:
        """What may be a mistake."""

    def error(self, message: str) -> None:
        """What went wrong without an exception."""


class _Printing:
    """The logger that is there at first: prints what is at or above config.log_level."""

    def debug(self, message):
        if config.log_level <= LOG_DEBUG:
            print(message)

    def info(self, message):
        if config.log_level <= LOG_INFO:
            print(message)

    def warning(self, message, category=None, stacklevel=1):
        if config.log_level <= LOG_WARNING:
            warnings.warn(message, category, stacklevel + 1)

    def error(self, message):
        if config.log_level <= LOG_ERROR:
            print(message, file=sys.stderr)


_default = _Printing()
_current = [_default]


def get_logger():
    """The logger that messages go to."""
    return _current[0]


def set_logger(logger):
    """Sends messages to ``logger``, see ``Logger``; None for the first one, which prints."""
    _current[0] = _default if logger is None else logger


class ScopedLogger:
    """Sends messages to another logger inside a ``with`` block."""

    def __init__(self, logger):
        self.logger = logger

    def __enter__(self):
        self._before = get_logger()
        set_logger(self.logger)
        return get_logger()

    def __exit__(self, *exc):
        set_logger(self._before)


class ScopedLogLevel:
    """Sets ``config.log_level`` inside a ``with`` block."""

    def __init__(self, log_level):
        self.log_level = log_level

    def __enter__(self):
        self._before = config.log_level
        config.log_level = self.log_level
        return self

    def __exit__(self, *exc):
        config.log_level = self._before


def say(message):
    """One message to the logger."""
    get_logger().info(message)
