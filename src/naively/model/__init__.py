"""From counts and settings to a scorer: textbook naive Bayes, and the default model.

In: `Counts`, a schema and settings; for the default model also what was fitted to a sample of the rows. Out: a
`TableModel`, which scores, explains and leaves out rows. It may import `counting` and what is below it.
"""
