"""Random programs: their definition, and how torch runs them."""

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import Any

from tests.software.random_programs import execution, operations
from tests.software.random_programs.model import RefusedError, Tensor

STEPS = 14


Made = tuple[Any, ...] | None  # the name of an operation with its arguments; None where it does not fit
Choice = Callable[["Program"], Made]


@dataclasses.dataclass(frozen=True)
class Step:
    """One statement; a variable among the arguments is a `Variable`."""

    name: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"


@dataclasses.dataclass(frozen=True)
class Variable:
    """A tensor of the program, or a numpy array."""

    number: int

    def __str__(self) -> str:
        return f"v{self.number}"


class Program:
    """A random program, with its results on the model.

    Args:
        seed: Programs with the same seed are the same.
        choices: The functions that propose the steps; the first makes a tensor.

    Attributes:
        steps: The statements.
        variables: The model's tensors.
        arrays: The numbers of the variables that are numpy arrays.
        parameters: The numbers of the variables that are parameters.
        refusals: The errors of the model, by the number of the step.
    """

    def __init__(self, seed: int, choices: Sequence[Choice]) -> None:
        self.steps: list[Step] = []
        self.variables: list[Tensor] = []
        self.arrays: set[int] = set()
        self.parameters: set[int] = set()
        self.refusals: dict[int, str] = {}
        self._random = random.Random(seed)
        self._count = 0
        while len(self.steps) < STEPS:
            self._extend(choices[0] if len(self.variables) < 2 else self._random.choice(choices))

    def _extend(self, choice: Choice) -> None:
        made = choice(self)
        if made is None:
            return
        step = Step(made[0], tuple(made[1:]))
        self.steps.append(step)
        try:
            result = getattr(operations, step.name)(*map(self._value, step.arguments))
        except RefusedError as refusal:
            self.refusals[len(self.steps) - 1] = str(refusal)
            return
        self._keep(step, result)

    def _value(self, argument: Any) -> Any:
        return self.variables[argument.number] if isinstance(argument, Variable) else argument

    def _keep(self, step: Step, result: Any) -> None:
        sources = [value.number for value in step.arguments if isinstance(value, Variable)]
        results = result if isinstance(result, list) else [result]
        for place, each in enumerate(x for x in results if x is not None):
            number, copies = len(self.variables), step.name in ("deepcopy", "pickled", "saved")
            same = any(each is self.variables[n] for n in self.parameters)
            if (
                same
                or step.arguments[-1:] == ("parameter",)
                or (copies and sources[place] in self.parameters)
            ):
                self.parameters.add(number)
            if step.name == "numpy":
                self.arrays.add(number)
            self.variables.append(each)

    # --- methods for the choices

    def number(self, low: int, high: int) -> int:
        """Draws a number between `low` and `high`, both included."""
        return self._random.randint(low, high)

    def one_of(self, choices: Any) -> Any:
        """Draws an element of a sequence."""
        return self._random.choice(list(choices))

    def next_start(self) -> int:
        """Returns a first value that no tensor has yet."""
        self._count += 100
        return self._count

    def tensor(self, fits: Callable[[Tensor], bool] = lambda x: True) -> Variable | None:
        """Draws a tensor that satisfies `fits`."""
        numbers = [n for n, x in enumerate(self.variables) if n not in self.arrays and fits(x)]
        return Variable(self._random.choice(numbers)) if numbers else None

    def array(self) -> Variable | None:
        """Draws a numpy array."""
        return Variable(self._random.choice(sorted(self.arrays))) if self.arrays else None

    def parameter(self, fits: Callable[[Tensor], bool] = lambda x: True) -> Variable | None:
        """Draws a parameter that satisfies `fits`."""
        numbers = [n for n in sorted(self.parameters) if fits(self.variables[n])]
        return Variable(self._random.choice(numbers)) if numbers else None

    def owns(self, x: Tensor) -> bool:
        """Returns whether a tensor's storage may move, as nothing else shares its memory."""
        numbered = enumerate(self.variables)
        sharing = [(n, y.storage) for n, y in numbered if y.storage.memory is x.storage.memory]
        return all(storage is x.storage and n not in self.arrays for n, storage in sharing)

    def of(self, variable: Variable) -> Tensor:
        """Returns the model's tensor."""
        return self.variables[variable.number]


def run(program: Program) -> tuple[list[Any], dict[int, str]]:
    """Runs a program on torch, gradient recording off; returns the variables, and the errors by step."""
    variables: list[Any] = []
    refusals: dict[int, str] = {}
    for number, step in enumerate(program.steps):
        arguments = [variables[a.number] if isinstance(a, Variable) else a for a in step.arguments]
        try:
            result = execution.OPERATIONS[step.name](*arguments)
        except (RuntimeError, TypeError, IndexError, BufferError) as error:
            refusals[number] = f"{type(error).__name__}: {error}"
            if number not in program.refusals:
                break
            continue
        if number in program.refusals:
            break
        variables += [x for x in (result if isinstance(result, list) else [result]) if x is not None]
    return variables, refusals


def describe(program: Program) -> str:
    """Returns a program as text, one statement per line."""
    return "\n".join(f"  {number}: {step}" for number, step in enumerate(program.steps))
