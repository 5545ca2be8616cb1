"""The experiments of the papers, each with a grid, a pinned table, a tolerance and drawings. NOT PRIVATE."""
