"""Private tables that stay where they are, counted in passes: larger than memory, or in Spark.

`scan` keeps what was counted and knows what to count in the next pass, `chunks` reads files and databases, `spark`
counts inside the executors, to which `spark_texts` sends places in lists instead of texts. They may import all of data
but the draft.
"""
