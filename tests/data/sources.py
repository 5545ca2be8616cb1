"""Every kind of place that a private table can be in, and a random table to put there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from hedgerow.data.reading import databases
from hedgerow.domain import Binned, Categorical, Domain, IntegerRange, OpenDomain, domain_from_mapping
from hedgerow.errors import CountColumnError, MissingValueError, OutOfRangeError, UnknownValueError

DOMAIN = Domain(
    [
        Categorical("sex", ("F", "M"), missing="?"),
        IntegerRange("age", 18, 60, other="older"),
        Binned("income", (0.0, 10.0, 20.0, 50.0), missing="unknown"),
        Categorical("answer", ("yes", "no")),
        Categorical("left handed", ("True", "False")),
    ]
)
"""Missing and other values, bins, a name with a blank, and two attributes of two codes."""

Place = Callable[[pa.Table, Path], tuple[Any, dict[str, Any]]]
"""Puts a table somewhere; what ``scan_table`` or ``read_table`` is given, and options."""


def table_of(n_rows: int, seed: int) -> pa.Table:
    """A random table that fits `DOMAIN`, with a column of counts and one that is not declared."""
    draw = np.random.default_rng(seed)
    sexes = np.array(["F", "M", None], dtype=object)[draw.integers(3, size=n_rows)]
    incomes = np.where(draw.random(n_rows) < 0.2, np.nan, draw.uniform(0.0, 50.0, n_rows))
    return pa.table(
        {
            "sex": pa.array(sexes, pa.string()),
            "age": pa.array(draw.integers(18, 70, n_rows)),
            "income": pa.array(incomes, from_pandas=True),
            "answer": pa.array(np.array(["yes", "no"])[draw.integers(2, size=n_rows)]),
            "left handed": pa.array(draw.integers(2, size=n_rows) == 1),
            "count": pa.array(draw.integers(0, 4, n_rows)),
            "region": pa.array(np.array(["north", "south"])[draw.integers(2, size=n_rows)]),
        }
    )


SCALES = domain_from_mapping(
    {
        "admitted": {"min": "2023-01-01", "max": "2024-12-31", "missing": True},
        "seen": {"min": "2024-01-01T00:00", "max": "2024-01-31T23:45", "step": "15min"},
        "temp": {"min": 35, "max": 43, "step": 0.1, "missing": True},
        "born": {"min": "1950-01-01", "max": "1999-12-31", "format": "%d.%m.%Y", "bins": "year"},
        "due": {"min": "06:00", "max": "21:45", "step": "15min"},
        "wait": {"min": "PT0M", "max": "PT30H", "step": "30min", "missing": True},
        "ride": {"min": "PT0S", "max": "PT48H", "step": "1min", "format": "%H:%M:%S", "bins": 20},
        "off": {"min": 0, "max": 60, "unit": "d"},
        "bus": {"min": "00:00", "max": "23:59", "bins": 24},
        "stamp": {"min": "2024-01-01T00:00", "max": "2024-01-31T23:45", "step": "15min", "unit": "ns", "missing": "-9"},
        "paid": {"min": "1999-01-01", "max": "2030-12-31", "format": "%-m/%-d/%y", "bins": "year"},
        "clock": {"min": "00:00", "max": "23:59", "format": "%H%M", "bins": 24},
        "day": {"min": "2023-01-01", "max": "2024-12-31", "format": "%Y%m%d", "bins": "month"},
        "fee": {"min": 0, "max": 5000, "step": 0.01, "bins": 10, "pattern": "$#,##0.00"},
        "gain": {"min": -90, "max": 90, "step": 0.5, "pattern": "0.0;(0.0)", "missing": ["NA", "n/a", "."]},
        "score": {"min": 0, "max": 60, "missing": ["none", -9, 99]},
        "share": {"min": 0, "max": 100, "step": 0.1, "bins": 5, "pattern": "0.0%"},
    }
)
"""Dates, times, times of day, durations and decimals; texts of dates and durations in a form of their own."""


def scales_of(n_rows: int, seed: int) -> pa.Table:
    """A random table that fits `SCALES`, in native types where a source has some, beside that of ``table_of``."""
    draw = np.random.default_rng(seed)
    day, late = np.datetime64("2023-01-01"), draw.random(n_rows) < 0.1
    born = np.datetime64("1950-01-01") + draw.integers(0, 18_000, n_rows)
    tenths = draw.integers(350, 431, n_rows) / 10
    quarters, halves, minutes = (draw.integers(0, high, n_rows) for high in (64, 61, 2881))
    columns = {
        "admitted": pa.array(day + draw.integers(0, 731, n_rows), pa.date32(), mask=late),
        "seen": pa.array(np.datetime64("2024-01-01T00:00:00.000000") + 900_000_000 * draw.integers(0, 2976, n_rows)),
        "temp": pa.array(tenths, mask=late),
        "born": pa.array([each.strftime("%d.%m.%Y") for each in born.tolist()]),
        "due": pa.array([time(6 + n // 4, n % 4 * 15) for n in quarters.tolist()]),
        "wait": pa.array((halves * 1_800_000_000).astype("timedelta64[us]"), mask=late),
        "ride": pa.array([f"{n // 60:02d}:{n % 60:02d}:00" for n in minutes.tolist()]),
        "bus": pa.array([f"{n // 2 // 60:02d}:{n // 2 % 60:02d}:00" for n in minutes.clip(0, 2879).tolist()]),
        "off": pa.array(draw.integers(0, 61, n_rows)),
    }
    columns |= _written_of(n_rows, draw)
    table = table_of(n_rows, seed)
    for name, column in columns.items():
        table = table.append_column(name, column)
    return table


def _written_of(n_rows: int, draw: np.random.Generator) -> dict[str, Any]:
    """Columns that are written in a way of their own, as texts or as whole numbers."""
    paid = (np.datetime64("1999-01-01") + draw.integers(0, 11_000, n_rows)).tolist()
    minutes, half = draw.integers(0, 1440, n_rows), draw.integers(-180, 181, n_rows) / 2
    days = (np.datetime64("2023-01-01") + draw.integers(0, 731, n_rows)).tolist()
    gains = [f"({-n:.1f})" if n < 0 else f"{n:.1f}" for n in half.tolist()]
    said = draw.choice(["NA", "n/a", "."], n_rows)
    stamps = (1_704_067_200 + 900 * draw.integers(0, 2976, n_rows)) * 10**9
    scores = np.where(draw.random(n_rows) < 0.1, -9, draw.integers(0, 61, n_rows))
    return {
        "stamp": pa.array(np.where(draw.random(n_rows) < 0.1, -9, stamps)),
        "paid": pa.array([f"{each.month}/{each.day}/{each:%y}" for each in paid]),
        "clock": pa.array(minutes // 60 * 100 + minutes % 60),
        "day": pa.array([int(f"{each:%Y%m%d}") for each in days]),
        "fee": pa.array([f"${n:,.2f}" for n in draw.uniform(0, 5000, n_rows).tolist()]),
        "gain": pa.array(np.where(draw.random(n_rows) < 0.1, said, np.array(gains))),
        "score": pa.array(np.where(draw.random(n_rows) < 0.05, 99, scores)),
        "share": pa.array([f"{n:.1f}%" for n in draw.uniform(0, 100, n_rows).tolist()]),
    }


SPANS = domain_from_mapping(
    {
        "seen": {"min": "2024-01-01T00:00", "max": "2024-01-31T23:45", "step": "15min", "bins": 31},
        "stay": {"from": "seen", "to": "left", "min": "PT0H", "max": "PT40H", "step": "30min", "missing": True},
    }
)
"""A duration that lies between two columns, one of them in bins."""


def spans_of(n_rows: int, seed: int) -> pa.Table:
    """A random table that fits `SPANS`, beside that of ``table_of``; the durations are those of its column "wait"."""
    table = scales_of(n_rows, seed)
    ends = pyarrow.compute.add(table.column("seen"), table.column("wait"))
    return table.append_column("left", ends)


FORMS = domain_from_mapping(
    {
        "format": {"decimal": ",", "thousands": "."},
        "attributes": {
            "pay": {"min": -1000, "max": 10_000, "step": 0.01, "bins": 20, "pattern": "€#,##0.00;(€#,##0.00)"},
            "rate": {"min": 0, "max": 100, "step": 0.1, "bins": 10, "pattern": "#.#%", "missing": ["?", "NA"]},
            "score": {"min": 0, "max": 90, "missing": ["-9", "999", "."]},
            "made": {"min": "2023-01-01T00:00", "max": "2024-12-31T23:59", "unit": "ns", "bins": 24},
            "since": {"min": "2023-01-01T00:00", "max": "2024-12-31T23:59", "unit": "s", "missing": ["-1", "0"]},
            "day": {"min": "2023-01-01", "max": "2024-12-31", "format": "%Y%m%d", "type": "int64"},
            "named": {"min": "2023-01-01", "max": "2024-12-31", "format": "%d %b %y", "missing": ["?", "never"]},
            "clock": {"min": "00:00", "max": "23:59", "format": "%I:%M %p"},
            "short": {"min": "00:00", "max": "23:59", "format": "%H%M", "type": "int64"},
            "kept": {"from": "named", "to": "left on", "min": 0, "max": 40, "unit": "d", "missing": True},
        },
    }
)
"""Numbers, dates and times that are not written as Python writes them, and several spellings of a missing one."""


def forms_of(n_rows: int, seed: int) -> tuple[pa.Table, dict[str, list[Any]]]:
    """A random table that fits `FORMS`, beside that of ``table_of``, and what its cells mean."""
    draw = np.random.default_rng(seed)
    pays = draw.integers(-100_000, 1_000_001, n_rows).tolist()
    rates = [None if rate == 1001 else rate for rate in draw.integers(0, 1002, n_rows).tolist()]
    scores = [None if score > 90 else score for score in draw.integers(0, 94, n_rows).tolist()]
    minutes = [datetime(2023, 1, 1) + timedelta(minutes=n) for n in draw.integers(0, 731 * 1440, n_rows).tolist()]
    since = [(each - datetime(1970, 1, 1)) // timedelta(seconds=1) for each in minutes]
    known = [None if n % 10 == 0 else each for n, each in enumerate(minutes)]
    stays = [None if each is None else int(n) for n, each in zip(draw.integers(0, 41, n_rows), known, strict=True)]
    ends = [None if each is None else each + timedelta(days=n or 0) for n, each in zip(stays, known, strict=True)]

    def money(cents: int) -> str:
        text = f"€{abs(cents) // 100:,}".replace(",", ".") + f",{abs(cents) % 100:02d}"
        return f"({text})" if cents < 0 else text

    gone = ("?", "never", None)
    columns = {
        "pay": [money(cents) for cents in pays],
        "rate": [
            ("NA", "?", None)[n % 3] if r is None else f"{r / 10:g}%".replace(".", ",") for n, r in enumerate(rates)
        ],
        "score": [(-9, 999, None)[n % 3] if score is None else score for n, score in enumerate(scores)],
        "made": [second * 10**9 for second in since],
        "since": [(-1, 0, None)[n // 10 % 3] if n % 10 == 0 else second for n, second in enumerate(since)],
        "day": [int(each.strftime("%Y%m%d")) for each in minutes],
        "named": [gone[n // 10 % 3] if each is None else each.strftime("%d %b %y") for n, each in enumerate(known)],
        "clock": [each.strftime("%I:%M %p") for each in minutes],
        "short": [each.hour * 100 + each.minute for each in minutes],
        "left on": [gone[n // 10 % 3] if each is None else each.strftime("%d %b %y") for n, each in enumerate(ends)],
    }
    table = table_of(n_rows, seed)
    for name, cells in columns.items():
        table = table.append_column(name, pa.array(cells))
    table = table.drop_columns(["income"])  # whose mark in a CSV file would be another one
    return table, {
        "pay": [cents / 100 for cents in pays],
        "rate": [None if rate is None else rate / 10 for rate in rates],
        "score": scores,
        "made": minutes,
        "since": known,
        "day": [each.date() for each in minutes],
        "named": [None if each is None else each.date() for each in known],
        "clock": [each.time() for each in minutes],
        "short": [each.time() for each in minutes],
        "kept": [None if n is None else timedelta(days=n) for n in stays],
    }


BAD_FORMS = {
    "a number without its sign": ("pay", "12,50", UnknownValueError),
    "a number with the other mark": ("rate", "12.5%", UnknownValueError),
    "a missing number that is not listed": ("score", -98765, OutOfRangeError),
    "milliseconds among nanoseconds": ("made", 1_700_000_000_000, OutOfRangeError),
    "a time between two steps": ("since", 1_700_000_001, OutOfRangeError),
    "two forms of dates": ("named", "2023-02-01", UnknownValueError),
    "13 in the afternoon": ("clock", "13:00 PM", UnknownValueError),
}


OPEN = OpenDomain(
    {
        "attributes": {
            "job": {"values": {"learn": 9}, "trim": True, "case": "fold", "synonyms": {"rn": "nurse"}},
            "ward": {"values": {"learn": 9}, "missing": "none"},
            "sex": ["F", "M"],
        }
    }
)
"""Two columns whose values are to be learnt: texts in several spellings, and whole numbers."""


def labelled_of(n_rows: int, seed: int) -> tuple[pa.Table, dict[str, dict[str, int]]]:
    """Records of `OPEN` with some of each patient's, and how many have each label."""
    draw = np.random.default_rng(seed)
    spelled = {"nurse": ("nurse", " Nurse", "RN"), "clerk": ("clerk", "CLERK"), "é": ("é",), "": ("", "?", "other")}
    jobs = [list(spelled)[i] for i in draw.choice(4, n_rows, p=[0.4, 0.3, 0.1, 0.2])]
    wards = draw.integers(1, 4, n_rows)
    empty = draw.random(n_rows) < 0.1
    table = pa.table(
        {
            "job": [spelled[job][i % len(spelled[job])] for i, job in enumerate(jobs)],
            "ward": pa.array(wards, mask=empty),
            "sex": np.array(["F", "M"])[draw.integers(2, size=n_rows)],
            "patient": draw.integers(0, n_rows // 3, n_rows),
            "answer": np.array(["yes", "no"])[draw.integers(2, size=n_rows)],
            "region": np.array(["north", "south"])[draw.integers(2, size=n_rows)],
        }
    )
    counts = {job: jobs.count(job) for job in ("clerk", "nurse", "é")}
    return table, {"job": counts, "ward": {str(i): int(np.sum(wards[~empty] == i)) for i in (1, 2, 3)}}


def visits_of(n_rows: int, seed: int) -> pa.Table:
    """The table of ``table_of`` with patients, of whom some have many rows and some have equal ones."""
    draw = np.random.default_rng(seed)
    few = table_of(n_rows, seed).take(pa.array(draw.integers(0, max(1, n_rows // 3), n_rows)))
    patients = np.floor(n_rows / 4 * draw.random(n_rows) ** 2).astype(np.int64) - 3
    return few.append_column("patient", pa.array(patients))


SPELLED = domain_from_mapping(
    {
        "gender": {
            "values": ["female", "male"],
            "trim": True,
            "case": "fold",
            "synonyms": {"m": "male", "F": "female", "n/a": "?"},
            "missing": "?",
        },
        "town": {"values": ["Zürich", "Łódź"], "unicode": "NFC", "other": True},
        "flag": {"values": [True, False], "case": "fold", "synonyms": {"yes": True, "no": False}},
    }
)
"""Labels that are normalised."""

SPELLINGS = {
    "gender": {0: ["female", " Female", "F", "f\t"], 1: ["male", "MALE ", "m", "M"], 2: [None, "", "  ", "?", "N/A"]},
    "town": {0: ["Zürich", "Zu\u0308rich"], 1: ["Łódź", "Ło\u0301dz\u0301"], 2: ["zürich", " Łódź", "Bern", "other"]},
    "flag": {0: ["true", "TRUE", "Yes"], 1: ["False", "fAlse", "NO"]},
}
"""For each attribute of `SPELLED` the cells of each code, listed by hand."""


def spelled_of(n_rows: int, seed: int) -> pa.Table:
    """A random table that fits `SPELLED`, beside that of ``table_of``."""
    draw = np.random.default_rng(seed)
    table = table_of(n_rows, seed)
    for name, spellings in SPELLINGS.items():
        cells = [cell for code in spellings for cell in spellings[code]]
        table = table.append_column(name, pa.array([cells[i] for i in draw.integers(len(cells), size=n_rows)]))
    return table


def parts_of(table: pa.Table, n: int = 3) -> list[pa.Table]:
    cuts = np.linspace(0, table.num_rows, n + 1).astype(int).tolist()
    return [table.slice(low, high - low) for low, high in pairwise(cuts)]


def one_parquet(table: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    pyarrow.parquet.write_table(table, folder / "people.parquet", row_group_size=50)
    return folder / "people.parquet", {}


def texts_of_durations(table: pa.Table) -> pa.Table:
    """Durations as the standard writes them: CSV has no type for them."""
    for place, field in enumerate(table.schema):
        if pa.types.is_duration(field.type):
            seconds = [None if each is None else each // timedelta(seconds=1) for each in table[place].to_pylist()]
            cells = [None if n is None else f"{'-' if n < 0 else ''}PT{abs(n)}S" for n in seconds]
            table = table.set_column(place, field.name, pa.array(cells, pa.string()))
    return table


def one_csv(table: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    table = texts_of_durations(table)
    pyarrow.csv.write_csv(table, folder / "people.csv")
    return folder / "people.csv", {}


def many_parquet(table: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    for i, part in enumerate(parts_of(table)):
        pyarrow.parquet.write_table(part, folder / f"part-{i}.parquet")
    return f"{folder}/part-*.parquet", {}


def many_csv(table: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    for i, part in enumerate(parts_of(texts_of_durations(table))):
        pyarrow.csv.write_csv(part.select(part.column_names[::-1]) if i else part, folder / f"part-{i}.csv")
    return f"{folder}/part-*.csv", {}


def partitioned(table: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    """By one attribute and by the column that is not declared; its files are in folders of these names."""
    table = texts_of_durations(table)  # nor has Parquet one, and DuckDB does not look at Arrow's note of it
    pyarrow.parquet.write_to_dataset(table, folder / "people", partition_cols=["answer", "region"])
    return folder / "people", {}


def duckdb_file(table: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
    import duckdb

    with duckdb.connect(str(folder / "people.db")) as connection:
        connection.register("rows_given", table)
        connection.execute('CREATE TABLE "all people" AS SELECT * FROM rows_given')
    return f"duckdb://{folder}/people.db#all people", {}


def postgresql(address: str) -> Place:
    def put(table: pa.Table, folder: Path) -> tuple[Any, dict[str, Any]]:
        from adbc_driver_postgresql import dbapi

        name = "people " + folder.name
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute(f'DROP TABLE IF EXISTS "{name}"')
            cursor.adbc_ingest(name, table, mode="create")
            connection.commit()
        return f"{address}#{name}", {}

    return put


POSTGRESQL = "a PostgreSQL table"
PLACES: dict[str, Place] = {
    "one Parquet file": one_parquet,
    "one CSV file": one_csv,
    "Parquet files": many_parquet,
    "CSV files": many_csv,
    "a partitioned folder": partitioned,
    "a DuckDB file": duckdb_file,
}


BAD = {
    "an unknown value": ("answer", "perhaps", UnknownValueError),
    "a number out of range": ("income", 99.5, OutOfRangeError),
    "an empty cell": ("answer", None, MissingValueError),
    "a negative count": ("count", -1, CountColumnError),
    "an empty count": ("count", None, CountColumnError),
}


BAD_ON_SCALES = {
    "31 February": ("born", "31.02.1960", UnknownValueError),
    "two forms in one column": ("born", "1960-02-01", UnknownValueError),
    "a fraction of a step": ("temp", 36.65, OutOfRangeError),
    "a day out of range": ("admitted", date(2025, 1, 1), OutOfRangeError),
    "a time between two steps": ("seen", datetime(2024, 1, 1, 0, 7), OutOfRangeError),
    "25:00 as a time of day": ("bus", "25:00", UnknownValueError),
    "a duration below none": ("wait", timedelta(minutes=-30), OutOfRangeError),
    "a duration between two steps": ("wait", timedelta(minutes=7), OutOfRangeError),
    "a duration in another form": ("ride", "PT1H", UnknownValueError),
    "a time since 1970 that is no step": ("stamp", 1_704_067_200_000_000_001, OutOfRangeError),
    "a year of four digits where two are declared": ("paid", "1/2/1999", UnknownValueError),
    "the 75th minute": ("clock", 1275, UnknownValueError),
    "the 31st of a February": ("day", 20230231, UnknownValueError),
    "a price without its currency": ("fee", "12.00", UnknownValueError),
    "a price with another mark": ("fee", "$12,50", UnknownValueError),
    "a number with one bracket": ("gain", "(3.5", UnknownValueError),
    "a share without its sign": ("share", "50.0", UnknownValueError),
}


def spoiled(column: str, value: object, rows: tuple[int, ...], table: pa.Table | None = None) -> pa.Table:
    table = table_of(400, seed=3) if table is None else table
    cells = table.column(column).to_pylist()
    for row in rows:
        cells[row] = value
    place = table.column_names.index(column)
    return table.set_column(place, column, pa.array(cells, table.schema.field(column).type))


def passes_of_databases(monkeypatch: Any) -> list[str]:
    """What databases are asked from now on: all rows, or groups."""
    made: list[str] = []

    def watched(name: str, kind: str) -> Callable[..., Any]:
        inner = getattr(databases, name)

        def asked(*given: Any) -> Any:
            made.append(kind)
            return inner(*given)

        return asked

    for name, kind in (("_selected", "rows"), ("_grouping", "groups")):
        monkeypatch.setattr(databases, name, watched(name, kind))
    return made
