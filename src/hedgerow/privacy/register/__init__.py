"""The register of a table: the charges of all its releases, and the limit that refuses one more.

`register` is what users see, `file` the SQLite file below it, `entries` what the file holds and how it is checked, and
`earlier_runs` what algorithms do around a run: charge the register, or warn. It may import all of privacy but the
curator and the evaluation.
"""
