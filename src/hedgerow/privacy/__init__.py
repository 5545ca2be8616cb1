"""The only code that reads exact answers: budgets, the ledger, noise and the curator."""
