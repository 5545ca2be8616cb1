"""The demo's data set: what is registered, under which budget, and how its file was made."""

import shutil
from importlib import resources
from pathlib import Path
from typing import Any

from hedgerow.algorithms.online_pmw import OnlinePMW
from hedgerow.privacy import ApproxDP
from hedgerow.service.sessions import SessionWorkers
from hedgerow.service.store import DataSet, Person, Registration

NAME = "adult"
FILE = "adult.parquet"
COLUMNS = ("age", "education", "marital-status", "occupation", "sex", "hours-per-week", "income")

_DOMAIN: dict[str, Any] = {
    "age": {"min": 16, "max": 100},
    "education": [
        "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad", "Some-college",
        "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
    ],
    "marital-status": [
        "Never-married", "Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent", "Separated", "Divorced",
        "Widowed",
    ],
    "occupation": {
        "values": [
            "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing", "Handlers-cleaners",
            "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty", "Protective-serv", "Sales",
            "Tech-support", "Transport-moving",
        ],
        "missing": "?",
    },
    "sex": ["Female", "Male"],
    "hours-per-week": {"whole": True, "edges": [1, 20, 35, 40, 41, 50, 99]},
    "income": ["<=50K", ">50K"],
}  # fmt: skip
_UPDATES, _QUERIES = 100, 5000
"""A hundred corrections of the model last for some hundred different questions; more would make each answer noisier."""


def registration() -> Registration:
    """The demo's registration: Adult under epsilon 1 and delta 1e-9.

    Example:
        >>> registration().budget["epsilon"], sorted(registration().domain) == sorted(COLUMNS)
        (1.0, True)
    """
    return Registration(
        name=NAME,
        title="Adult: census income, 1994 (public data)",
        source={"place": FILE},
        domain=_DOMAIN,
        budget=ApproxDP(1.0, 1e-9).to_dict(),
        config=OnlinePMW(updates=_UPDATES, queries=_QUERIES).parameters(),
    )


def register(workers: SessionWorkers, by: Person) -> DataSet:
    """Copy the file into the server's data folder and register it.

    Args:
        workers: The data sets of the server.
        by: A custodian.

    Raises:
        ConflictError: There is a data set of this name.
        OSError: The file cannot be written.
    """
    lay_out(workers.folder)
    return workers.register(registration(), by=by)


def lay_out(folder: Path) -> None:
    """Copy the file into a folder, unless it is there."""
    if not (folder / FILE).exists():
        with resources.as_file(resources.files(__package__) / FILE) as shipped:
            shutil.copyfile(shipped, folder / FILE)


def write_table(csv: Path, parquet: Path) -> None:
    """Make the demo's file from ``adult.csv``.

    Args:
        csv: The table with all columns.
        parquet: File to write.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    options = pyarrow.csv.ConvertOptions(include_columns=list(COLUMNS))
    table = pyarrow.csv.read_csv(csv, convert_options=options)
    small = [field.with_type(pa.uint8()) if pa.types.is_integer(field.type) else field for field in table.schema]
    pyarrow.parquet.write_table(
        table.cast(pa.schema(small)), parquet, compression="zstd", compression_level=19, write_statistics=False
    )
