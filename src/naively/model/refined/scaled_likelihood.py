"""The log-likelihood of scaled words of rows, each row left out of the counts."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..._types import Codes, Floats, Matrix, SparseMatrix
from ...families.wide import entries, known_by_this_row_alone, row_sums, weighted_row_sums
from ...families.word_counts import WordWeights
from ...stats.arithmetic import subtract


def scaled_words_left_out(
    likelihood: WordWeights, x: Matrix, scaled: SparseMatrix, y: Codes, w: Floats, threads: int
) -> Floats:
    """Return the log-likelihood of scaled words of each row, left out of the counts of its words.

    A word that no other row has and nobody declared is unknown without its row, and contributes nothing.
    """
    n_rows, pseudo = x.shape[0], np.maximum(likelihood.pseudo_counts, 1e-10)
    scaled, (rows, columns, values) = scaled.sorted_indices(), entries(sparse.csr_array(x).sorted_indices())
    taken, size = w[rows] * values, scaled.data[scaled.data != 0]
    gone = known_by_this_row_alone(
        likelihood.n.sum(axis=0), likelihood.words.kept(np.zeros(len(likelihood.words), dtype=bool)), columns, taken
    )
    logs = np.log(likelihood.n + pseudo).T
    parts = weighted_row_sums(scaled, logs, 1, threads) - row_sums(
        rows[gone], size[gone, None] * logs[columns[gone]], n_rows
    )
    own = subtract(likelihood.n[y[rows], columns], taken) + pseudo[columns]
    change = np.where(gone, 0.0, size * (np.log(own) - logs[columns, y[rows]]))
    parts[np.arange(n_rows), y] += row_sums(rows, change, n_rows)
    lost = row_sums(rows[gone], pseudo[columns[gone]], n_rows)
    whole = likelihood.n.sum(axis=1) + (pseudo.sum() - lost)[:, None]
    whole[np.arange(n_rows), y] -= row_sums(rows, taken, n_rows)
    length = row_sums(rows, np.where(gone, 0.0, size), n_rows)
    return np.asarray(parts - length[:, None] * np.log(np.maximum(whole, 1e-10)))
