"""HTML from plain values: elements, pictures, the sections of the page of a model, and notebook views made of them.

Comes in: names, counts and probabilities as plain values, whatever model they are of. Goes out: HTML as text, which
needs no network. May import: `errors` and `_types` alone, so that every package above can show what it holds.
"""
