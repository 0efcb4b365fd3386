"""Models for other programs: each format is made of the flat model alone.

Names load when they are first used, so one format does not need the libraries of another.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .onnx_model import onnx

__all__ = ["onnx"]

_HOMES = {"onnx": "onnx_model"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'naively.export' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
