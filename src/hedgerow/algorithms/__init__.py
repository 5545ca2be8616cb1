"""One file per published algorithm: select, measure, update."""
