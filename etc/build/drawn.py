"""Seeds that a commit draws for the simulated world, and that break a law: one that breaks the same at the parent commit has
found a fault that was there before."""
from __future__ import annotations

import os
import shutil
import subprocess

import simulated

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
WORK = os.path.join(ROOT, ".build-parent")
# Seeds up to this one are tried with each commit.
ALWAYS = 100
# So many are looked at; a change that breaks more has broken them itself.
MOST = 5


def at_parent(text: str) -> dict[int, str]:
    """Of the seeds that broke a law, as WorldTests has said: those that break the same one at the parent, with its words."""
    drawn = {int(seed): words for seed, words in simulated.LAW.findall(text) if int(seed) > ALWAYS}
    if not drawn or len(drawn) > MOST:
        return {}
    try:
        program = build_parent()
        if not program:
            return {}
        lives = {seed: simulated.LAW.search(simulated.run(program, f"{seed}-{seed}")[0]) for seed in sorted(drawn)}
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
        subprocess.run(["git", "-C", ROOT, "worktree", "prune"], check=False)
    return {seed: life[2] for seed, life in lives.items() if life and simulated.law(life[2]) == simulated.law(drawn[seed])}


def build_parent() -> str | None:
    """The tests of the parent's simulated world; nothing where there is no parent, as in a shallow clone, or it is not built."""
    shutil.rmtree(WORK, ignore_errors=True)
    source, build = os.path.join(WORK, "source"), os.path.join(WORK, "build")
    commands = [["git", "-C", ROOT, "worktree", "add", "--quiet", "--force", "--detach", source, "HEAD^"],
                ["swift", "build", "--build-tests", "--package-path", source, "--scratch-path", build, "-Xswiftc", "-O"]]
    for command in commands:
        if subprocess.run(command, env=dict(os.environ, BEEKOND_WORLD="1"), check=False).returncode:
            return None
    return os.path.join(build, "debug", "beekondPackageTests.xctest")
