"""Builds the tests of sources with planted mutants, records which mutants each test reaches, and runs tests with a mutant on."""

import collections
import concurrent.futures
import dataclasses
import json
import struct
import subprocess
import tempfile
import time

# How much memory a test may reserve, in KiB: a mutant can make a loop endless.
MEMORY = 6 << 20
# The least patience with a test, and how many times its usual time.
PATIENCE, SLOWER = 10, 8
# The exit code of `timeout` when it has killed a program.
KILLED = 137
# The usual seconds of the tests that are run together for a mutant: first few of them, because one usually fails.
FIRST, GROWTH = 0.25, 4


@dataclasses.dataclass
class Test:
    """A test, and what it did without a mutant."""
    program: str
    name: str
    seconds: float = 0
    reached: frozenset = frozenset()

    def cost(self):
        """Short tests come first, and those of few mutants, which look closely at them."""
        return (self.seconds + 0.002) * len(self.reached)


def programs(copy, environment, commands):
    """Builds the tests. Yields the programs."""
    for command in commands:
        done = subprocess.run(["cargo", "test", "--no-run", "--quiet", "--message-format=json", *command], cwd=copy,
                              env=environment, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit("the copy could not be built")
        for line in map(json.loads, done.stdout.splitlines()):
            if line.get("executable"):
                yield line["executable"]


def directory_of(copy, program):
    """Where cargo would run the program: in the folder of its package."""
    return copy if "/mcp_sansio-" in program else copy / "proptests"


class Tests:
    """All tests of a copy."""

    def __init__(self, copy, environment, workers, seconds):
        """A mutant gets so many seconds of tests, without the mutant."""
        self.copy, self.environment, self.seconds = copy, environment, seconds
        self.pool = concurrent.futures.ThreadPoolExecutor(workers)
        self.of_mutant = collections.defaultdict(list)
        self.all = []

    def record(self, commands):
        """Runs each test once, without a mutant. All of them have to succeed."""
        found = []
        for program in programs(self.copy, self.environment, commands):
            output = subprocess.run([program, "--list", "--format=terse"], check=True, env=self.environment,
                                    cwd=directory_of(self.copy, program), stdout=subprocess.PIPE, text=True).stdout
            names = [line.removesuffix(": test") for line in output.splitlines() if line.endswith(": test")]
            found += [Test(program, name) for name in names]
        self.all = list(self.pool.map(self.recorded, found))
        for test in sorted(self.all, key=Test.cost):
            for number in test.reached:
                self.of_mutant[number].append(test)

    def recorded(self, test):
        with tempfile.NamedTemporaryFile() as reached:
            begun = time.monotonic()
            if self.run(test.program, [test.name], 600, MUTANTS_REACHED=reached.name):
                raise SystemExit(f"without a mutant, this test fails: {test.name}")
            seconds = time.monotonic() - begun
            numbers = frozenset(number for number, in struct.iter_unpack("<I", reached.read()))
        return dataclasses.replace(test, seconds=seconds, reached=numbers)

    def run(self, program, names, patience, **variables):
        """Runs these tests of a program: `None` if they succeed, otherwise the outcome of the mutant."""
        # An endless test also ends if this script is ended.
        limited = ["timeout", "-s", "KILL", str(patience), "sh", "-c", f'ulimit -v {MEMORY}; exec "$@"', "sh"]
        done = subprocess.run([*limited, program, "--exact", "--test-threads=1", "--quiet", *names],
                              cwd=directory_of(self.copy, program), env=self.environment | variables,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return {0: None, KILLED: "Timeout"}.get(done.returncode, "CaughtMutant")

    def outcome(self, number):
        """Runs tests that reach the mutant until one fails: its outcome, and a test that fails or one of several."""
        left, most, rest = self.of_mutant[number][:], FIRST, self.seconds
        if not left:
            return "Unreached", None
        while left and 0 < rest:
            batch, seconds = [], 0.0
            while left and (not batch or seconds + left[0].seconds <= most):
                batch.append(left.pop(0))
                seconds += batch[-1].seconds
            most *= GROWTH
            rest -= seconds
            groups = collections.defaultdict(list)
            for test in batch:
                groups[test.program].append(test)
            for program, tests in groups.items():
                patience = PATIENCE + SLOWER * sum(test.seconds for test in tests)
                if found := self.run(program, [test.name for test in tests], patience, MUTANT=str(number)):
                    return found, tests[0].name
        return "MissedMutant", None
