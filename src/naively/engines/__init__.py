"""Who counts: every engine turns rows into the same counts. They know statistics, never families or costs."""
