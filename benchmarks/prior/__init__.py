"""Public data as a prior: the error of a release with and without one, for public data with known bias.

`tables` splits tables into a private and a public part; here every private part is released with each public one, and
with none. Not private: it measures with the exact answers.

    python -m benchmarks prior --half tuning     minutes on one core
    python -m benchmarks prior                   everything

Runs that are in the journal are not made again.
"""
