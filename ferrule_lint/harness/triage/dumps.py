"""Flight Recorder dumps: pickle (as torch writes at a watchdog's timeout) or JSON, one file a rank.

A dump is data from another machine. The pickle may hold plain values only: one that asks for any class or function is
refused before it is called.
"""

from __future__ import annotations

import io
import json
import pickle
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ferrule_lint.harness.errors import HarnessError
from ferrule_lint.harness.events import Event, Site, Spec

#: bytes of one dump
LARGEST_DUMP = 1 << 30

#: names of the backends' profilers -> names of torch.distributed
_NAMES = {
    "_all_gather_base": "all_gather_into_tensor",
    "_allgather_base": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "all_reduce_barrier": "barrier",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all_single",
}
#: what these put in may differ between ranks
_OWN_SIZES = ("all_to_all", "all_to_all_single", "scatter", "gather", "all_gather_coalesced", "coalesced")
_P2P = re.compile(r"(send|recv)\s+(\d+)\s*(?:->|<-)\s*(\d+)")
_DTYPES = {"Float": "float32", "Double": "float64", "Half": "float16", "Long": "int64", "Int": "int32"}
_FOREIGN = ("/site-packages/", "/dist-packages/", "/lib/python3")


@dataclass(frozen=True, slots=True)
class Entry:
    """One recorded operation. `state` is "scheduled", "started" or "completed"; `retired` ones are done in any case."""

    event: Event
    state: str
    retired: bool

    @property
    def is_done(self) -> bool:
        return self.retired or self.state == "completed"


@dataclass(frozen=True, slots=True)
class Dump:
    """One rank's entries in the order of recording, and the global ranks of the groups that it knows."""

    rank: int
    path: str
    entries: tuple[Entry, ...]
    groups: dict[str, tuple[int, ...]]


class _Plain(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"it asks for {module}.{name}, and a dump holds plain values only")

    def persistent_load(self, pid: Any) -> Any:
        raise pickle.UnpicklingError("it refers to objects outside of it")


def read_dumps(paths: Iterable[Path]) -> list[Dump]:
    """The dumps of all files (of a folder: all files in it), by rank. HarnessError names what is wrong with which."""
    files: list[Path] = []
    for path in paths:
        files += sorted(one for one in path.iterdir() if one.is_file()) if path.is_dir() else [path]
    dumps: dict[int, Dump] = {}
    for file in files:
        dump = read_dump(file)
        if dump.rank in dumps:
            raise HarnessError(f"{file}: rank {dump.rank} was read from {dumps[dump.rank].path} already")
        dumps[dump.rank] = dump
    if not dumps:
        raise HarnessError("there are no dumps")
    known: dict[str, set[int]] = {}
    for dump in dumps.values():
        for entry in dump.entries:
            known.setdefault(entry.event.group, set()).add(dump.rank)
    return [_with_members(dumps[rank], dumps, known) for rank in sorted(dumps)]


def read_dump(path: Path) -> Dump:
    """One rank's dump; its rank is the last number in the file's name."""
    numbers = re.findall(r"\d+", path.name.split(".")[0]) or re.findall(r"\d+", path.name)
    if not numbers:
        raise HarnessError(f"{path}: the file's name does not end with the rank, as in nccl_trace_rank_0")
    rank = int(numbers[-1])
    values = _values(path)
    try:
        groups = {
            str(config.get("name") or name): tuple(json.loads(config["ranks"]))
            for name, config in values.get("pg_config", {}).items()
            if config.get("ranks") not in (None, "", "[]")
        }
        entries = tuple(_entries(values["entries"], rank))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise HarnessError(f"{path}: not a Flight Recorder dump ({type(error).__name__}: {error})") from None
    return Dump(rank, str(path), entries, groups)


def _values(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > LARGEST_DUMP:
            raise HarnessError(f"{path}: larger than {LARGEST_DUMP >> 20} MiB")
        data = path.read_bytes()
    except OSError as error:
        raise HarnessError(f"{path}: {error.strerror}") from None
    try:
        values = json.loads(data) if data.lstrip()[:1] == b"{" else _Plain(io.BytesIO(data)).load()
    except pickle.UnpicklingError as error:
        raise HarnessError(f"{path}: the pickle is refused: {error}") from None
    except Exception as error:
        raise HarnessError(f"{path}: neither pickle nor JSON ({type(error).__name__}: {error})") from None
    if not isinstance(values, dict) or "entries" not in values:
        raise HarnessError(f"{path}: not a Flight Recorder dump: it has no entries")
    return values


def _entries(recorded: list[dict[str, Any]], rank: int) -> Iterable[Entry]:
    seen: set[tuple[str, int]] = set()
    for index, values in enumerate(recorded):
        group = str(values["process_group"][0])
        name = values["profiling_name"].partition(":")[2] or values["profiling_name"]
        p2p = _P2P.match(name)
        sequence = int(values["collective_seq_id"])
        if p2p is None and (group, sequence) in seen:
            # the parts of a coalesced operation share its number
            continue
        seen.add((group, sequence))
        op = p2p[1] if p2p else _NAMES.get(name.lower(), name.lower())
        sizes = values["output_sizes"] if op == "recv" else values["input_sizes"]
        dtypes = values["output_dtypes"] if op == "recv" else values["input_dtypes"]
        pairs = zip(dtypes, sizes, strict=False)
        tensors = tuple(Spec(_DTYPES.get(dtype, dtype.lower()), tuple(size)) for dtype, size in pairs)
        event = Event(
            rank=rank,
            index=index,
            kind=op if p2p else "collective",
            op=op,
            group=group,
            members=(),
            seq=-1 if p2p else sequence,
            tensors=() if op in _OWN_SIZES or op == "barrier" else tensors,
            # positions in the group until its members are known
            root=int(p2p[3]) if p2p else -1,
            stack=_stack(values.get("frames") or ()),
        )
        yield Entry(event, str(values["state"]), bool(values.get("retired")))


def _stack(frames: Iterable[dict[str, Any]]) -> tuple[Site, ...]:
    """The user's frames, innermost first, by what installed files are called anywhere."""
    sites = [Site(frame["filename"], int(frame["line"]), frame["name"]) for frame in frames]
    own = [site for site in sites if site.path[:1] != "<" and not any(part in site.path for part in _FOREIGN)]
    return tuple((own or sites)[:6])


def _with_members(dump: Dump, dumps: dict[int, Dump], known: dict[str, set[int]]) -> Dump:
    """Fill in the members of each group: as configured, else the ranks whose dumps mention it."""
    entries = []
    for entry in dump.entries:
        event = entry.event
        configured = next((one.groups[event.group] for one in dumps.values() if event.group in one.groups), ())
        members = configured or tuple(sorted(known[event.group]))
        root = members[event.root] if event.is_p2p and 0 <= event.root < len(members) else event.root
        entries.append(replace(entry, event=replace(event, members=members, root=root)))
    return replace(dump, entries=tuple(entries))
