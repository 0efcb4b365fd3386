"""Anything with rows and columns → a Frame: named columns of known type, read a block of rows at a time."""

from .frame import Frame, frame_of
from .values import Labels, Values

__all__ = ["Frame", "Labels", "Values", "frame_of"]
