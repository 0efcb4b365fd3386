"""The refined model: naive Bayes with an offset for each value, fitted with a ridge."""
