"""A first result: the five classic classes beside scikit-learn's, and a text book's table worked out by hand."""

import math

import numpy as np
import sklearn.naive_bayes
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import OrdinalEncoder

import naively.sklearn

CONTESTS = [
    ("iris", load_iris, "GaussianNB", {}),
    ("wine", load_wine, "GaussianNB", {}),
    ("breast cancer", load_breast_cancer, "GaussianNB", {}),
    ("digits", load_digits, "MultinomialNB", {}),
    ("digits", load_digits, "ComplementNB", {}),
    ("digits", load_digits, "BernoulliNB", {"binarize": 7.5}),
    ("digits", load_digits, "CategoricalNB", {"min_categories": 17}),
]

# time, plan, weather, homework, epidemic, television; will there be a date?
DATES = """
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
周六 吃饭 阴天 适中 平缓 精彩 否
"""
QUESTION = "周六 逛街 阴天 适中 清零 无聊"


def show_contests() -> None:
    """Print one line for each contest: accuracy in 5-fold cross-validation, ours and scikit-learn's."""
    print("data set       rows x columns  classes  class          naively  scikit-learn")
    for name, load, class_name, settings in CONTESTS:
        X, y = load(return_X_y=True)
        makers = (getattr(module, class_name) for module in (naively.sklearn, sklearn.naive_bayes))
        ours, theirs = (cross_val_score(make(**settings), X, y).mean() for make in makers)
        shape = f"{X.shape[0]} x {X.shape[1]}"
        print(f"{name:13}  {shape:>14}  {len(set(y)):7}  {class_name:13}  {ours:7.4f}  {theirs:12.4f}")


def show_date() -> None:
    """Print the arithmetic of the worked table, without smoothing and with Laplace's rule."""
    table = np.array([line.split() for line in DATES.split("\n") if line])
    encoder = OrdinalEncoder(dtype=int).fit(table[:, :-1])
    row = encoder.transform([QUESTION.split()])
    print(f"\nWill there be a date (是) or not (否)? {len(table)} days are known; today: {QUESTION}")
    for alpha in (0, 1):
        model = naively.sklearn.CategoricalNB(alpha=alpha).fit(encoder.transform(table[:, :-1]), table[:, -1])
        print(f"alpha = {alpha}")
        for k, label in enumerate(model.classes_):
            parts = fractions(model, row[0], k)
            product = math.prod(n / total for n, total in parts)
            print(f"  {label}  {' · '.join(f'{n:g}/{total:g}' for n, total in parts)} = {product:.6g}")
        best = model.predict_proba(row)[0].argmax()
        print(f"  so {model.classes_[best]}, with probability {model.predict_proba(row)[0, best]:.10f}")


def fractions(model: naively.sklearn.CategoricalNB, row: np.ndarray, k: int) -> list[tuple[float, float]]:
    """Give P(class k) and each P(value | class k) as unreduced fractions, from the counts and alpha."""
    n = model.class_count_
    columns = [
        (counts[k, value] + model.alpha, n[k] + model.alpha * counts.shape[1])
        for counts, value in zip(model.category_count_, row, strict=True)
    ]
    return [(n[k], n.sum()), *columns]


if __name__ == "__main__":
    show_contests()
    show_date()
