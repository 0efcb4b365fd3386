"""From counts and settings to a scorer: textbook naive Bayes, and the default model."""
