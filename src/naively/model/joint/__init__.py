"""Columns taken together: bins, pairs, joint evidence, and a few weights."""
