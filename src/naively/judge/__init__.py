"""Decisions and scores: probabilities and true classes come in, decisions and measures of quality go out.

Scores of rows are computed at once; histograms of probabilities add up and can be kept without any row. Imports stats
and what it imports; `scores_html` also imports markup.
"""
