"""Inputs for the fuzzer: Python modules from a grammar, mutations of texts, settings."""

from __future__ import annotations

import random
from collections.abc import Callable

_NAMES = ["x", "y", "rank", "group", "model", "batch", "loader", "self", "cls", "fn", "mesh", "flag", "items", "é"]
_CALLS = [
    "dist.barrier()", "dist.all_reduce({})", "dist.broadcast({}, src=0)", "dist.get_rank()", "dist.get_world_size()",
    "dist.all_gather(out, {})", "dist.new_group([0, {}])", "dist.send({}, dst=1)", "dist.recv({}, src=0)",
    "dist.all_gather_object(out, {})", "FSDP({})", "fully_shard({})", "model({})", "self.step({})", "helper({})",
    "{}.item()", "{}.append({})", "torch.nonzero({})", "F.pad({}, (0, {}))", "len({})", "super().__init__({})",
    "sorted({})", "set({})", "os.path.exists({})", "time.time()", "next(iter({}))", "partial(helper, {})()",
    "optimizer.step()", "loss.backward()", "accelerator.wait_for_everyone()", "isinstance({}, {})", "{}(*{}, **{})",
]  # fmt: skip
_HEAD = (
    "import os, time, torch\nimport torch.distributed as dist\nimport torch.nn.functional as F\n"
    "from functools import partial\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP, fully_shard\n"
)
_ODD = ["\x00", "\t", "\f", "\r", "\\\n", "(", ")", ":", "'''", "#", "é", "\u2028", "\ud800", "🙂", "async ", "await ",
        "lambda: ", "*", "**", "@", "# ferrule: ignore[FER102]", "# noqa: FER",
        "if ", "else:", ";", "0x", "f'{", "}"]  # fmt: skip


def module(pick: random.Random) -> str:
    """A module that parses."""
    return _Grammar(pick).module()


class _Grammar:
    def __init__(self, pick: random.Random) -> None:
        self._pick = pick
        self._left = pick.randint(10, 120)

    def module(self) -> str:
        parts = [
            self._definition(0) if self._pick.random() < 0.7 else self._statement(0)
            for _ in range(self._pick.randint(1, 6))
        ]
        return _HEAD + "".join(parts)

    def _name(self) -> str:
        return self._pick.choice(_NAMES)

    def _block(self, depth: int, *, function: bool = True, loop: bool = False) -> str:
        return "".join(self._statement(depth, function, loop) for _ in range(self._pick.randint(1, 4)))

    def _definition(self, depth: int) -> str:
        pad = "    " * depth
        if self._pick.random() < 0.3:
            bases = self._pick.choice(["", "(torch.nn.Module)", "(A)", "(B, A)", "(Generic[T])"])
            methods = "".join(self._function(depth + 1, "self, ") for _ in range(self._pick.randint(1, 3)))
            return f"{pad}class {self._pick.choice('AB')}{bases}:\n{methods}"
        return self._function(depth, "")

    def _function(self, depth: int, first: str) -> str:
        pad, pick = "    " * depth, self._pick
        name = pick.choice(["helper", "step", "forward", "__init__", "__call__", "__enter__", "run", "train"])
        parameters = pick.choice(
            ["x", "x, y=None", "*items, flag=False", "x: int = 0, /, y: 'A' = 1", "**batch", "rank, group=None"]
        )
        decorator = pick.choice(["", "", "", "@property\n", "@staticmethod\n", "@torch.no_grad()\n", "@helper\n"])
        word = "async def" if pick.random() < 0.1 else "def"
        head = f"{pad}{decorator}{pad if decorator else ''}{word} {name}({first}{parameters}):\n"
        return head + self._block(depth + 1)

    # ------------------------------------------------------------------ statements
    def _statement(self, depth: int, function: bool = True, loop: bool = False) -> str:
        pad, pick = "    " * depth, self._pick
        self._left -= 1
        if self._left < 0 or depth > 7:
            return f"{pad}pass\n"
        inner = depth + 1
        simple = [
            f"{self._expr()}\n", f"{self._target()} = {self._expr()}\n", f"{self._name()} += {self._expr()}\n",
            f"{self._name()}: int = {self._expr()}\n", f"assert {self._expr()}\n", f"del {self._name()}\n",
            f"{self._name()}, *{self._name()} = {self._expr()}\n", f"raise ValueError({self._expr()})\n",
        ]  # fmt: skip
        if function and depth:
            simple += [f"return {self._expr()}\n", "return\n"]
        if loop:
            simple += ["break\n", "continue\n"]
        if pick.random() < 0.5:
            return pad + pick.choice(simple)
        compound: list[Callable[[], str]] = [
            lambda: (
                f"{pad}if {self._expr()}:\n{self._block(inner, function=function, loop=loop)}"
                + (f"{pad}else:\n{self._block(inner, function=function, loop=loop)}" if pick.random() < 0.5 else "")
            ),
            lambda: f"{pad}for {self._target()} in {self._expr()}:\n{self._block(inner, function=function, loop=True)}",
            lambda: (
                f"{pad}while {self._expr()}:\n{self._block(inner, function=function, loop=True)}"
                f"{pad}else:\n{self._block(inner, function=function, loop=loop)}"
            ),
            lambda: (
                f"{pad}try:\n{self._block(inner, function=function, loop=loop)}"
                f"{pad}except {pick.choice(['ValueError', 'Exception as e', '(KeyError, OSError)'])}:\n"
                f"{self._block(inner, function=function, loop=loop)}"
                f"{pad}finally:\n{pad}    {self._expr()}\n"
            ),
            lambda: f"{pad}with {self._expr()} as {self._name()}:\n{self._block(inner, function=function, loop=loop)}",
            lambda: (
                f"{pad}match {self._expr()}:\n{pad}    case {pick.choice(['0', '[a, *b]', '{1: c}', 'A(x=1)'])}:\n"
                f"{self._block(inner + 1, function=function, loop=loop)}{pad}    case _:\n"
                f"{self._block(inner + 1, function=function, loop=loop)}"
            ),
            lambda: self._definition(depth),
        ]
        return pick.choice(compound)()

    def _target(self) -> str:
        name = self._name()
        return self._pick.choice([name, name, f"{name}.a", f"{name}[0]", f"({name}, y)", f"self.{name}"])

    # ------------------------------------------------------------------ expressions
    def _expr(self, depth: int = 0) -> str:
        pick = self._pick
        if depth > 3 or pick.random() < 0.3:
            return pick.choice([self._name(), "0", "None", "True", "'text'", "rank == 0", "1.5", "...", "b'x'"])
        a, b = self._expr(depth + 1), self._expr(depth + 1)
        if pick.random() < 0.5:
            call = pick.choice(_CALLS)
            return call.format(*([f"({a})", f"({b})", self._name()]))
        return pick.choice([
            f"({a}) + ({b})", f"({a}) == ({b})", f"({a}) is not None", f"not ({a})", f"({a}) and ({b})",
            f"({a}) or ({b})", f"({a}) if ({b}) else {self._name()}", f"[{a}, {b}]", f"({a}, {b})",
            f"{{{self._name()}: {a}}}",
            f"{{{a}, {b}}}", f"[i for i in ({a}) if ({b})]", f"{{k: v for k, v in ({a})}}", f"lambda z: ({a})",
            f"({a})[({b})]", f"({a})[1:-1]", f"({a}).shape[0]", "f'{rank} {rank!r:>{y}}'", f"(w := ({a}))",
            f"({a}) in ({b})", f"-({a})", f"({a}) < ({b}) <= 3", f"any(({a}) for q in ({b}))", f"({a}).{self._name()}",
        ])  # fmt: skip


def mutated(text: str, pick: random.Random) -> str:
    """The text after a few accidents: lines and pieces dropped, doubled, moved, and characters put in."""
    for _ in range(pick.randint(1, 4)):
        text = _accident(text, pick)
    return text


def _accident(text: str, pick: random.Random) -> str:
    lines = text.split("\n")
    i, j = sorted(pick.randrange(len(lines) + 1) for _ in range(2))
    k = pick.randrange(len(text) + 1)
    accidents: list[Callable[[], str]] = [
        lambda: "\n".join(lines[:i] + lines[j:]),
        lambda: "\n".join(lines[:j] + lines[i:][:200]),
        lambda: "\n".join(lines[:i] + lines[j : j + 5] + lines[i:]),
        lambda: text[:k] + pick.choice(_ODD) + text[k:],
        lambda: text[:k] + text[k + pick.randint(1, 5) :],
        lambda: "\n".join(line if pick.random() < 0.9 else "    " + line for line in lines),
        lambda: text.replace(pick.choice(_NAMES), pick.choice(_NAMES)),
        lambda: text.replace("\n", pick.choice(["\r\n", "\r", "\n\n"])),
    ]
    return pick.choice(accidents)()


def settings(pick: random.Random) -> str:
    """A `pyproject.toml`, mostly with a section of ours."""
    keys = ["select", "ignore", "extend-select", "exclude", "models", "sharded", "min-confidence", "fix", "cache-dir",
            "output-format", "unsafe-fixes", "rules", "per-file-ignores", "unknown", "include", "src"]  # fmt: skip
    values = ["[]", '["FER102"]', '"auto"', "true", "1", "1.5", '"high"', '["["]', "{}", '{ FER102 = "x" }', '[["a"]]',
              '"../.."', '["**/*.py", "a\\u0000b"]', "1979-05-27", "[1, 'a']", '"nope"', "nan"]  # fmt: skip
    lines = ["[tool.ferrule-lint]" if pick.random() < 0.9 else "[tool]"]
    for _ in range(pick.randint(0, 4)):
        lines.append(f"{pick.choice(keys)} = {pick.choice(values)}")
    if pick.random() < 0.3:
        lines.append(f"[tool.ferrule-lint.rules.{pick.choice(['FER102', 'x', 'FER002'])}]\n"
                     f"{pick.choice(keys)} = {pick.choice(values)}")  # fmt: skip
    text = "\n".join(lines) + "\n"
    return mutated(text, pick) if pick.random() < 0.3 else text
