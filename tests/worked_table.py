"""The worked table of the lecture notes: seventeen days, and whether there was a date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from naively import Categorical, Counts, Settings, Table
from naively.model.column_parts import empirical_prior, estimate
from naively.model.scorer import NaiveModel
from naively.stats import Axis

COLUMNS = ("时间", "方式", "天气", "课业", "疫情", "电视")
ROWS = tuple(
    tuple(line.split())
    for line in """\
周六 吃饭 晴天 轻松 清零 精彩 是
周日 吃饭 阴天 轻松 清零 精彩 是
周日 吃饭 晴天 轻松 清零 精彩 是
周六 吃饭 阴天 轻松 清零 精彩 是
周间 吃饭 晴天 轻松 清零 精彩 是
周六 逛街 晴天 轻松 平缓 无聊 是
周日 逛街 晴天 适中 平缓 无聊 是
周日 逛街 晴天 轻松 平缓 精彩 是
周日 逛街 阴天 适中 平缓 精彩 否
周六 学习 雨天 轻松 严峻 无聊 否
周间 学习 雨天 繁重 严峻 精彩 否
周间 吃饭 晴天 繁重 严峻 无聊 否
周六 逛街 晴天 适中 清零 精彩 否
周间 逛街 阴天 适中 清零 精彩 否
周日 逛街 晴天 轻松 平缓 无聊 否
周间 吃饭 晴天 繁重 严峻 精彩 否
周六 吃饭 阴天 适中 平缓 精彩 否""".splitlines()
)
TODAY = ("周六", "逛街", "阴天", "适中", "清零", "无聊")
RAINY = ("周六", "逛街", "雨天", "适中", "清零", "无聊")
LABELS = ("否", "是")  # in the order of a model's scores


def counted(rows: Sequence[Sequence[str]] = ROWS, classes: Sequence[str] = ()) -> Counts:
    """Return the counts of these rows, whose last cell is the class; declared classes stay without rows."""
    axis = Axis((row[-1] for row in rows), classes)
    columns = {}
    for j, name in enumerate(COLUMNS):
        values = Axis(row[j] for row in rows)
        n = np.zeros((len(axis), len(values)))
        np.add.at(n, (axis.places(row[-1] for row in rows), values.places(row[j] for row in rows)), 1.0)
        columns[name] = Table(axis, values, n)
    n_rows = np.bincount(axis.places(row[-1] for row in rows), minlength=len(axis))
    return Counts(axis, n_rows, columns)


def estimated(counts: Counts, how: str, smoothing: float = 1.0) -> NaiveModel:
    """Return the model of these counts, with the same λ on the prior and on every column."""
    settings = Settings(estimate=how, smoothing=smoothing)
    families = dict.fromkeys(counts.columns, Categorical())
    return estimate(counts, families, settings, empirical_prior(counts.rows, settings))


def coded(model: NaiveModel, *days: Sequence[str]) -> dict[str, Any]:
    """Return the days as the model reads them: a code for each cell."""
    return {
        name: np.array([[model.terms[name].tables[0].values.place(day[j])] for day in days])
        for j, name in enumerate(COLUMNS)
    }
