"""The operators: which there are, and whether they can be used."""

from __future__ import annotations

from typing import Any, TypeVar

Operator = TypeVar("Operator", bound="type[BaseOperator]")


class BaseOperator:
    """An operator.

    Attributes:
        OPERATOR: What computes it; None if nothing does.
        NAME: Its name.
        OPERATOR_CATEGORY: The group of its name.
    """

    OPERATOR: Any = None
    NAME: str
    OPERATOR_CATEGORY: str

    @classmethod
    def is_available(cls) -> bool:
        """Return whether it can be used."""
        return cls.OPERATOR is not None


OPERATORS_REGISTRY: list[type[BaseOperator]] = []


def register_operator(operator: Operator) -> Operator:
    """Add ``operator`` to the list that ``xformers.info`` prints."""
    OPERATORS_REGISTRY.append(operator)
    return operator
