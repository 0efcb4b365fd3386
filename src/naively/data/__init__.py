"""Tables in memory, and model files.

In: tables of any library, arrays, dicts, targets. Out: a `Frame` of columns where they lie, the `Schema` that says what
each column is, and cells as codes and numbers for the kernels; counts and settings as model files (`model_file`). It
may import `families`, `stats`, `text`, the kernels and `errors`.
"""
