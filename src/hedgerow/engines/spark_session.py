"""The Spark session of this process, and the progress of its jobs."""

from __future__ import annotations

import os
import signal
import sys
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait as wait_for
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from hedgerow.errors import MissingExtraError, require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")

_POLL_SECONDS = 0.2


def running_session() -> SparkSession:
    """The Spark session of this process, or a new one on this machine with its log off, as logs can hold cells.

    Raises:
        MissingExtraError: Spark or Java is not installed.
    """
    require("pyspark", "Spark is not installed", "pip install 'hedgerow[spark]'")
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        with _own_interrupts(), without_pandas():
            running = SparkSession.getActiveSession()
            if running is not None:
                return running
            builder = SparkSession.builder.config("spark.ui.showConsoleProgress", "false")  # we show our own
            session = builder.getOrCreate()
            if (context := getattr(session, "_sc", None)) is not None:  # a remote session logs elsewhere
                context.setLogLevel("OFF")
            return session
    except PySparkException as error:
        first = str(error).partition("\n")[0]
        remedy = "install a Java runtime that this Spark works with, or start a session yourself"
        raise MissingExtraError(f"Spark does not start: {first}", remedy=remedy) from error


def run_job(session: SparkSession, job: Callable[[], T]) -> T:
    """Run a job in a thread of its own, so that Ctrl-C ends it in Spark and waits until it is over.

    An interrupt within py4j would print its lines, and leave the job running with its files.

    Args:
        session: The session that runs the job.
        job: Blocks until the job is over.

    Raises:
        KeyboardInterrupt: The job was interrupted; nothing of it runs any more.
    """
    from pyspark import inheritable_thread_target

    tag = f"hedgerow-{uuid.uuid4()}"
    context = getattr(session, "_sc", None)  # a remote session has none; another one's own tags do not reach its jobs
    add, interrupt = (
        (session.addTag, session.interruptTag) if context is None else (context.addJobTag, context.cancelJobsWithTag)
    )

    def tagged() -> T:
        add(tag)
        return job()

    with ThreadPoolExecutor(1) as pool:
        running: Future[T] = pool.submit(inheritable_thread_target(session)(tagged))
        try:
            wait_for([running])
        except KeyboardInterrupt:
            while not running.done():  # again, as an interrupt may come before its job
                interrupt(tag)
                wait_for([running], _POLL_SECONDS)
            raise
        return running.result()


@contextmanager
def withholding() -> Iterator[None]:
    """Keep Spark's messages about failures in Python, which can hold cells, off the screen."""
    from pyspark.logger import PySparkLogger

    loggers = [PySparkLogger.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    before = [logger.disabled for logger in loggers]
    try:
        for logger in loggers:
            logger.disabled = True
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep a program's own handler of Ctrl-C, which a new session would replace."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread() and before is not signal.default_int_handler:
        signal.signal(signal.SIGINT, before)


@contextmanager
def without_pandas() -> Iterator[None]:
    """Silence Spark's warning about pandas, which is not used."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


@contextmanager
def watched(session: SparkSession, progress: Callable[[float], None]) -> Iterator[None]:
    """Report the share of finished tasks of the first stage of a job, as Spark's status tracker sees it.

    Args:
        session: The session that runs the job.
        progress: Called with a number from 0 to 1, from another thread.
    """
    tracker = getattr(getattr(session, "_sc", None), "statusTracker", None)
    if tracker is None:  # a remote session has none
        yield
        return
    over = threading.Event()
    watching = threading.Thread(target=_watch, args=(tracker(), progress, over), daemon=True)
    watching.start()
    try:
        yield
    finally:
        over.set()
        watching.join()


def _watch(tracker: Any, progress: Callable[[float], None], over: threading.Event) -> None:
    """Report on the stage with the smallest number: it does the work, later ones combine its results."""
    first: int | None = None
    while not over.wait(_POLL_SECONDS):
        stages = sorted(tracker.getActiveStageIds())
        first = stages[0] if first is None and stages else first
        info = None if first is None else tracker.getStageInfo(first)
        if info is not None and info.numTasks:
            progress(info.numCompletedTasks / info.numTasks)
