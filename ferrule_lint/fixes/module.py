"""What a fix has to know of the file around it: how it spells `torch.distributed`, and where helpers go."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import libcst as cst

from ferrule_lint.findings import Edit
from ferrule_lint.fixes.edits import insertion
from ferrule_lint.fixes.names import fresh, words
from ferrule_lint.fixes.parts import parts
from ferrule_lint.fixes.text import SourceText
from ferrule_lint.flagger.segments import Segment

Section = Literal["future", "standard", "third party", "own"]


@dataclass(frozen=True, slots=True)
class _Import:
    """A top-level import statement; `names` are (what is bound, what it stands for)."""

    first: int
    last: int
    module: str
    plain: bool
    section: Section
    names: tuple[tuple[str, str], ...]


class ModuleText:
    """A file as its top-level statements: imports, and the first definition."""

    def __init__(self, source: SourceText, parts: Sequence[Segment]) -> None:
        self.source = source
        self.taken = words(source.text)
        self.imports: list[_Import] = []
        #: what is bound -> what it stands for, of imports under a top-level `if` or `try`, which may not have happened
        self.optional: dict[str, str] = {}
        #: line of the first definition, with what belongs to it
        self.definition: int | None = None
        #: names of the functions of the module that reduce something themselves
        self.functions: list[str] = []
        for part in parts:
            if part.too_deep:
                continue
            if part.text.startswith(("import ", "from ")):
                self._read_import(part)
                continue
            if part.text.startswith(("if ", "try:")) and "import" in part.text:
                self._read_optional(part)
            if part.text.startswith("def ") and "all_reduce(" in part.text:
                self.functions.append(part.text[4:].partition("(")[0].strip())
            if self.definition is None and part.text.startswith(("def ", "class ", "@", "async ")):
                self.definition = _with_comments(source, part.first)

    def _read_import(self, part: Segment) -> None:
        body = cst.parse_module(part.text).body[:1]
        if not body or not isinstance(body[0], cst.SimpleStatementLine):
            return
        last = part.first + sum(len(cst.Module([]).code_for_node(one).splitlines()) for one in body[0].body) - 1
        for small in body[0].body:
            if isinstance(small, cst.Import):
                names = tuple(_alias(alias, "") for alias in small.names)
                module = small.names[0].evaluated_name
                self.imports.append(_Import(part.first, last, module, True, _section(module), names))
            elif isinstance(small, cst.ImportFrom):
                dots = "." * len(small.relative)
                module = dots + (cst.Module([]).code_for_node(small.module) if small.module else "")
                aliases = () if isinstance(small.names, cst.ImportStar) else small.names
                names = tuple(_alias(alias, module + ".") for alias in aliases)
                self.imports.append(_Import(part.first, last, module, False, _section(module), names))

    def _read_optional(self, part: Segment) -> None:
        """The imports of a top-level `if` or `try`; those for a type checker alone are none."""
        stack: list[cst.CSTNode] = [cst.parse_module(part.text)]
        while stack:
            node = stack.pop()
            if isinstance(node, cst.FunctionDef | cst.ClassDef):
                continue
            if isinstance(node, cst.If) and cst.Module([]).code_for_node(node.test).endswith("TYPE_CHECKING"):
                stack += [] if node.orelse is None else [node.orelse]
                continue
            if isinstance(node, cst.Import):
                self.optional.update(_alias(alias, "") for alias in node.names)
            elif isinstance(node, cst.ImportFrom) and not node.relative and node.module is not None:
                prefix = cst.Module([]).code_for_node(node.module) + "."
                aliases = () if isinstance(node.names, cst.ImportStar) else node.names
                self.optional.update(_alias(alias, prefix) for alias in aliases)
            stack += parts(node)

    def spelled(self, target: str) -> str | None:
        """How the file can say `target` ("torch", "torch.distributed"); None if it imports no such thing."""
        known = {stands: bound for bound, stands in self.optional.items()}
        known.update((stands, bound) for one in self.imports for bound, stands in one.names)
        if target in known:
            return known[target]
        # `import torch.nn` and `import torch` both bind torch, and torch loads its distributed part
        root, _, rest = target.partition(".")
        if root in known:
            return f"{known[root]}.{rest}" if rest else known[root]
        return None

    def says(self, text: str, target: str) -> bool:
        """Whether `text` is one of the ways in which the file can say `target`: it may import it more than once, and
        `import torch` binds what is below torch as well."""
        bound = [(name, stands) for one in self.imports for name, stands in one.names]
        ways = [name + target[len(stands) :] for name, stands in bound if f"{target}.".startswith(f"{stands}.")]
        return text in ways or text == self.spelled(target)

    def import_of(self, module: str) -> Edit | None:
        """The edit that adds `import module` where isort would put it; None if there is no good place."""
        line = f"import {module}\n"
        section = _section(module)
        own = [one for one in self.imports if one.section == section]
        if own:
            after = [one for one in own if one.plain and one.module < module]
            if after:
                return insertion(after[-1].last + 1, line)
            return insertion(own[0].first, line)
        order: list[Section] = ["future", "standard", "third party", "own"]
        earlier = [one for one in self.imports if order.index(one.section) < order.index(section)]
        if earlier:
            return insertion(earlier[-1].last + 1, "\n" + line)
        if self.imports:
            return insertion(self.imports[0].first, line + "\n")
        return None

    def written(self, name: str, template: str) -> str | None:
        """The name of a helper that an earlier fix has written into the file."""
        torch = self.spelled("torch")
        if torch is None:
            return None
        dist = self.spelled("torch.distributed") or f"{torch}.distributed"
        names = (name, *(f"{name}_{number}" for number in range(2, 5)))
        return next((one for one in names if self._holds(template.format(name=one, torch=torch, dist=dist))), None)

    def helper(self, name: str, template: str) -> tuple[str, tuple[Edit, ...]] | None:
        """The name by which a helper can be called, and the edits that write it into the file.

        `template` is the function's source, with `{name}`, `{torch}` and `{dist}` in it. If the file has that very
        function already there are no edits. None if there is no place for it.
        """
        known = self.written(name, template)
        if known is not None:
            return known, ()
        edits: list[Edit] = []
        torch, dist = self.spelled("torch"), self.spelled("torch.distributed")
        if torch is None:
            added = self.import_of("torch")
            if added is None or "torch" in self._bound():
                return None
            edits.append(added)
            torch = "torch"
        dist = dist or f"{torch}.distributed"
        if self.definition is None:
            return None
        free = fresh(name, self.taken)
        text = template.format(name=free, torch=torch, dist=dist)
        return free, (*edits, insertion(self.definition, text + "\n\n"))

    def _holds(self, text: str) -> bool:
        return text in self.source.text.replace("\r\n", "\n")

    def _bound(self) -> set[str]:
        return {bound for one in self.imports for bound, _ in one.names} | set(self.optional)


def _alias(alias: cst.ImportAlias, prefix: str) -> tuple[str, str]:
    name = alias.evaluated_name
    if alias.evaluated_alias:
        return alias.evaluated_alias, prefix + name
    # `import a.b` binds a
    return (name, prefix + name) if prefix else (name.partition(".")[0], name.partition(".")[0])


def _section(module: str) -> Section:
    root = module.partition(".")[0]
    if root == "__future__":
        return "future"
    if module.startswith("."):
        return "own"
    return "standard" if root in sys.stdlib_module_names else "third party"


def _with_comments(source: SourceText, line: int) -> int:
    """`line`, or the first line of the comments above it: those right above, and the heading of a section."""
    while line > 1 and source.line(line - 1).startswith("#"):
        line -= 1
    above = line - 1
    while above > 0 and not source.line(above).strip():
        above -= 1
    first = above
    while first > 0 and source.line(first).startswith("#"):
        first -= 1
    heading = [source.line(number) for number in range(first + 1, above + 1)]
    return first + 1 if any(_RULE.fullmatch(one) for one in heading) else line


#: a line that is drawn above or below the heading of a section
_RULE = re.compile(r"#+\s*([-=*#~_])\1{4,}\s*#*\s*")
