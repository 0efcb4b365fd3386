"""Why a model answers as it does: contributions of columns and words, intervals, reports and plots."""
