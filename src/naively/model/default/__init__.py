"""The default model: terms of columns, pairs and all columns at once, with weights fitted on held-out rows.

In: a sample of rows and the counts of all (`fitting.py`). Out: a `DefaultFit`, the weights and coefficients, and the
`DefaultModel` whose tables they make (`tables.py`). Each term is a module with scores of rows and tables.
"""
