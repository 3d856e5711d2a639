"""Small SPMD programs: made at random, and run on several ranks that meet in collectives.

A program is one Python file with a function `step(n, flag, batch)`. `run` executes it once a rank, in threads that
take turns: a collective waits until every rank has come to one or has ended.
"""

from __future__ import annotations

import ast
import builtins
import random
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

RANKS = 3
#: inputs on which each program is run
DRAWS = 12
#: collectives of one rank; a program has no endless loops, but nested ones
_MOST_EVENTS = 200
_HEAD = "import torch\nimport torch.distributed as dist\n\n\n"


# ---------------------------------------------------------------------- running
class Diverged(Exception):
    """The ranks do not meet."""


@dataclass(slots=True)
class Run:
    diverged: bool = False
    #: the ranks met, but from different places of the program: what they then hold says nothing
    crossed: bool = False
    #: line -> do the ranks hold different values there?
    values: dict[int, bool] = field(default_factory=dict)


class _Meeting:
    """Where ranks wait for each other: each arrives with the name of its operation and what it brings."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        #: by rank: what it does, in which line, and what it brings
        self._arrived: dict[int, tuple[str, int, Any]] = {}
        self._ended: set[int] = set()
        self._results: list[Any] = []
        self._round = 0
        self.diverged = False
        self.crossed = False

    def _settle(self) -> None:
        if len(self._arrived) + len(self._ended) < RANKS:
            return
        if self._arrived and (self._ended or len({op for op, _, _ in self._arrived.values()}) > 1):
            self.diverged = True
        self.crossed = self.crossed or len({line for _, line, _ in self._arrived.values()}) > 1
        self._results = [self._arrived[rank][2] for rank in sorted(self._arrived)]
        self._arrived.clear()
        self._round += 1
        self._condition.notify_all()

    def meet(self, rank: int, op: str, brought: Any) -> list[Any]:
        """What every rank brought, by rank."""
        with self._condition:
            current = self._round
            if current > _MOST_EVENTS:
                self.diverged = True
            self._arrived[rank] = (op, sys._getframe(2).f_lineno, brought)
            self._settle()
            while self._round == current and not self.diverged:
                self._condition.wait()
            if self.diverged:
                self._condition.notify_all()
                raise Diverged
            return self._results

    def end(self, rank: int) -> None:
        with self._condition:
            self._ended.add(rank)
            self._settle()


class Tensor:
    """Numbers in one dimension."""

    def __init__(self, values: Any) -> None:
        self.values = list(values) if isinstance(values, list) else [values]

    def item(self) -> int:
        return int(sum(self.values))

    def sum(self) -> Tensor:
        return Tensor(sum(self.values))

    def any(self) -> Tensor:
        return Tensor(int(any(self.values)))

    def __len__(self) -> int:
        return len(self.values)


def _library(rank: int, meeting: _Meeting) -> tuple[types.SimpleNamespace, types.SimpleNamespace]:
    def all_reduce(t: Tensor) -> None:
        everything = meeting.meet(rank, "all_reduce", list(t.values))
        t.values = [sum(column) for column in zip(*everything, strict=False)]

    def broadcast(t: Tensor, src: int) -> None:
        t.values = list(meeting.meet(rank, "broadcast", list(t.values))[src])

    def all_gather_object(out: list[Any], value: Any) -> None:
        out[:] = meeting.meet(rank, "all_gather_object", value)

    def broadcast_object_list(items: list[Any], src: int) -> None:
        items[:] = meeting.meet(rank, "broadcast_object_list", list(items))[src]

    dist = types.SimpleNamespace(
        get_rank=lambda: rank, get_world_size=lambda: RANKS, all_reduce=all_reduce, broadcast=broadcast,
        all_gather_object=all_gather_object, broadcast_object_list=broadcast_object_list,
        barrier=lambda: meeting.meet(rank, "barrier", None),
    )  # fmt: skip
    return types.SimpleNamespace(tensor=Tensor, distributed=dist), dist


#: each test against a number as another one, or its opposite
_POSITIVE = {ast.Eq: "==", ast.NotEq: "==", ast.Gt: ">", ast.LtE: ">"}


class _Opened(ast.NodeTransformer):
    """Tests against numbers, and numbers of rounds, become functions of the value: see `run`."""

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        (op,), (right,) = node.ops, node.comparators
        call = ast.Call(ast.Name("_holds", ast.Load()), [ast.Constant(_POSITIVE[type(op)]), node.left, right], [])
        return ast.UnaryOp(ast.Not(), call) if isinstance(op, ast.NotEq | ast.LtE) else call

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "min":
            return ast.Call(ast.Name("_rounds", ast.Load()), node.args[:1], [])
        return node


def run(source: str, seed: str, opened: bool = False) -> Run:
    """Execute a program on every rank, on the inputs that `seed` draws.

    `opened`: the outcome of `x > 1` is drawn anew for each value of x (the same on every rank), and so is the number of
    rounds in `min(x, 3)`. So what depends on x still does, but no path is closed by arithmetic.
    """
    draw = random.Random(seed)
    n, flag = draw.randrange(4), draw.random() < 0.5
    batches = [Tensor([draw.randrange(3) for _ in range(draw.randrange(1, 4))]) for _ in range(RANKS)]
    tree = ast.parse(source)
    code = compile(ast.fix_missing_locations(_Opened().visit(tree)) if opened else tree, "program.py", "exec")
    meeting = _Meeting()
    seen: list[dict[int, list[Any]]] = [{} for _ in range(RANKS)]
    problems: list[BaseException] = []

    def on(rank: int) -> None:
        torch, dist = _library(rank, meeting)

        def load(name: str, *rest: Any) -> Any:
            return torch if name == "torch" or not rest[2] else dist

        def reveal(line: int, value: Any) -> None:
            seen[rank].setdefault(line, []).append(value.values[:] if isinstance(value, Tensor) else value)

        space: dict[str, Any] = {
            "__builtins__": {**vars(builtins), "__import__": load},
            "_holds": lambda *test: random.Random(f"{seed} {test}").random() < 0.5,
            "_rounds": lambda value: random.Random(f"{seed} {value}").randrange(3),
        }  # fmt: skip
        try:
            exec(code, space)
            space["reveal_uniformity"] = _with_line(reveal)
            space["step"](n, flag, batches[rank])
        except Diverged:
            pass
        except BaseException as error:
            problems.append(error)
        finally:
            meeting.end(rank)

    threads = [threading.Thread(target=on, args=(rank,)) for rank in range(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    lines = set.intersection(*map(set, seen))
    alike = {line for line in lines if len({len(s[line]) for s in seen}) == 1}
    values = {line: any(s[line] != seen[0][line] for s in seen) for line in alike}
    return Run(meeting.diverged, meeting.crossed, {} if meeting.crossed else values)


def _with_line(reveal: Callable[[int, Any], None]) -> Callable[[Any], None]:
    def asked(value: Any) -> None:
        reveal(sys._getframe(1).f_lineno, value)

    return asked


# ---------------------------------------------------------------------- making
def program(seed: int) -> str:
    """The source of a program."""
    return _Maker(random.Random(seed)).program()


class _Maker:
    """Writes statements; `scalars` and `tensors` are the names that surely have a value at the current place."""

    def __init__(self, pick: random.Random) -> None:
        self._pick = pick
        self._lines: list[str] = []
        self._fresh = 0
        self._scalars: list[str] = []
        self._tensors: list[str] = []
        self._helpers: list[str] = []

    def program(self) -> str:
        for _ in range(self._pick.randrange(3)):
            self._helper()
        self._lines.append("def step(n, flag, batch):")
        self._scalars, self._tensors = ["n"], []
        self._add(1, "rank = dist.get_rank()")
        self._scalars.append("rank")
        self._block(1, self._pick.randint(4, 8), loop=False)
        return _HEAD + "\n".join(self._lines) + "\n"

    def _add(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def _name(self, letter: str) -> str:
        self._fresh += 1
        return f"{letter}{self._fresh}"

    def _helper(self) -> None:
        name = self._name("helper")
        self._lines.append(f"def {name}(a):")
        self._scalars, self._tensors = ["a"], []
        self._block(1, self._pick.randint(1, 3), loop=False)
        self._add(1, f"return {self._value()}")
        self._lines += ["", ""]
        self._helpers.append(name)

    # ------------------------------------------------------------------ expressions
    def _value(self) -> str:
        scalar = self._pick.choice(self._scalars)
        return self._pick.choice(
            [scalar, scalar, f"{scalar} + 1", f"{scalar} * 2", f"({scalar}, 1)[0]", str(self._pick.randrange(3)),
             "dist.get_world_size()", f"{scalar} + {self._pick.choice(self._scalars)}",
             f"({scalar} if {self._test()} else {self._pick.choice(self._scalars)})"]
        )  # fmt: skip

    def _test(self) -> str:
        scalar = self._pick.choice(self._scalars)
        simple = f"{scalar} {self._pick.choice(['==', '!=', '>', '<='])} {self._pick.randrange(2)}"
        if "rank" in self._scalars:
            others = ["flag", "not flag", "rank == 0", "rank != 0", "batch.sum().item() > 2", "len(batch) > 1", simple]
            if self._pick.random() < 0.2:
                word = self._pick.choice(["and", "or"])
                # not the same test twice, nor with its opposite
                first, second = self._pick.sample(["flag", "rank == 0", "batch.sum().item() > 2", "len(batch) > 1"], 2)
                return f"{first} {word} {self._pick.choice(['', 'not '])}{second}"
            return self._pick.choice([*others, simple])
        return simple

    # ------------------------------------------------------------------ statements
    def _block(self, depth: int, size: int, loop: bool) -> None:
        scalars, tensors = list(self._scalars), list(self._tensors)
        for _ in range(size):
            self._statement(depth, loop)
        if self._pick.random() < 0.7:
            self._add(depth, f"reveal_uniformity({self._pick.choice(self._scalars)})")
        if depth > 1:
            self._scalars, self._tensors = scalars, tensors

    def _statement(self, depth: int, loop: bool) -> None:
        kinds: list[Callable[[int], None]] = [self._assign, self._assign, self._collective, self._agree, self._reassign]
        if self._helpers:
            kinds.append(self._call)
        if depth < 4:
            kinds += [lambda d: self._if(d, loop), lambda d: self._if(d, loop), self._for]
        if depth > 1:
            kinds.append(lambda d: self._leave(d, loop))
        self._pick.choice(kinds)(depth)

    def _assign(self, depth: int) -> None:
        value, name = self._value(), self._name("v")
        self._add(depth, f"{name} = {value}")
        self._scalars.append(name)

    def _reassign(self, depth: int) -> None:
        names = [name for name in self._scalars if name not in ("rank", "n", "a")]
        if names:
            self._add(depth, f"{self._pick.choice(names)} = {self._value()}")

    def _collective(self, depth: int) -> None:
        if self._tensors and self._pick.random() < 0.3:
            self._add(depth, f"dist.all_reduce({self._pick.choice(self._tensors)})")
        else:
            self._add(depth, "dist.barrier()")

    def _agree(self, depth: int) -> None:
        """Make a value the same on every rank."""
        name, agreed, value = self._name("t"), self._name("u"), self._pick.choice(self._scalars)
        way = self._pick.randrange(4)
        if way < 2:
            self._add(depth, f"{name} = torch.tensor({value})")
            self._add(depth, f"dist.all_reduce({name})" if way else f"dist.broadcast({name}, src=0)")
            self._add(depth, f"{agreed} = {name}.item()")
            self._tensors.append(name)
        elif way == 2:
            self._add(depth, f"{name} = [{value}]")
            self._add(depth, f"dist.broadcast_object_list({name}, src=0)")
            self._add(depth, f"{agreed} = {name}[0]")
        else:
            self._add(depth, f"{name} = [None] * dist.get_world_size()")
            self._add(depth, f"dist.all_gather_object({name}, {value})")
            self._add(depth, f"{agreed} = max({name})")
        self._scalars.append(agreed)

    def _call(self, depth: int) -> None:
        value, name = self._pick.choice(self._scalars), self._name("v")
        self._add(depth, f"{name} = {self._pick.choice(self._helpers)}({value})")
        self._scalars.append(name)

    def _if(self, depth: int, loop: bool) -> None:
        self._add(depth, f"if {self._test()}:")
        self._block(depth + 1, self._pick.randint(1, 2), loop)
        self._add(depth + 1, "pass")
        if self._pick.random() < 0.4:
            self._add(depth, "else:")
            self._block(depth + 1, self._pick.randint(1, 2), loop)
            self._add(depth + 1, "pass")

    def _for(self, depth: int) -> None:
        rounds = self._pick.choice(["2", "3", f"min({self._pick.choice(self._scalars)}, 3)"])
        name = self._name("i")
        self._add(depth, f"for {name} in range({rounds}):")
        self._scalars.append(name)
        self._block(depth + 1, self._pick.randint(1, 2), loop=True)
        self._add(depth + 1, "pass")
        self._scalars.remove(name)

    def _leave(self, depth: int, loop: bool) -> None:
        choices = ["return 0"] + (["break", "continue"] if loop else [])
        self._add(depth, f"if {self._test()}:")
        self._add(depth + 1, self._pick.choice(choices))
