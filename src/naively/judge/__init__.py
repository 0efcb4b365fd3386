"""Decisions and scores: from probabilities and true classes to answers, costs and measures of quality."""
