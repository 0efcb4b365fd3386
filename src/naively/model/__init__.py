"""From counts and settings to a scorer: textbook naive Bayes, the joint model, and the refined model."""
