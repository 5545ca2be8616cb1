"""Regret of the automatic settings: their error over the smallest error that any strategy reaches, cell by cell.

A cell is a table, a workload and an epsilon. `tables` makes or reads the tables and says which half each belongs to,
`grid` lists the cells, `estimates` holds what competitors make (noise, projections, tables), `residuals`, `trees` and
`partitions` are competitors, `strategies` names all of them and ours, `running` makes the runs within allowances of
time and memory and keeps them in a journal, and `regrets` turns them into tables and a drawing. Not private: it
measures with the exact answers.

    python -m benchmarks regret --quick     some cells, one seed: minutes on two cores
    python -m benchmarks regret             the whole grid: hours

Runs that are in the journal are not made again; ``--again auto`` forgets and repeats those of a strategy.
"""
