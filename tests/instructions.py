"""How much work a call does, counted in instructions: the same on every machine, however busy it is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def instructions(call: Callable[[], Any]) -> int:
    """Return the bytecode instructions that the second of two calls executes; the first fills caches."""
    executed = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal executed
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        executed += event == "opcode"
        return trace

    call()
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return executed
