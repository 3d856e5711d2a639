"""Files that one rank writes and all ranks look for, in one function.

By itself a test of a file is a weak source: most of the time all ranks see the same disk. Where the same code writes
files under a rank guard, itself or by a function that it passes the path to, ranks may look before or after. Once a
collective came after the write all of them look after, and where one comes between a test and the write all of them
have looked before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Step
from ferrule_lint.semantics.domain.conditions import Formula, atoms, implied
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import last_name, place_name, render
from ferrule_lint.semantics.sources.new_folders import only_looks_inside

#: calls that write files, by name
_WRITES = frozenset(
    "write_text write_bytes save_pretrained to_parquet to_csv rename copyfile "
    "copytree rmtree symlink snapshot_download hf_hub_download extractall".split()
)
#: calls that make a folder, with nothing in it
_MAKES_FOLDERS = frozenset("mkdir makedirs mkdirs".split())
#: calls that make or take away one folder or one file, whose path they are given or called on
_MAKES = _MAKES_FOLDERS | frozenset("touch unlink".split())
#: calls whose names do not tell what is written: only the path that is looked for counts
_WRITES_TO = _MAKES | frozenset(
    "save savez save_file open write dump remove replace move copy download download_url download_file "
    "download_url_to_file urlretrieve".split()
)
#: calls that save something, by their names
_SAVES = re.compile(r"save|checkpoint|export|dump|store(?!d)|write", re.IGNORECASE)
#: calls that take something up again, judge it, or only say where it lies or what it is
_SAVES_NOTHING = re.compile(
    r"load|restore|resume|read|(^|_)(eval|evaluate|validate|test|infer|predict|poll|watch|wait)(_|$)|"
    r"(^|_)(find|scan|search|list|get|is|has|latest|name|path|type)(_|$)",
    re.IGNORECASE,
)
_TESTS = frozenset({"exists", "lexists", "isfile", "isdir", "is_file", "is_dir"})
#: calls that tell something of a path, by their names
_TELLS = re.compile(r"_*(is|has|check|contains|can|may|was)_")

#: what a path is called that the run was given, to begin with what lies there: what it writes lies elsewhere
_GIVEN = re.compile(r"(model_|pretrained_)?name_or_path|resume(_from)?(_checkpoint|_path|_dir|_file)?|init_checkpoint")

#: what a file is called that somebody makes while the program runs, to tell it something
_SIGN = re.compile(
    r"(?<![a-z])(kill_?switch|trigger|stop|quit|abort|halt|pause|terminate|preempt(ed|ion)?|interrupt(ed)?)(?![a-z])(?!_?(words?|tokens?|ids?)(?![a-z]))"
    r"|(?<![a-z])(exit|save|signal|sentinel|flag)_(file|flag|signal)(?![a-z])",
    re.IGNORECASE,
)


#: what the file is called as well in which somebody saves something
_SAVED_IN = re.compile(r"(.*\.)?_?save_file", re.IGNORECASE)


def gives_a_sign(call: f.Call, meaning: Callable[[f.Expr], f.Expr], body: f.Body) -> bool:
    """Whether a call looks for a file by which somebody tells the program something (`stop_file.exists()`): that comes
    between the looks of two ranks, whatever disk they share. `meaning` tells what a name was last assigned; `body` is
    where the call stands: what that hands on as the file to save in (`write(video, save_file)`) is no sign."""
    path = _path_of(call)
    if path is None or not any(_SIGN.search(render(p)) for p in (path, meaning(path))):
        return False
    return _SAVED_IN.fullmatch(render(path)) is None or not _is_handed_on(render(path), body)


def _is_handed_on(path: str, body: f.Body) -> bool:
    """Whether a call is handed a path for more than to look for it, or to take it away."""
    calls = (node for node in walk(body) if type(node) is f.Call and last_name(node.func) not in _TESTS | _TAKES_AWAY)
    return any(render(e) == path for c in calls for e in (*c.args, *(value for _, value in c.keywords)))


def _path_of(call: f.Call) -> f.Expr | None:
    """What a test asks for."""
    if last_name(call.func) not in _TESTS:
        return None
    return call.args[0] if call.args else call.func.base if type(call.func) is f.Attr else None


def _folders_around(made: f.Expr) -> tuple[f.Expr, ...]:
    """The folders in which a path lies, as it is put together: `os.path.join(folder, "last.pt")`, `folder + name`."""
    if type(made) is f.Call and last_name(made.func) == "join":
        return made.args[:-1]
    return _put_together(made)[:-1]


def _put_together(made: f.Expr) -> tuple[f.Expr, ...]:
    """What a path is put together of by hand: `folder + "/" + name`, `folder / name`."""
    if type(made) is not f.Op or made.kind not in ("Add", "Div"):
        return ()
    first, *others = made.operands
    return (*(_put_together(first) or (first,)), *others)


def may_write(call: f.Call) -> bool:
    """Whether a call by its name writes files."""
    name = last_name(call.func)
    if name in _LOADS_INTO:
        return any(keyword == "model_dir" for keyword, _ in call.keywords)
    return name in _WRITES or (name in _WRITES_TO and not (name == "open" and _only_reads(call)))


def _written(call: f.Call) -> tuple[f.Expr, ...]:
    """The arguments of a call that may be what it writes: not what it copies or downloads from."""
    if last_name(call.func) in _LOADS_INTO:
        return tuple(value for keyword, value in call.keywords if keyword == "model_dir")
    told = len(call.args) + len(call.keywords)
    return call.args[1:] if told > 1 and last_name(call.func) in _TAKES_FROM else call.args


#: calls that leave what they load in a folder that they are told (https://docs.pytorch.org/docs/stable/hub.html)
_LOADS_INTO = frozenset({"load_state_dict_from_url", "load_url"})

#: calls that are told first what they write from, and leave that as it is
_TAKES_FROM = frozenset(
    "copy copyfile copytree download download_url download_file download_url_to_file urlretrieve".split()
)

#: calls that take away what they are given, or move it
_TAKES_AWAY = frozenset("rmtree unlink remove rename replace move".split())


def _is_made_into(path: f.Expr, behind: Iterable[f.Expr], meaning: Callable[[f.Expr], f.Expr]) -> bool:
    """Whether one of the arguments behind a path is another that is made of it: `convert(path, path + ".pt")`."""
    if type(path) is not f.Name and type(path) is not f.Attr:
        return False
    text = render(path)
    return any(
        render(b) != text and any(type(node) is type(path) and render(node) == text for node in walk(meaning(b)))
        for b in behind
    )


def _only_reads(call: f.Call) -> bool:
    """Whether a file is opened to be read: `open(path)`, `open(path, "rb")`, `path.open()`."""
    place = 0 if _is_path(call) else 1
    modes = [*call.args[place : place + 1], *(value for name, value in call.keywords if name == "mode")]
    return all(type(mode) is f.Const and not _CHANGES.search(mode.text) for mode in modes)


def _is_path(opened: f.Call) -> bool:
    """Whether a path is asked to open itself: `path.open("w")`; `files.open(path, "rb")` is told the path."""
    if type(opened.func) is not f.Attr or place_name(opened.func.base) in _OPENERS:
        return False
    first = opened.args[0] if opened.args else None
    return first is None or (type(first) is f.Const and _MODE.fullmatch(first.text) is not None)


#: modules whose `open` takes the path first, as the builtin does
_OPENERS = frozenset("io gzip bz2 lzma codecs builtins aiofiles fsspec tarfile zipfile os np smart_open".split())
_MODE = re.compile(r"""['"][rwaxbt+]*['"]""")
#: modes in which a file is written
_CHANGES = re.compile(r"[wax+]")

#: tests that ask how far a number has come (`epoch < n`, `step % every == 0`): it may come out of the file that was
#: looked for, and does not tell who has found that
_COUNTS = re.compile(r" (<=?|%) ")
#: tests that compare what was set, of which nobody knows for which outcome that was (`kind == "file"`)
_COMPARES = re.compile(r" (<=?|%|==|is|in) ")


class Files:
    """What a function tests and writes, in the order of its text."""

    __slots__ = (
        "_around", "_awaited", "_by_all", "_by_one", "_folders", "_given", "_keys", "_looks", "_met", "_open", "_paths",
        "_raced", "_something", "_tested", "_waited_for",
    )  # fmt: skip

    #: what is collected in it
    COLLECTED = (
        "_around", "_awaited", "_by_all", "_by_one", "_folders", "_given", "_keys", "_looks", "_open", "_paths",
        "_raced", "_tested",
    )  # fmt: skip

    def __init__(self) -> None:
        #: tests after which ranks have not met: the source, and what the tested path is made of
        self._open: dict[Step, frozenset[str]] = {}
        #: the source of a test -> the folders in which what is looked for lies: who makes one makes nothing in it
        self._around: dict[Step, frozenset[str]] = {}
        #: the source of a test -> the path it asked for when it was last walked
        self._keys: dict[Step, str] = {}
        #: the tests of what the run was given
        self._given: set[Step] = set()
        #: which value was tested as a path -> why ranks differ in that
        self._tested: dict[str, Divergence] = {}
        self._paths: set[str] = set()
        #: the same of folders that were made with nothing in them
        self._folders: set[str] = set()
        #: the tests of a folder behind which somebody only looks for what is in it
        self._looks: set[Step] = set()
        self._something = False
        self._waited_for = False
        self._raced: set[Step] = set()
        #: what is written by whoever comes here, and what under a rank guard before ranks meet: texts of arguments
        self._by_all: set[str] = set()
        self._by_one: set[str] = set()
        self._met = False
        #: the tests behind which those that found something have waited for all others
        self._awaited: set[Step] = set()

    def test(
        self,
        name: str,
        call: f.Call,
        divergence: Divergence,
        meaning: Callable[[f.Expr], f.Expr],
        key: Callable[[f.Expr], str],
        around: tuple[f.Body, Collection[str]],
    ) -> None:
        """A call that asks about the file system; `meaning` tells what a name was last assigned, `key` which value of
        each name an expression asks for. It stands in a body of a function that is given these: `around`."""
        source = divergence.why
        path = _path_of(call) if name in _TESTS else None
        if path is None:
            return
        made = meaning(path)
        parts = (path, made, *(made.args if type(made) is f.Call else _put_together(made)))
        texts = frozenset(render(p) for p in parts if p is path or type(p) is not f.Const)
        around_it = frozenset(render(p) for p in _folders_around(made))
        known = key(path)
        if type(made) is not f.Call and _GIVEN.fullmatch(last_name(made)):
            self._given.update(source)
        looks = only_looks_inside(*around, call, path)
        there = self._paths if looks else self._paths | (self._folders - around_it)
        for step in source:
            # in another round of a loop another path, of which nothing has been written yet
            again = self._keys.get(step, known) != known
            something = self._something and step not in self._given
            if not again and not self._waited_for and (something or not there.isdisjoint(texts)):
                self._raced.add(step)
            if looks:
                self._looks.add(step)
            self._keys[step] = known
            self._open[step] = texts
            self._around[step] = around_it
        self._tested[known] = divergence

    def looked_at_again(self, call: f.Call, key: Callable[[f.Expr], str]) -> Divergence | None:
        """Why ranks differ in what a call by its name tells of a path that has been tested: `path.is_dir() and
        is_complete(path)`."""
        if not self._tested or _TELLS.match(last_name(call.func)) is None:
            return None
        return next((found for a in call.args if (found := self._tested.get(key(a))) is not None), None)

    def write(self, call: f.Call, meaning: Callable[[f.Expr], f.Expr], conditions: Sequence[Formula] = ()) -> None:
        """A call that `may_write`, under a rank guard and these conditions; `meaning` tells what a name was set to."""
        name = last_name(call.func)
        # what has been found, and is not taken away before all have come who found it, is there for whoever looks later
        found = self._outcomes(conditions, _COMPARES)
        there = {step for step in self._open if found.get(step) and (name not in _TAKES_AWAY or step in self._awaited)}
        if name in _WRITES:
            self._something, self._waited_for = True, False
        written = {render(e) for a in _written(call) for e in (a, meaning(a))}
        on_path = (name in _MAKES and not call.args) or (name == "open" and _is_path(call))
        if on_path and type(call.func) is f.Attr:
            written.add(render(call.func.base))
        self._write_to(written, there | self._looks if name in _MAKES_FOLDERS else there, name in _MAKES_FOLDERS)
        if name in _WRITES:
            self._raced.update(step for step in self._open if step not in self._given and step not in there)

    def _write_to(self, written: set[str], there: Collection[Step] = (), folders: bool = False) -> None:
        if folders:
            self._folders |= written
        else:
            self._paths |= written
        self._waited_for = False
        none: frozenset[str] = frozenset()
        self._raced.update(
            step
            for step, made in self._open.items()
            if step not in there and not written.isdisjoint(made - (self._around.get(step, none) if folders else none))
        )
        if not self._met:
            self._by_one |= written

    def write_by_all(self, call: f.Call) -> None:
        """A call that writes, under no rank guard: under that of a caller it may be."""
        self._by_all |= {render(a) for a in _written(call)}

    def told_to_callers(self, parameters: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
        """The parameters that are paths which some rank writes to before ranks meet, and those to which all do."""
        names = frozenset(parameters)
        return names & self._by_one or NOTHING, names & self._by_all or NOTHING

    def after_call(self, by_one: Iterable[f.Expr], by_all: Iterable[f.Expr], guarded: bool) -> None:
        """A call of a function that writes to these arguments; `guarded`: under a rank guard."""
        one, every = {render(e) for e in by_one}, {render(e) for e in by_all}
        if guarded:
            one |= every
        else:
            self._by_all |= every
        if one:
            self._write_to(one)

    def save(self, call: f.Call, meaning: Callable[[f.Expr], f.Expr], conditions: Sequence[Formula] = ()) -> None:
        """A call that all ranks make to save something together: who comes late finds what the others have saved.

        A path that it is given with another behind it that is made of it is read, unless the `conditions` say that
        there is none."""
        if not self._open:
            return
        name = last_name(call.func)
        makes = name.lstrip("_")[:1].isupper()  # an object that is to save later: `Checkpointer(path)`
        if not makes and _SAVES.search(name) and not _SAVES_NOTHING.search(name):
            arguments = (*call.args, *(value for _, value in call.keywords))
            saved = {render(e) for a in arguments for e in (a, meaning(a)) if type(e) is not f.Const}
            read = {render(a) for i, a in enumerate(call.args) if _is_made_into(a, call.args[i + 1 :], meaning)}
            found = self._outcomes(conditions, _COMPARES) if read else {}
            self._raced.update(
                step
                for step, made in self._open.items()
                if not (saved - read if found.get(step, True) else saved).isdisjoint(made)
            )

    def collective(self, conditions: Sequence[Formula]) -> None:
        """Ranks have waited for each other, so that all of them have asked before: but for those that found the file,
        where only who has found it comes here."""
        self._met = True
        self._waited_for = self._something or bool(self._paths or self._folders)
        self._tested = {}
        if not self._open:
            return
        outcomes = self._outcomes(conditions, _COUNTS)
        self._awaited |= {step for step, found in outcomes.items() if found}
        self._open = {step: made for step, made in self._open.items() if outcomes.get(step) is True}

    def _outcomes(self, conditions: Sequence[Formula], but: re.Pattern[str]) -> dict[Step, bool]:
        """The tests whose outcome these conditions tell, `but` those by their texts: whether the file was found."""
        outcomes: dict[Step, bool] = {}
        for formula in conditions if self._open else ():
            holds = implied(formula, True)
            for atom in atoms(formula):
                told = atom.divergence is not None and atom.key in holds and but.search(atom.key) is None
                if told and atom.divergence is not None and atom.divergence.why:
                    outcomes[atom.divergence.why[0]] = holds[atom.key]
        return outcomes

    def suspicious(self) -> frozenset[Step]:
        """The tests whose outcome the function's own writes may change."""
        return frozenset(self._raced)
