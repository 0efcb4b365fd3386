"""Files and streams.

In: a path, several, or a stream of tables, as a `File`. Out: its schema, and its rows as Arrow tables of so many rows
whose columns have types (`columns` decides which); and rows as files (`writer`). It may import `data` and `errors`.
"""
