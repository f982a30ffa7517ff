"""What runs the tests: its order, what it makes of failures and skips, and the page of `make nightly`."""
import importlib.machinery
import importlib.util
import os
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "etc" / "build"))

from pool import Part, Pool, Run

BUILD = Path(sys.path[0])


def script(name: str):
    """A script of etc/build as a module."""
    loader = importlib.machinery.SourceFileLoader("build_" + name, str(BUILD / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


class PoolTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def part(self, name: str, usual: float, needs: tuple = (), command: str = "true", patience: float = 60,
             load: float = 1) -> Part:
        return Part(name, ["sh", "-c", command], self.folder, dict(os.environ), patience, usual, load, needs=needs)

    def run_all(self, *parts: Part, cores: int = 1) -> list:
        pool = Pool([*parts], self.folder, cores)
        self.assertTrue(pool.run(lambda run: None))
        return pool.runs

    def order(self, *parts: Part) -> list:
        return [run.part.name for run in self.run_all(*parts)]

    def test_the_longest_is_first(self):
        self.assertEqual(self.order(self.part("a", 1), self.part("b", 3), self.part("c", 2)), ["b", "c", "a"])

    def test_a_build_counts_with_what_it_builds(self):
        parts = (self.part("long", 5), self.part("build", 1, command="exit 0"), self.part("x", 3, ("build",)),
                 self.part("y", 4, ("build",)))
        self.assertEqual(self.order(*parts), ["build", "long", "y", "x"])

    def test_what_needs_a_failure_does_not_run(self):
        found = self.run_all(self.part("build", 1, command="exit 3"), self.part("x", 9, ("build",)), self.part("y", 1), cores=2)
        self.assertEqual({run.part.name: run.code for run in found}, {"build": 3, "y": 0})

    def test_what_cannot_begin_has_failed(self):
        missing = Part("missing", ["/nowhere"], self.folder, {}, 60, 9)
        found = self.run_all(missing, self.part("x", 1), self.part("y", 5, ("missing",)))
        self.assertEqual([(run.part.name, run.code) for run in found], [("missing", 70), ("x", 0)])
        self.assertIn("FileNotFoundError", found[0].text)

    def test_what_cannot_be_judged_is_told(self):
        pool = Pool([self.part("x", 1), self.part("y", 2)], self.folder, 1)
        with self.assertRaises(ZeroDivisionError):
            pool.run(lambda run: 1 // len(run.text))
        self.assertEqual(len(pool.runs), 2)

    def test_what_waits_leaves_room(self):
        os.mkfifo(os.path.join(self.folder, "meeting"))
        found = self.run_all(self.part("a", 1, command="echo here > meeting", load=0.1),
                             self.part("b", 1, command="read word < meeting", load=0.1))
        self.assertEqual([run.code for run in found], [0, 0])

    def test_what_works_does_not(self):
        work = "mkdir alone && i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; rmdir alone"
        found = self.run_all(*(self.part(name, 1, command="set -e; " + work) for name in "abc"), cores=1)
        self.assertEqual([run.code for run in found], [0, 0, 0])

    def test_what_wants_more_than_there_is_runs_alone(self):
        self.assertEqual(len(self.order(self.part("a", 2, load=8), self.part("b", 1, load=0.1))), 2)

    def test_what_it_says_and_costs(self):
        work = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
        run, = self.run_all(self.part("a/b", 1, command=f"echo out; echo err >&2; {work}"))
        self.assertEqual(run.text, "out\nerr\n")
        self.assertGreater(run.cpu, 0)
        self.assertEqual(Path(self.folder, "a-b.log").read_text(encoding="utf-8"), "out\nerr\n")

    def test_what_hangs_is_ended(self):
        run, = self.run_all(self.part("a", 1, command="sleep 600", patience=0.2))
        self.assertNotEqual(run.code, 0)
        self.assertIn("it hangs", run.text)


class ResultTests(unittest.TestCase):
    SWIFT = ('✔ Test "one" passed after 0.1 seconds.\n➜ Test "two" skipped: "no root"\n➜ Test three() skipped.\n'
             "{}Test run with 3 tests in 0 suites passed after 0.1 seconds.\n")
    PYTHON = ("test_a (x.T.test_a) ... ok\ntest_b (x.T.test_b)\nWhat it is. ... skipped 'no disk'\n"
              "test_c (x.T.test_c) ... printed\nskipped \"no 'net'\"\n\nRan 3 tests in 0.1s\n\n{}")

    def setUp(self):
        self.test = script("test")

    def result(self, name: str, text: str, code: int = 0):
        return self.test.Result(Run(Part(name, [], "", {}, 1, 1), code, text, 1, 1))

    def test_swift(self):
        found = self.result("BaseTests", self.SWIFT.format(""))
        self.assertEqual((found.tests, found.failed, found.skips), (3, 0, ["no root", "no reason given"]))
        self.assertEqual(self.result("BaseTests", self.SWIFT.format('✘ Test "x" failed after 1 seconds.\n'), 1).failed, 1)

    def test_python(self):
        found = self.result("x/test_y.py", self.PYTHON.format("OK (skipped=2)\n"))
        self.assertEqual((found.tests, found.failed, found.skips), (3, 0, ["no disk", "no 'net'"]))
        self.assertEqual(self.result("x/test_y.py", self.PYTHON.format("FAILED (failures=1, errors=1)\n"), 1).failed, 2)

    def test_crashes_and_nothing_are_failures(self):
        self.assertEqual(self.result("x/test_y.py", "Segmentation fault\n", -11).failed, 1)
        self.assertEqual(self.result("x/test_y.py", "Ran 0 tests in 0.0s\n\nOK\n").failed, 1)
        self.assertEqual(self.result("build", "", 1).failed, 1)
        self.assertEqual(self.result("build", "").failed, 0)

    def test_skips_in_ci(self):
        skips = {"a": ["BEEKOND_GNSS_LOGS is not set", "gpsd is not installed", "gpsd is not installed"],
                 "b": ["strace may not trace here: no"]}
        with mock.patch.dict(os.environ, {"CI": ""}):
            self.assertEqual(self.test.unexpected(skips), [])
        with mock.patch.dict(os.environ, {"CI": "1"}):
            refused, = self.test.unexpected(skips)
        self.assertTrue(refused.endswith("a: gpsd is not installed"), refused)

    def test_events_that_nobody_logs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "logged")
            self.test.begin_log(path)
            everything = self.test.never_logged(path)
            self.assertGreater(len(everything), 30)
            identity = everything[0].rsplit("(", 1)[1].rstrip(")")
            with open(path, "w", encoding="ascii") as file:
                file.write(f"{identity}\n" * 2)
            self.assertEqual(self.test.never_logged(path), everything[1:])

    def parent(self, *seeds: int):
        """The tests of a parent at which those seeds break a law."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = Path(folder.name, "tests")
        program.write_text(f"""#!/bin/sh
seed=${{BEEKOND_WORLD_SEEDS%-*}}
echo "seed $seed"
case " {' '.join(map(str, seeds))} " in *" $seed "*) echo "seed $seed broke a law: 3 rows are lost";; esac
""", encoding="utf-8")
        program.chmod(0o755)
        return mock.patch.object(self.test.drawn, "build_parent", lambda: str(program))

    def test_what_the_parent_breaks_too_is_told(self):
        def told(*seeds: int, words: str = "2 rows are lost") -> list:
            lives = "".join(f"seed {seed}\nseed {seed} broke a law: {words}\n" for seed in seeds)
            result = self.result("WorldTests", lives, 1)
            lines = self.test.older_faults([self.result("BaseTests", "", 1), result])
            self.assertGreater(result.failed, 0)
            return [int(line.split()[1]) for line in lines]

        with mock.patch.dict(os.environ, {"CI": "1"}):
            for seeds, at_parent, both in (((4711,), (4711,), [4711]), ((4711, 815), (815, 4711), [815, 4711]), ((4711,), (), []),
                                           ((4711, 815), (4711,), [4711]), ((7, 815), (7, 815), [815])):
                with self.subTest(seeds=seeds, at_parent=at_parent), self.parent(*at_parent):
                    self.assertEqual(told(*seeds), both)
            with self.parent(*range(200, 210)):
                self.assertEqual(told(*range(200, 210)), [], "so many are the change's")
                self.assertEqual(told(200, words="the threads do not come to rest"), [], "another law")
        with mock.patch.dict(os.environ, {"CI": ""}), self.parent(4711):
            self.assertEqual(told(4711), [])

    def test_each_part_has_its_time(self):
        for name, taken in self.test.stored_seconds().items():
            self.assertGreaterEqual(min(taken), 0, name)


class NightlyTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.nightly = script("nightly")
        self.nightly.PAGE = os.path.join(folder.name, "nightly.md")
        self.nightly.commit = lambda: "0123456789ab"

    def test_a_row_stays_until_its_part_runs_again(self):
        row = self.nightly.Row("0123456789ab", "2026-01-02", "3.0", "5.5", "passed", "")
        old = self.nightly.Row("ba9876543210", "2026-01-01", "1.0", "1.0", "FAILED", "x: FAILED")
        self.nightly.write_page({"swift": row, "fuzz": old})
        self.assertEqual(self.nightly.read_rows(), {"swift": row, "fuzz": old})
        with open(self.nightly.PAGE, encoding="utf-8") as file:
            states = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in file if line.startswith("| `")}
        self.assertEqual(states.pop("`swift`"), "run")
        self.assertEqual(set(states.values()), {"**not run**"})

    def test_each_file_that_a_part_names_is_there(self):
        test = script("test")
        found = [words for _, command in self.nightly.PARTS.values() for words in re.findall(r"etc/build/test ([^;]*)", command)]
        self.assertGreater(len(found), 5)
        for words in found:
            with self.subTest(words), mock.patch.object(sys, "argv", ["test", *words.replace("\\\n", " ").split()]):
                self.assertEqual(test.Plan(test.parsed()).unknown_names(), [])
        with mock.patch.object(sys, "argv", ["test", "test_crash", "nobody", "BaseTests", "server/BaseTests"]):
            self.assertEqual(test.Plan(test.parsed()).unknown_names(), ["nobody", "server/BaseTests"])

    def test_each_long_file_is_in_a_part(self):
        root = BUILD.parents[1]
        commands = "\n".join([command for _, command in self.nightly.PARTS.values()] + [
            path.read_text(encoding="utf-8") for path in (root / "Makefile", BUILD / "citus")])
        long = [*root.glob("Tests/System/*/nightly_*.py"), *root.glob("server/Tests/System/nightly_*.py"),
                *root.glob("Tests/Machine/test_*.py")]
        self.assertGreater(len(long), 20)
        for path in long:
            with self.subTest(path.name):
                name = path.stem.removeprefix("nightly_").removeprefix("test_")
                self.assertIsNotNone(re.search(rf"\b(?:nightly_)?{name}\b", commands), "no part names it")

    def test_what_failed_is_one_line(self):
        run = Run(Part("x", [], "", {}, 1, 1), 1, "one\nFAILED: a | b\nmake: nothing\n", 1, 1)
        self.assertEqual(self.nightly.remark(run), "FAILED: a / b")


if __name__ == "__main__":
    unittest.main()
