"""From rows to counts: every engine turns rows into the same statistics."""
