from .addresses import (
    DUCKDB_REMEDY as DUCKDB_REMEDY,
    SPARK as SPARK,
    DuckDBTable as DuckDBTable,
    duckdb_table as duckdb_table,
    is_duckdb as is_duckdb,
    quoted as quoted,
)
from .duckdb_file import (
    check_table as check_table,
    connect as connect,
    interruptible as interruptible,
    require_duckdb as require_duckdb,
    table_exists as table_exists,
    write_table as write_table,
)
from .spark_session import (
    run_job as run_job,
    running_session as running_session,
    watched as watched,
    withholding as withholding,
    without_pandas as without_pandas,
)
from .spark_tasks import SparkTasks as SparkTasks
