"""From a verdict and the books to a divergence that can be shown: classes of ranks, the table, the parting line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ferrule_lint.harness.divergence import VALUES, Behaviour, Divergence, Parting, Row
from ferrule_lint.harness.events import Event, Site
from ferrule_lint.harness.ledger import Key, key_of
from ferrule_lint.harness.matching import mismatch
from ferrule_lint.harness.origin import Origin, View, origin
from ferrule_lint.harness.parting import Line, lines_between, out_of_step, part
from ferrule_lint.harness.sources import lines_of
from ferrule_lint.harness.supervisor import Ending, Supervisor, Verdict, Where

#: rows shown before and after the first difference
ROWS_BEFORE, ROWS_AFTER = 3, 2
#: stretches between shared operations that are searched for the line at which the ranks parted
MOST_STRETCHES = 16
#: behaviours whose ways are compared
MOST_COMPARED = 6

Segments = Sequence[tuple[int, Sequence[Line]]]


def explain(
    supervisor: Supervisor,
    where: Mapping[int, Where] | None = None,
    flows: Mapping[int, Segments] | None = None,
    latency: float = 0.0,
) -> Divergence | None:
    """The divergence behind the supervisor's verdict; None if there is none."""
    verdict = supervisor.verdict
    if verdict is None:
        return None
    return _Explanation(supervisor, verdict, where or {}, flows or {}).build(latency)


class _Explanation:
    def __init__(
        self, supervisor: Supervisor, verdict: Verdict, where: Mapping[int, Where], flows: Mapping[int, Segments]
    ) -> None:
        self._supervisor, self._verdict, self._where, self._flows = supervisor, verdict, where, flows
        self._key = self._choose_key()
        #: the event of each rank at the place of the difference
        self._events = self._events_there()
        self._ranks = self._choose_ranks()

    def build(self, latency: float) -> Divergence:
        behaviours = self._behaviours()
        # where a time limit finds the ranks says little about where they parted
        parting, before = (None, None) if self._verdict.kind == "timeout" else self._partings(behaviours)
        cause = None if parting or before else self._origin(behaviours)
        group, members, _ = self._key or ("", tuple(self._ranks), 0)
        return Divergence(
            kind=self._verdict.kind,
            text=self._verdict.text,
            group=group,
            members=members,
            matched=self._supervisor.ledger.matched.get((group, members), 0),
            behaviours=behaviours,
            rows=self._rows(behaviours),
            parting=parting,
            out_of_step=before,
            origin=cause,
            latency=latency,
        )

    def _choose_key(self) -> Key | None:
        """The collective that the verdict is about, if it is about one."""
        keys = [key_of(event) for event in self._verdict.events if not event.is_p2p]
        if not keys or any(event.is_p2p for event in self._verdict.events):
            return None
        if self._verdict.kind in ("deadlock", "stall", "timeout") and len(set(keys)) > 1:
            return None
        return keys[0]

    def _events_there(self) -> dict[int, Event]:
        if self._key is None:
            return {event.rank: event for event in reversed(self._verdict.events)}
        logs = self._supervisor.logs
        found = {}
        for rank in self._members():
            event = next((one for one in reversed(logs[rank]) if key_of(one) == self._key), None)
            if event is not None:
                found[rank] = event
        return found

    def _members(self) -> list[int]:
        """The members of the group in question that there are: a program may ask for more ranks than it has."""
        assert self._key is not None
        return [rank for rank in self._key[1] if 0 <= rank < self._supervisor.world]

    def _choose_ranks(self) -> list[int]:
        if self._key is not None:
            return self._members()
        concerned = set(self._events) | set(self._verdict.absent)
        if self._verdict.kind in ("deadlock", "stall", "timeout"):
            concerned |= set(self._supervisor.live)
        return sorted(concerned)

    def _behaviours(self) -> tuple[Behaviour, ...]:
        """Ranks that did the same, those that issued something first."""
        grouped: dict[Behaviour, list[int]] = {}
        for rank in self._ranks:
            event = self._events.get(rank)
            found = self._issued(event) if event is not None else self._absent(rank)
            grouped.setdefault(found, []).append(rank)
        listed = [
            Behaviour(tuple(ranks), one.doing, one.issued, one.stack, one.api, one.module, one.last, one.error)
            for one, ranks in grouped.items()
        ]
        return tuple(sorted(listed, key=lambda one: (not one.issued, one.ranks)))

    @staticmethod
    def _issued(event: Event) -> Behaviour:
        return Behaviour((), str(event), True, event.stack, event.api, event.module)

    def _absent(self, rank: int) -> Behaviour:
        log = self._supervisor.logs[rank]
        last = log[-1] if log else None
        ending = self._supervisor.endings.get(rank)
        stack: tuple[Site, ...] = ()
        if ending is not None:
            doing = str(ending)
            stack = (ending.site,) if ending.site else ()
        elif rank in self._where:
            place = self._where[rank]
            doing = "is in its own code" if place.state == "user" else "waits elsewhere"
            stack = _user_part(place.stack)
        else:
            doing = "never issued it"
        held = [event for (one, _), event in self._supervisor.held.items() if one == rank]
        if held:
            doing, stack = f"waits in {held[0]}", held[0].stack
        shown = "" if last is None or held else f"{last}{_at(last)}"
        return Behaviour((), doing, False, stack, "", "", shown, _last_lines(ending))

    def _rows(self, behaviours: tuple[Behaviour, ...]) -> tuple[Row, ...]:
        return self._rows_of_group(behaviours) if self._key is not None else self._rows_of_logs(behaviours)

    def _rows_of_group(self, behaviours: tuple[Behaviour, ...]) -> tuple[Row, ...]:
        """The group's collectives by sequence number around the difference."""
        assert self._key is not None
        group, members, seq = self._key
        tables = []
        for behaviour in behaviours:
            log = self._supervisor.logs[behaviour.ranks[0]]
            near = (one for one in log if one.group == group and one.members == members and not one.is_p2p)
            tables.append({one.seq: one for one in near if seq - ROWS_BEFORE <= one.seq <= seq + ROWS_AFTER})
        rows = []
        for number in range(max(0, seq - ROWS_BEFORE), seq + ROWS_AFTER + 1):
            events = [table.get(number) for table in tables]
            if not any(events):
                continue
            agrees = all(one is not None and events[0] is not None and not mismatch(events[0], one) for one in events)
            rows.append(
                Row(f"#{number}", tuple("" if one is None else str(one) for one in events), agrees and number < seq)
            )
        return tuple(rows)

    def _rows_of_logs(self, behaviours: tuple[Behaviour, ...]) -> tuple[Row, ...]:
        """Nothing to align by: the last operations of each, in its own order."""
        tails = [list(self._supervisor.logs[one.ranks[0]])[-ROWS_BEFORE - 1 :] for one in behaviours]
        height = max((len(tail) for tail in tails), default=0)
        rows = []
        for back in range(height, 0, -1):
            cells = tuple(f"{tail[-back]}{_group_note(tail[-back])}" if len(tail) >= back else "" for tail in tails)
            rows.append(Row("now" if back == 1 else f"-{back - 1}", cells, back > 1))
        return tuple(rows)

    def _partings(self, behaviours: tuple[Behaviour, ...]) -> tuple[Parting | None, Parting | None]:
        """Where the ranks parted since the last shared operation, and where they had fallen out of step before.

        One rank of each behaviour is compared with one of each that does not fit it; the pair that had most in common
        tells. Out of step is a stretch between shared operations in which the one ran lines again that the other ran
        once: it has skipped the operations of a turn, and all that followed was paired with the wrong turn's.
        """
        last: tuple[int, Parting] | None = None
        before = None
        for one, other in self._pairs(behaviours):
            # without a line in common since the last shared operation, that one was paired by chance
            parted_before = not self._at_one_place(one, other)
            for back in range(MOST_STRETCHES):
                mine, theirs = self._stretch(one, back), self._stretch(other, back)
                if mine is None or theirs is None:
                    continue
                fork = part(mine, theirs)
                if fork is None:
                    parted_before = parted_before and (back > 0 or not mine or mine != theirs)
                    continue
                ways = tuple(tuple(Site(*at, "") for at in way) for way in (fork.one_way, fork.other_way))
                parting = Parting(Site(*fork.line, self._function_at(fork.line)), ways, (one, other))
                if back == 0 or parted_before:
                    last = max(last or (0, parting), (fork.shared, parting), key=lambda found: found[0])
                elif before is None and out_of_step(mine, theirs):
                    before = parting
                parted_before = False
        return last[1] if last else None, before

    def _origin(self, behaviours: tuple[Behaviour, ...]) -> Origin | None:
        """Where the ranks ran the same lines: the line that made the value in which two of them differ."""
        if self._verdict.kind not in VALUES:
            return None
        for one, other in self._pairs(behaviours):
            event = self._events.get(one)
            mine, theirs = self._where.get(one), self._where.get(other)
            if event is None or mine is None or theirs is None or not self._at_one_place(one, other):
                continue
            views = []
            for (here, values), (there, others) in zip(mine.frames, theirs.frames, strict=False):
                if here[:2] != there[:2]:
                    break
                source = "".join(lines_of(here.path))
                views.append(View(here.path, here.line, source, values, others))
            # the ranks are still at the call
            at_the_call = views and event.site is not None and (views[0].path, views[0].line) == event.site[:2]
            if at_the_call and (found := origin(views)):
                return replace(found, ranks=(one, other))
        return None

    def _at_one_place(self, one: int, other: int) -> bool:
        """Have the two issued their events from the same lines?"""
        mine, theirs = self._events.get(one), self._events.get(other)
        return mine is not None and theirs is not None and mine.stack == theirs.stack

    def _pairs(self, behaviours: tuple[Behaviour, ...]) -> list[tuple[int, int]]:
        """One rank each of two behaviours that do not fit each other."""
        ranks = [behaviour.ranks[0] for behaviour in behaviours[:MOST_COMPARED]]
        pairs = []
        for number, one in enumerate(ranks):
            for other in ranks[number + 1 :]:
                mine, theirs = self._events.get(one), self._events.get(other)
                if mine is None or theirs is None or self._key is None or mismatch(mine, theirs):
                    pairs.append((one, other))
        return pairs

    def _stretch(self, rank: int, back: int) -> list[Line] | None:
        """What the rank ran before the difference (`back` 0), or before the `back`-th shared operation before it."""
        segments = self._flows.get(rank)
        if not segments:
            return None
        shared = self._shared(rank)
        if back >= len(shared) + (not shared):
            return None
        if back == 0:
            event = self._events.get(rank)
            end = event.index if event is not None else None
            return lines_between(segments, shared[-1] if shared else -1, end)
        start = shared[-back - 1] if back < len(shared) else -1
        return lines_between(segments, start, shared[-back])

    def _shared(self, rank: int) -> list[int]:
        """The indices of the rank's events that the compared ranks have all issued before the difference, in order."""
        log = [one for one in self._supervisor.logs[rank] if not one.is_p2p]
        if self._key is None:
            common = {key_of(one) for one in log}
            for other in self._ranks:
                common &= {key_of(one) for one in self._supervisor.logs[other] if not one.is_p2p}
            open_now = set(self._supervisor.ledger.slots)
            return [one.index for one in log if key_of(one) in common - open_now]
        group, members, seq = self._key
        wide = {one.members for one in log if one.kind == "group" and set(one.members) >= set(members)}
        return [
            one.index
            for one in log
            if (one.group == group and one.members == members and one.seq < seq)
            # the start of groups is shared by all
            or (one.kind == "group" and one.members in wide and key_of(one) != self._key)
        ]

    def _function_at(self, line: Line) -> str:
        for log in self._supervisor.logs:
            for event in reversed(log):
                for site in event.stack:
                    if (site.path, site.line) == line:
                        return site.function
            break
        return ""


def _user_part(stack: Sequence[Site]) -> tuple[Site, ...]:
    """The frames from the first one on that is not torch's."""
    from ferrule_lint.harness.rank.sites import is_user

    return tuple(site for site in stack if is_user(site.path)) or tuple(stack[:1])


def _at(event: Event) -> str:
    return f" at {event.site.place}" if event.site else ""


def _group_note(event: Event) -> str:
    return "" if event.is_p2p or not event.group else f" on {event.group!r}"


def _last_lines(ending: Ending | None, most: int = 12) -> str:
    return "\n".join(ending.traceback.strip().splitlines()[-most:]) if ending else ""
