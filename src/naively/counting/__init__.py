"""From rows to counts: every engine turns rows into the same statistics.

In: rows of tables, files and streams with their classes and weights (`Rows`, `FileRows`). Out: `Counts` of single
columns, and a `Sample` of the rows by the hash of their content. It may import `data`, `files`, `families` and `stats`.
"""
