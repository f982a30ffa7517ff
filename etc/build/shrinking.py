"""Takes away from a life of the simulated world what it does not need to break the same law: time, destinations, and one thing
that happens after the other."""
from __future__ import annotations

import dataclasses
import sys

import simulated


@dataclasses.dataclass(frozen=True)
class Life:
    """Values of Tests/WorldTests/Life.swift, and the words that are not shrunk."""

    seconds: int | None = None
    destinations: int | None = None
    only: tuple[int, ...] | None = None
    fixed: str = ""

    @classmethod
    def of(cls, words: str) -> Life:
        values = dict(word.split("=", 1) for word in words.split() if "=" in word)
        fixed = " ".join(f"{name}={value}" for name, value in values.items() if name in ("format", "interval"))
        return cls(
            seconds=int(float(values["seconds"])) if "seconds" in values else None,
            destinations=int(values["destinations"]) if "destinations" in values else None,
            only=tuple(int(number) for number in values["only"].split(",") if number) if "only" in values else None, fixed=fixed)

    @property
    def words(self) -> str:
        values = [("seconds", self.seconds), ("destinations", self.destinations)]
        found = [f"{name}={value}" for name, value in values if value is not None]
        if self.only is not None:
            found.append(f"only={','.join(map(str, self.only))}")
        return " ".join([*found, self.fixed]).strip()

    def swift(self, seed: int) -> str:
        """As a scenario of WorldTests."""
        parts = [str(seed), f"seconds: {self.seconds}"]
        if self.destinations is not None:
            parts.append(f"destinations: {self.destinations}")
        if self.only is not None:
            parts.append(f"only: [{', '.join(map(str, self.only))}]")
        return f"Life({', '.join(parts)})"


@dataclasses.dataclass(frozen=True)
class End:
    """How a life ended: the law that it broke, without names and numbers; at which second; what had happened, by number."""

    law: str
    words: str
    seconds: int
    happenings: tuple[int, ...]


class Shrinking:
    """Lives of one seed, shorter and shorter."""

    def __init__(self, program: str, seed: int):
        self.program = program
        self.seed = seed
        self.tries = 0

    def end(self, life: Life) -> End | None:
        """nil when no law is broken."""
        self.tries += 1
        text, code = simulated.run(self.program, f"{self.seed}-{self.seed}", life=life.words)
        broken, ended = simulated.LAW.search(text), simulated.ENDED_SEED.search(text)
        if ended and not broken:
            return None
        words = broken[2] if broken else simulated.end(text, code)
        law = simulated.law(words)
        if not ended:
            return End(law, words, 0, ())
        return End(law, words, int(float(ended[2])) + 1, tuple(int(number) for number in ended[3].split(",") if number))

    def shorter(self, life: Life, end: End, law: str) -> tuple[Life, End]:
        """Ends as soon as it can."""
        if end.seconds and (life.seconds is None or end.seconds < life.seconds):
            life, end = self.better(dataclasses.replace(life, seconds=end.seconds), law) or (life, end)
        low, high = 0, life.seconds or 0
        while high - low > 60:
            middle = (low + high) // 2
            found = self.better(dataclasses.replace(life, seconds=middle), law)
            if found:
                (life, end), high = found, middle
            else:
                low = middle
        return life, end

    def better(self, life: Life, law: str) -> tuple[Life, End] | None:
        end = self.end(life)
        return (life, end) if end and end.law == law else None

    def fewer(self, life: Life, end: End, law: str) -> tuple[Life, End]:
        """Leaves out what happens, in halves first, then in smaller parts, and at last one by one."""
        kept = sorted(end.happenings)
        size = max(len(kept) // 2, 1)
        while kept:
            place, is_less = 0, False
            while place < len(kept):
                rest = kept[:place] + kept[place + size:]
                found = self.better(dataclasses.replace(life, only=tuple(rest)), law)
                if found:
                    (life, end), is_less = found, True
                    # What follows from what was left out has not happened either.
                    kept = [number for number in rest if number in end.happenings]
                else:
                    place += size
            if size == 1 and not is_less:
                break
            size = max(size // 2, 1)
        return life, end


def shrink(program: str, seed: int, words: str) -> int:
    """Prints the shortest life that was found; returns the exit code, which is 1 when there is nothing to shrink."""
    shrinking = Shrinking(program, seed)
    life = Life.of(words)
    end = shrinking.end(life)
    if not end:
        print(f"simulate: seed {seed} breaks no law", file=sys.stderr)
        return 1
    law = end.law
    print(f"seed {seed}: {end.words}\n{len(end.happenings)} happenings, {end.seconds} s", flush=True)
    life, end = shrinking.shorter(life, end, law)
    for count in range(1, life.destinations or 4):
        found = shrinking.better(dataclasses.replace(life, destinations=count), law)
        if found:
            life, end = found
            break
    life, end = shrinking.fewer(life, end, law)
    life, end = shrinking.shorter(life, end, law)
    print(f"after {shrinking.tries} lives: {end.words}\n{life.swift(seed)}\n"
          f'BEEKOND_WORLD_TRACE=1 make simulate SEED={seed} LIFE="{life.words}"')
    return 0
