"""The caps of a conversation: what an agent may still ask, and what it may still make a server spend."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field

from hedgerow.client import Price
from hedgerow.errors import NotAllowedError


@dataclass
class Conversation:
    """Questions and corrections that are left to a conversation; safe from several threads.

    The price of a statement is held before it is asked, and what it did not take is given back after it was answered. A
    statement that fails keeps its price: it may have been asked.

    Attributes:
        questions: Number of questions that are left.
        corrections: Number of corrections that are left.

    Example:
        >>> conversation = Conversation(questions=5, corrections=2)
        >>> price = Price(rows=2, questions=3, corrections=2, cost=0.04, unit="epsilon")
        >>> conversation.hold(price)
        >>> conversation.give_back(price, questions=3, corrections=1)
        >>> conversation.left()
        {'questions': 2, 'corrections': 1}
    """

    questions: float = math.inf
    corrections: float = math.inf
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def hold(self, price: Price) -> None:
        """Take the price of a statement from what is left.

        Raises:
            NotAllowedError: Less is left; nothing was taken.
        """
        with self._lock:
            for left, asked, what in (
                (self.questions, price.questions, "questions"),
                (self.corrections, price.corrections, "corrections"),
            ):
                if asked > left:
                    raise NotAllowedError(
                        f"the statement takes up to {asked:,} {what}, and this conversation has {left:,} left",
                        remedy="ask less at once, tell the person whom you work for, and do not work around the cap",
                    )
            self.questions -= price.questions
            self.corrections -= price.corrections

    def give_back(self, price: Price, *, questions: int, corrections: int) -> None:
        """Return what a statement did not take of its price.

        Args:
            price: What was held.
            questions: Questions that it took.
            corrections: Corrections that it led to.
        """
        with self._lock:
            self.questions += max(0, price.questions - questions)
            self.corrections += max(0, price.corrections - corrections)

    def left(self) -> dict[str, int | None]:
        """What is left of each; None for no cap."""
        return {
            name: None if math.isinf(value) else int(value)
            for name, value in (("questions", self.questions), ("corrections", self.corrections))
        }
