from .mwem import MWEM as MWEM, Rounds as Rounds
