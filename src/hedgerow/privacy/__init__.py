"""The only code that reads exact answers: budgets, mechanisms, the ledger, the noise and the curator."""
