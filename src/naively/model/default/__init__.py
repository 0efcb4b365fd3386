"""The default model: terms of columns, pairs and all columns at once, with weights fitted on held-out rows."""
