"""HTML and SVG for notebooks and pages: colors, numbers as texts, elements, small pictures, and their style sheet.

Nothing here knows a model or a table. Every text is escaped, and no element has a `style` attribute or a script, so
that a page may forbid both.
"""
