"""Finds out which of the mutants are viable, and which can be behind a switch."""

import collections
import hashlib
import json
import pathlib
import re
import subprocess

from .sources import Planter, owner, wrappers

SWITCHES = (pathlib.Path(__file__).parent / "switches.rs").read_text()
NOT_CONST = re.compile(r"cannot call non-const .*?`([^`]*)` in ")
GENERIC = re.compile(r"(::)?<[^<>]*>")
# The type of methods that stand in another module than the type.
IMPL = re.compile(r"<impl (?:\w+::)*(\w+)(?:<[^<>]*>)?>")


class Plan:
    """Decides for each mutant whether it is behind a switch, not viable, or tested alone."""

    def __init__(self, files, mutants):
        self.files, self.mutants = files, mutants
        self.by_file = collections.defaultdict(list)
        for number, mutant in enumerate(mutants):
            self.by_file[mutant["file"]].append((number, mutant))
        # By number: `Unviable` if the compiler refuses the mutant, `Alone` if it cannot be behind a switch. The others are.
        # All values of a function that returns `impl Trait` have the same type.
        self.state = {number: "Alone" for number, mutant in enumerate(mutants)
                      if mutant["genre"] == "FnValue" and re.search(r"\bimpl (?!.*Iterator)", mutant["function"]["return_type"])}
        self.kept_const = set()
        self.texts, self.together = {}, {}

    def planted(self):
        """Yields the files, with all mutants that can be behind switches."""
        self.together = {}
        for name, content in self.files.items():
            if name.startswith("src/") and name.endswith(".rs"):
                mutants = [(number, mutant) for number, mutant in self.by_file[name] if number not in self.state]
                planter = Planter(content.decode(), mutants)
                text = planter.planted(self.kept_const)
                self.together |= planter.together
                out_of_place = [number for found in planter.waiting.values() for number, _ in found]
                self.state |= dict.fromkeys(planter.unviable, "Unviable")
                self.state |= dict.fromkeys(planter.constant + out_of_place, "Alone")
                if name == "src/lib.rs":
                    text = text.replace("#[macro_use]\nmod work;", "#[doc(hidden)]\npub mod mutants;\n#[macro_use]\nmod work;")
                    # The switches need the environment, also without the feature.
                    text = re.sub(r"#\[cfg\(any\(feature = \"std\", test\)\)\]\n(extern crate std;)", r"\1", text)
                self.texts[name] = text
                content = text.encode()
            yield name, content
        yield "src/mutants.rs", f"{SWITCHES}\nconst COUNT: usize = {len(self.mutants)};\n".encode()

    def complete(self, write, copy, environment, commands, cache):
        """Plants mutants until the copy compiles. What was learned about the same sources is in the cache."""
        sources = sorted(item for item in self.files.items() if item[0].startswith("src/"))
        key = hashlib.sha256(repr([sources, [mutant["name"] for mutant in self.mutants]]).encode()).hexdigest()
        known = json.loads(cache.read_text()) if cache.exists() else {}
        if known.get("key") == key:
            self.state = {int(number): state for number, state in known["state"].items()}
            self.kept_const = set(known["kept_const"])
        self.compile(write, copy, environment, commands)
        cache.write_text(json.dumps({"key": key, "state": self.state, "kept_const": sorted(self.kept_const)}))

    def compile(self, write, copy, environment, commands):
        for command in commands:
            while True:
                write(self.planted())
                errors = list(errors_of(command, copy, environment))
                taken_out = collections.Counter(self.state.values())
                print(f"   {len(errors)} errors without {dict(taken_out)}", flush=True)
                if not errors:
                    break
                before = len(self.state), len(self.kept_const)
                for error in errors:
                    self.learn(error)
                if before == (len(self.state), len(self.kept_const)):
                    raise SystemExit("the copy does not compile:\n" + "\n".join(error["rendered"] for error in errors))

    def learn(self, error):
        """Takes mutants out because of an error."""
        if found := NOT_CONST.search(error["message"]):
            path = IMPL.sub(r"\1", found[1])
            while GENERIC.search(path):
                path = GENERIC.sub("", path)
            *_, kind, name = ["", *path.split("::")]
            # Names of modules begin with a small letter.
            self.kept_const.add(f"{kind}::{name}" if kind[:1].isupper() else name)
            return
        for span in error["spans"]:
            text = self.texts.get(span["file_name"])
            if not span["is_primary"] or text is None:
                continue
            data = text.encode()
            start, end = (len(data[:span[key]].decode()) for key in ("byte_start", "byte_end"))
            # A `match` lacks a pattern because the arm has a switch now.
            mark = owner(text, start, "a" if error["code"] and error["code"]["code"] == "E0004" else "mw")
            line = text.rfind("\n", 0, start), text.find("\n", end)
            # Something around it may have no type for a mutant in it.
            for kind, number in [mark] if mark else wrappers(text, start, end) or wrappers(text, *line):
                self.take_out(kind, number)

    def take_out(self, kind, number):
        if kind == "m":
            self.state[number] = "Unviable"
        else:
            self.state = dict.fromkeys(self.together[kind, number], "Alone") | self.state


def errors_of(command, copy, environment):
    """Yields the errors of the compiler."""
    done = subprocess.run(["cargo", "check", "--profile=test", "--quiet", "--message-format=json", *command], cwd=copy,
                          env=environment, stdout=subprocess.PIPE, text=True)
    found = False
    for line in map(json.loads, done.stdout.splitlines()):
        message = line.get("message", {})
        if message.get("level") == "error" and message["spans"]:
            found = True
            yield message
    if done.returncode != 0 and not found:
        raise SystemExit("the copy cannot be checked")
