"""Spark with executors in processes of their own, Spark Connect, and Ctrl-C, each in a program of its own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet
import pytest

from tests.data.sources import table_of

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Java is not installed"),
]

ROOT = Path(__file__).parents[2]
SESSIONS = {
    "two workers": 'builder.master("local-cluster[2,1,1024]")',  # a standalone master, each executor a process
    "Spark Connect": 'builder.remote("local[2]")',
}
CONNECT = ("grpc", "grpc_status", "google.rpc")

PROGRAM = """
import os, signal, sys
import pyarrow.parquet
import hedgerow
import hedgerow.errors
from hedgerow import MWEM, PureDP, SeededNoise, Workload
from pyspark.sql import SparkSession
from tests.data.sources import DOMAIN

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2")
builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.driver.host", "127.0.0.1")
builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.executor.memory", "1g")
builder = builder.config("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
session = SESSION.getOrCreate()
if "connect" not in type(session).__module__:
    session.sparkContext.setLogLevel("OFF")  # as of sessions that Hedgerow starts
"""

WHOLE_RUN = """
frame = session.read.parquet("people")
table = hedgerow.scan_table(frame, DOMAIN, extra_columns="ignore")
memory = hedgerow.read_table(pyarrow.parquet.read_table("people"), DOMAIN, extra_columns="ignore")
workload = Workload.marginals(DOMAIN, 2)
assert workload.answers(table).tolist() == workload.answers(memory).tolist()
made = MWEM(rounds=1).run(table, workload, PureDP(1.0), noise=SeededNoise(0))
made.sample_spark(500, session, partitions=3, seed=1).write.parquet("drawn")
bad = hedgerow.Domain([hedgerow.IntegerRange("age", 0, 20), hedgerow.Categorical("answer", ("yes", "maybe"))])
try:
    hedgerow.scan_table(frame, bad, extra_columns="ignore").total()
except hedgerow.errors.DataError as error:
    print(error)
print("done")
"""


def program(folder: Path, session: str, text: str) -> subprocess.Popen[str]:
    places = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    (folder / "temporary").mkdir()
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), *(place for place in places if place)]),
        "PYSPARK_PYTHON": sys.executable,
        "TMPDIR": str(folder / "temporary"),
        "PYTHONWARNINGS": "ignore",
    }
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM.replace("SESSION", session) + text],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=environment,
    )


@pytest.mark.parametrize("kind", SESSIONS)
def test_a_whole_run(tmp_path: Path, kind: str) -> None:
    if kind == "Spark Connect" and not all(map(_is_there, CONNECT)):
        pytest.skip("Spark Connect's libraries are not installed")
    (tmp_path / "people").mkdir()
    table = table_of(900, seed=0)
    for part in range(3):
        pyarrow.parquet.write_table(table.slice(300 * part, 300), tmp_path / f"people/{part}.parquet")
    running = program(tmp_path, SESSIONS[kind], WHOLE_RUN)
    out, err = running.communicate(timeout=300)
    assert running.returncode == 0, err
    assert out.splitlines()[-1] == "done"
    assert "column 'age'" in out
    assert "outside the declared range 0 to 20" in out
    assert "column 'answer'" in out
    assert pyarrow.parquet.read_table(tmp_path / "drawn").num_rows == 500


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


COUNTING = """
def slow(batches):
    import time
    for batch in batches:
        open(f"started-{os.getpid()}", "w").close()
        time.sleep(600)
        yield batch

frame = session.read.parquet("people")
try:
    hedgerow.scan_table(frame.mapInArrow(slow, frame.schema), DOMAIN, extra_columns="ignore").total()
except KeyboardInterrupt:
    left = session.sparkContext.statusTracker().getActiveJobsIds()
    print("interrupted", left)
"""
DRAWING = """
from hedgerow import Release
try:
    Release.load("made.release").write_records("spark:out/records", 10**10)
except KeyboardInterrupt:
    print("interrupted", session.sparkContext.statusTracker().getActiveJobsIds())
"""


@pytest.mark.parametrize("text", [COUNTING, DRAWING])
def test_an_interrupt_ends_the_job_in_silence_and_leaves_no_file(tmp_path: Path, text: str) -> None:
    from hedgerow import MWEM, PureDP, SeededNoise, Workload, read_table
    from tests.data.sources import DOMAIN

    (tmp_path / "people").mkdir()
    (tmp_path / "out").mkdir()
    table = table_of(300, seed=0)
    pyarrow.parquet.write_table(table, tmp_path / "people/0.parquet")
    private = read_table(table, DOMAIN, extra_columns="ignore")
    made = MWEM(rounds=1).run(private, Workload.marginals(DOMAIN, 1), PureDP(1.0), noise=SeededNoise(0))
    made.save(tmp_path / "made.release")
    running = program(tmp_path, 'builder.master("local[2]")', text)
    while not (list(tmp_path.glob("started-*")) or list(tmp_path.glob("out/.*/**/*.parquet"))):
        assert running.poll() is None, running.communicate()[1]
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    assert out.split() == ["interrupted", "[]"]
    for word in ("Traceback", "KeyboardInterrupt", "py4j", "ERROR:root"):
        assert word not in err
    assert not list((tmp_path / "out").iterdir())
    assert not list((tmp_path / "temporary").glob("hedgerow-*"))
