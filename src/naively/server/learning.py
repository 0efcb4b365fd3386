"""Learns and forgets rows of requests: first on the disk, then in the model that predicts."""

from __future__ import annotations

import asyncio
import copy
import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from .._types import JsonObject, Label
from ..errors import InvalidInput
from ..estimator.naive_bayes import NaiveBayes
from .exchange import Problem, problem_of_error
from .served_model import JsonRow, RequestRows, ServedModel, Snapshot, label_index
from .write_ahead import LearnedEntry, WriteAheadLog, digest_of_file, replace_safely


class LearningRequest(NamedTuple):
    """A request that waits to be learned."""

    verb: str
    rows: list[JsonRow]
    labels: list[Label]
    done: asyncio.Future[JsonObject]


def labelled_rows(snapshot: Snapshot, request: RequestRows, new_classes: bool) -> tuple[list[JsonRow], list[Label]]:
    """Return rows without their classes, and these: a column of each row, or a list next to the rows."""
    target = snapshot.fitted.schema.target
    labels, rows = request.more.get("labels"), request.rows
    if labels is None and target is None:
        raise Problem(422, 'The model does not name the column of the classes; send {"rows": [...], "labels": [...]}.')
    if labels is None:
        labels = [row.get(str(target)) for row in rows]
        if None in labels:
            row = labels.index(None)
            detail = f"Row {row} has no class: it has no value in column {target!r}."
            raise Problem(422, detail, row=row, column=target)
    if len(labels) != len(rows):
        raise Problem(422, f"There are {len(rows)} rows and {len(labels)} labels; give one for each row.")
    for k, label in enumerate(labels):
        if label is None or isinstance(label, (dict, list)) or not new_classes:
            label_index(snapshot.labels, snapshot.indices, label, column=target, row=k)
    return [{name: row.get(name) for name in snapshot.fitted.schema.names} for row in rows], list(labels)


class Learner:
    """Changes one model by rows of requests.

    A model of its own learns; what predicts is a copy of it, replaced after the rows are on the disk.

    Parameters
    ----------
    served : ServedModel
        The model that predicts.
    path : Path
        The write-ahead log.
    log : callable
        Notes events.
    """

    def __init__(self, served: ServedModel, path: Path, log: Callable[..., None]) -> None:
        self.served, self.ahead, self.log = served, WriteAheadLog(path), log
        self.model = NaiveBayes.from_fitted(served.now.fitted)
        self.sequence, self.unsaved = 0, 0  # the number of the last request, and how many are not in the model's file
        self._changing = threading.Lock()  # `partial_fit` is for one thread at a time
        self._waiting: list[LearningRequest] = []
        self._working: asyncio.Task[None] | None = None

    def start(self, rebase: bool = False) -> None:
        """Count the rows of the write-ahead log that the model does not have yet."""
        path, content, digest = self.ahead.path, self.ahead.read(), digest_of_file(self.served.path)
        if content is None:
            self.ahead.start(digest, 0)
            return
        if digest not in (content.model, content.saved) and content.entries and not rebase:
            raise InvalidInput(
                f"{str(path)!r} holds {sum(len(entry.rows) for entry in content.entries)} rows that were learned over "
                f"another model than {str(self.served.path)!r} as it is now. Serve that one; or count them over this "
                "one by --rebase; or drop them by deleting the file.",
                path=str(path),
            )
        entries = content.later if digest == content.saved else content.entries
        for verb, run in groupby(entries, lambda entry: entry.verb):
            together = list(run)
            rows = [row for entry in together for row in entry.rows]
            self._count(verb, rows, [label for entry in together for label in entry.labels])
        self.sequence, self.unsaved = content.sequence, len(entries)
        if digest != content.model:
            self.ahead.start(digest, content.sequence, entries)
        self._publish()
        rows_counted = sum(len(entry.rows) for entry in entries)
        self.log("replayed", model=self.served.name, requests=len(entries), rows=rows_counted)

    # -- requests -------------------------------------------------------------------------------------------------

    async def take(self, verb: str, rows: list[JsonRow], labels: list[Label]) -> JsonObject:
        """Learn or forget rows; requests that arrive meanwhile are published together."""
        done: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting.append(LearningRequest(verb, rows, labels, done))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await done

    async def _work(self) -> None:
        """Take requests, all that wait at a time, in their order."""
        while self._waiting:
            requests, self._waiting = self._waiting, []
            results = await asyncio.to_thread(self.take_all, requests)
            for request, result in zip(requests, results, strict=True):
                if request.done.done():
                    continue  # nobody waits for it
                if isinstance(result, Exception):
                    request.done.set_exception(result)
                else:
                    request.done.set_result(result)

    def take_all(self, requests: list[LearningRequest]) -> list[JsonObject | Exception]:
        """Return the result of each request. Rows are on the disk before they count in any prediction."""
        results: list[JsonObject | Exception] = []
        with self._changing:
            for request in requests:
                try:
                    self._take_one(request)
                    results.append({"rows": len(request.rows)})
                except Exception as error:
                    results.append(error)
            good = [result for result in results if isinstance(result, dict)]
            if good:
                self._publish()
        for result in good:
            result["total"] = float(self.served.now.fitted.counts.rows.sum())
            result["revision"] = self.sequence
        return results

    def _take_one(self, request: LearningRequest) -> None:
        """Count the rows of a request and write them down; a request that fails changes nothing."""
        before = copy.copy(self.model)
        try:
            self._count(request.verb, request.rows, request.labels)
        except InvalidInput as error:
            raise problem_of_error(error) from None
        entry = LearnedEntry(self.sequence + 1, request.verb, request.rows, request.labels)
        try:
            self.ahead.add(entry)
        except sqlite3.Error as error:
            self.model = before
            self.log("write-ahead file failed", file=str(self.ahead.path), reason=str(error))
            raise Problem(503, f"The rows cannot be written down ({error}); they do not count.") from None
        self.sequence, self.unsaved = entry.sequence, self.unsaved + 1

    def _count(self, verb: str, rows: list[JsonRow], labels: list[Label]) -> None:
        """Let the model learn or forget rows; an error leaves it as it was."""
        change = self.model.partial_fit if verb == "learn" else self.model.forget
        change([self.served.now.reader.with_times(row) for row in rows], labels)

    def _publish(self) -> None:
        """Let a copy of the model predict from now on; weights that are due are fitted before it is copied."""
        fitted = type(self.model).from_fitted(self.model.fitted_).fitted_
        self.served.now = Snapshot(self.served.name, fitted, self.sequence)

    # -- the model's file -----------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write the model to its file, and begin the write-ahead log again; a crash in between loses nothing.

        The write-ahead log notes the SHA-256 of the new file before that takes the place of the old one. Whichever of
        both is there at the next start, the log tells which of its rows are in it.
        """
        with self._changing:
            if not self.unsaved:
                return
            reason = "another program changed the model file; the learned rows stay in the write-ahead file"
            if not self.served.is_replaced():
                try:
                    self._save()
                    return
                except (OSError, sqlite3.Error, InvalidInput) as error:
                    reason = str(error)
            self.log("not saved", model=self.served.name, reason=reason)

    def _save(self) -> None:
        path = self.served.path.resolve()

        def write(new: Path) -> None:
            self.model.save(new, rows=self.served.now.fitted.state.kept is not None)
            with suppress(OSError):
                shutil.copymode(path, new)
            self.ahead.note_saved(digest_of_file(new), self.sequence)

        replace_safely(path, write)
        self.served.stamp = self.served.stamp_now()
        self.ahead.start(digest_of_file(path), self.sequence)
        self.unsaved = 0
        self.log("saved", model=self.served.name, revision=self.sequence)
