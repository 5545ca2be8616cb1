"""What may be asked: linear queries, whole marginals, and workloads of them (public)."""
