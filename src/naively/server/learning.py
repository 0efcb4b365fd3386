"""Learns and forgets rows of requests: first on the disk, then in the model that answers."""

from __future__ import annotations

import asyncio
import copy
import secrets
import shutil
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from anyio import to_thread

from .._types import JsonObject, Label
from ..errors import InvalidInput
from ..estimator.naive_bayes import NaiveBayes
from .problems import Problem, problem_of_error
from .request_rows import JsonRow, RequestRows, label_place
from .served_model import ServedModel, Snapshot, ready_snapshot, stamp_of
from .write_ahead import (
    LearnedEntry,
    WriteAheadFile,
    digest_of_file,
    entry_json,
    read_ahead_file,
    runs_of_learning,
    sync_folder,
)

LogEvent = Callable[..., None]


class LearningRequest(NamedTuple):
    """A request that waits to be learned."""

    verb: str
    rows: list[JsonRow]
    labels: list[Label]
    done: asyncio.Future[JsonObject]


def labelled_rows(snapshot: Snapshot, asked: RequestRows, new_classes: bool) -> tuple[list[JsonRow], list[Label]]:
    """Return rows without their classes, and these: a column of each row, or a list beside the rows."""
    target = snapshot.fitted.schema.target
    given = asked.more.get("labels")
    if given is None and target is None:
        raise Problem(422, 'The model does not name the column of the classes; send {"rows": [...], "labels": [...]}.')
    if given is None:
        for at, row in enumerate(asked.rows):
            if row.get(str(target)) is None:
                detail = f"Row {at} has no class: it has no value in column {target!r}."
                raise Problem(422, detail, row=at, column=target)
        given = [row[str(target)] for row in asked.rows]
    if len(given) != len(asked.rows):
        raise Problem(422, f"There are {len(asked.rows)} rows and {len(given)} labels; give one for each row.")
    places = {label: k for k, label in enumerate(snapshot.labels)}
    for at, label in enumerate(given):
        if label is None or isinstance(label, (dict, list)) or not new_classes:
            label_place(places, label, target, at)
    return [{name: row.get(name) for name in snapshot.fitted.schema.names} for row in asked.rows], list(given)


class Learner:
    """Changes one model by rows of requests.

    A model of its own learns; what answers is a copy of it, replaced after the rows are on the disk.

    Parameters
    ----------
    served : ServedModel
        The model that answers.
    ahead : WriteAheadFile
        Where rows are written first.
    log : callable
        Notes what happens.
    """

    def __init__(self, served: ServedModel, ahead: WriteAheadFile, log: LogEvent) -> None:
        self.served, self.ahead, self.log = served, ahead, log
        self.model = NaiveBayes.from_fitted(served.now.fitted)
        self.sequence, self.unsaved = 0, 0  # the number of the last request, and how many are not in the model's file
        self._changing = threading.Lock()  # `partial_fit` is for one thread at a time
        self._waiting: list[LearningRequest] = []
        self._working: asyncio.Task[None] | None = None

    # -- start ----------------------------------------------------------------------------------------------------

    def start(self, rebase: bool = False) -> None:
        """Count the rows of the write-ahead file that the model does not have yet."""
        self.ahead.lock()
        digest = digest_of_file(self.served.path)
        if not self.ahead.path.exists():
            self.ahead.start(digest, 0)
            return
        found = read_ahead_file(self.ahead.path)
        if digest not in (found.model, found.saved) and found.entries and not rebase:
            raise InvalidInput(
                f"{str(self.ahead.path)!r} holds {row_total(found.entries)} rows that were learned over another model "
                f"than {str(self.served.path)!r} as it is now. Serve that one; or count them over this one by "
                "--rebase; or drop them by deleting the file.",
                path=str(self.ahead.path),
            )
        if found.torn:
            self.log("torn line ignored", file=str(self.ahead.path), bytes=found.torn)
        entries = found.later if digest == found.saved else found.entries
        for entry in runs_of_learning(entries):
            self._count(entry.verb, entry.rows, entry.labels)
        self.sequence, self.unsaved = found.sequence, len(entries)
        if digest == found.model:
            self.ahead.open(found.size)
        else:
            self.ahead.start(digest, found.sequence, entries)
        self._publish()
        self.log("replayed", model=self.served.name, requests=len(entries), rows=row_total(entries))

    # -- requests -------------------------------------------------------------------------------------------------

    async def take(self, verb: str, rows: list[JsonRow], labels: list[Label]) -> JsonObject:
        """Learn or forget rows; requests that come meanwhile are published together."""
        done: asyncio.Future[JsonObject] = asyncio.get_running_loop().create_future()
        self._waiting.append(LearningRequest(verb, rows, labels, done))
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())
        return await done

    async def _work(self) -> None:
        """Take requests, all that wait at a time, in their order."""
        while self._waiting:
            requests, self._waiting = self._waiting, []
            results = await to_thread.run_sync(self.take_all, requests)
            for request, result in zip(requests, results, strict=True):
                if request.done.done():
                    continue  # nobody waits for it
                if isinstance(result, Exception):
                    request.done.set_exception(result)
                else:
                    request.done.set_result(result)

    def take_all(self, requests: list[LearningRequest]) -> list[JsonObject | Exception]:
        """Return what became of each request. Rows are on the disk before they count in any answer."""
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
            self.ahead.add(entry_json(entry))
        except OSError as error:
            self.model = before
            self.log("write-ahead file failed", file=str(self.ahead.path), reason=str(error))
            raise Problem(503, f"The rows cannot be written down ({error.strerror}); they do not count.") from None
        self.sequence, self.unsaved = entry.sequence, self.unsaved + 1

    def _count(self, verb: str, rows: list[JsonRow], labels: list[Label]) -> None:
        """Let the model learn or forget rows; whatever is raised leaves it as it was."""
        change = self.model.partial_fit if verb == "learn" else self.model.forget
        change([self.served.now.reader.with_times(row) for row in rows], labels)

    def _publish(self) -> None:
        """Let a copy of the model answer from now on; what is due to be fitted anew is fitted before it is copied."""
        fitted = type(self.model).from_fitted(self.model.fitted_).fitted_
        self.served.now = ready_snapshot(self.served.name, fitted, self.sequence)

    # -- the model's file -----------------------------------------------------------------------------------------

    def save(self) -> None:
        """Write the model to its file, and begin the write-ahead file anew; a crash in between loses nothing.

        The new file lies beside the old one, under a name of its own, when the write-ahead file notes its SHA-256;
        then it takes the place of the old one. Whichever of both is found at the next start, the write-ahead file tells
        which of its rows are in it.
        """
        with self._changing:
            if not self.unsaved:
                return
            if self.served.is_replaced():
                reason = "another program changed the model file; the learned rows stay in the write-ahead file"
                self.log("not saved", model=self.served.name, reason=reason)
                return
            try:
                self._save()
            except (OSError, InvalidInput) as error:
                self.log("not saved", model=self.served.name, reason=str(error))

    def _save(self) -> None:
        path = self.served.path.resolve()
        made = path.with_name(f".naively-{secrets.token_hex(8)}.tmp")
        try:
            self.model.save(made, rows=self.served.now.fitted.state.kept is not None)
            with suppress(OSError):
                shutil.copymode(path, made)
            digest = digest_of_file(made)
            self.ahead.add({"saved": digest})
            made.replace(path)
        except BaseException:
            made.unlink(missing_ok=True)
            raise
        sync_folder(path)
        self.served.stamp = stamp_of(self.served.path)
        self.ahead.start(digest, self.sequence)
        self.unsaved = 0
        self.log("saved", model=self.served.name, revision=self.sequence)

    def close(self) -> None:
        """Save the model, and close the write-ahead file."""
        self.save()
        self.ahead.release()


def row_total(entries: list[LearnedEntry]) -> int:
    """Return how many rows some requests have."""
    return sum(len(entry.rows) for entry in entries)
