from .demo import COLUMNS as COLUMNS, FILE as FILE, registration as registration
