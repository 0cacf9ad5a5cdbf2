"""Plants the mutants of cargo-mutants in a source file, all of them at once, each behind a switch.

A switch is `crate::mutants::is_on(N)`, where N is the number of the mutant. With no switch on, the file does what it did
before. Comments mark the code of each mutant, so that an error of the compiler names the mutants that are not viable.
"""

import collections
import re
import sys

import tree_sitter
import tree_sitter_rust

# Expressions are nested deeply.
sys.setrecursionlimit(10_000)
PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))
COMPARISONS = {"==", "!=", "<", "<=", ">", ">="}
# Code that the compiler runs: a switch has no value there.
CONSTANT = {"const_item", "static_item", "const_block", "array_type", "enum_variant", "const_parameter", "attribute_item",
            "inner_attribute_item"}


def switch(number):
    return f"crate::mutants::is_on({number})"


def marked(kind, number, text):
    """Text between two comments: `m` for the code of a mutant, `w` for all code that was written for it, `a` for a `match` of
    whose arms mutants delete some."""
    return f"/*{kind}{number}<*/{text}/*{kind}{number}>*/"


MARK = re.compile(r"/\*([amw])(\d+)([<>])\*/")


def owner(text, place, kinds="mw"):
    """The kind and number of the innermost mark of these kinds around this place, if there is one."""
    around = []
    for mark in MARK.finditer(text, 0, place):
        if mark[3] == "<":
            around.append((mark[1], int(mark[2])))
        else:
            around.pop()
    return next((mark for mark in reversed(around) if mark[0] in kinds), None)


def wrappers(text, start, end):
    """The marks of all code that was written for mutants and begins between these places."""
    return {("w", int(mark[2])) for mark in MARK.finditer(text, start, end) if mark[1] + mark[3] == "w<"}


class Planter:
    """Writes a source file with its mutants."""

    def __init__(self, text, mutants):
        """`mutants` has the number of each mutant with what cargo-mutants says of it."""
        self.bytes = text.encode()
        lines = text.split("\n")
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line.encode()) + 1)

        def offset(place):
            line = lines[place["line"] - 1]
            return starts[place["line"] - 1] + len(line[:place["column"] - 1].encode())

        # Those that wait for their place, by genre and offset.
        self.waiting = collections.defaultdict(list)
        for number, mutant in mutants:
            key = mutant["genre"], offset(mutant["span"]["start"])
            self.waiting[key].append((number, mutant["replacement"]))
        # The mutants in code that the compiler runs.
        self.constant = []
        # The mutants that break a chain with `let`, which has to be one of `&&`.
        self.unviable = []
        # The mutants of each place, by the kind of its mark and the first of them.
        self.together = {}
        self.kept_const = set()
        # The types of the `impl` blocks around a place.
        self.types = []
        self.depth = 0

    def planted(self, kept_const=()):
        """The text with all mutants. Functions of these names stay `const`, and have no mutants."""
        self.kept_const = set(kept_const)
        root = PARSER.parse(self.bytes).root_node
        return self.render(root)

    def wrapped(self, mutants, text):
        """All code that was written for mutants of one place."""
        numbers = [number for number, _ in mutants]
        self.together["w", numbers[0]] = numbers
        return marked("w", numbers[0], text)

    def raw(self, start, end):
        return self.bytes[start:end].decode()

    def take(self, genre, offset):
        found = self.waiting.pop((genre, offset), [])
        if self.depth and found:
            self.constant += [number for number, _ in found]
            return []
        return found

    def children(self, node, replaced=None):
        """The node with each child as it is planted."""
        text, position = [], node.start_byte
        for child in node.children:
            text.append(self.raw(position, child.start_byte))
            text.append((replaced or {}).get(child.id) or self.render(child))
            position = child.end_byte
        text.append(self.raw(position, node.end_byte))
        return "".join(text)

    def render(self, node):
        if not node.children:
            return self.raw(node.start_byte, node.end_byte)
        is_constant = node.type in CONSTANT or node.type == "function_item" and self.stays_const(node)
        self.depth += is_constant
        text = getattr(self, node.type, self.children)(node)
        self.depth -= is_constant
        return text

    # -- Functions

    def impl_item(self, node):
        self.types.append(re.sub(r"<.*", "", self.text(node.child_by_field_name("type")), flags=re.DOTALL))
        text = self.children(node)
        self.types.pop()
        return text

    def stays_const(self, node):
        name = self.text(node.child_by_field_name("name"))
        name = f"{self.types[-1]}::{name}" if self.types else name
        return name in self.kept_const and any(
            child.type == "function_modifiers" and "const" in self.text(child) for child in node.children)

    def text(self, node):
        return self.raw(node.start_byte, node.end_byte)

    def function_item(self, node):
        replaced = {}
        body = node.child_by_field_name("body")
        if not self.stays_const(node):
            for child in node.children:
                if child.type == "function_modifiers":
                    replaced[child.id] = re.sub(r"\bconst\b", "/*const*/", self.text(child))
        replaced[body.id] = self.body(node, body)
        return self.children(node, replaced)

    def body(self, function, body):
        values = self.take("FnValue", function.start_byte) or self.values_of(function, body)
        text = self.children(body)
        result = function.child_by_field_name("return_type")
        if result is not None and "impl " in self.text(result):
            return self.body_of_iterator(values, text)
        early = "".join(self.wrapped([(number, value)], f"if {switch(number)} {{ return {marked('m', number, value)}; }}")
                        for number, value in values)
        return "{" + early + text[1:]

    def body_of_iterator(self, values, text):
        """The body of a function whose results are all of one type that it does not name."""
        for number, value in values:
            either = "crate::mutants::Either"
            mutant = marked("m", number, value)
            text = f"if {switch(number)} {{ {either}::Mutant({mutant}) }} else {{ {either}::Original({text}) }}"
            text = "{" + self.wrapped([(number, value)], text) + "}"
        return text

    def values_of(self, function, body):
        """The values that the function returns as a mutant."""
        inside = [key for key in self.waiting if key[0] == "FnValue" and body.start_byte <= key[1] < body.end_byte]
        # Functions within the function have their own.
        return self.take(*min(inside, key=lambda key: key[1])) if inside else []

    # -- Operators

    def chosen(self, mutants, code, sign):
        """The code with the operator of the mutant that is on, or else with this one."""
        text = code(sign)
        for number, other in mutants:
            text = f"if {switch(number)} {{ {marked('m', number, code(other))} }} else {{ {text} }}"
        return text

    def binary_expression(self, node):
        operator = node.child_by_field_name("operator")
        sign = self.text(operator)
        mutants = self.take("BinaryOperator", operator.start_byte)
        if not mutants:
            return self.children(node)
        left, right = (self.render(node.child_by_field_name(name)) for name in ("left", "right"))
        if sign in ("&&", "||"):
            (number, _), = mutants
            test = "!=" if sign == "&&" else "=="
            return self.wrapped(mutants, f"({{ let l = {left}; if l {test} {switch(number)} {{ {right} }} else {{ l }} }})")
        reference = "&" if sign in COMPARISONS else ""
        text = self.chosen(mutants, lambda other: f"l {other} r", sign)
        text = f"(match ({reference}({left}), {reference}({right})) {{ (l, r) => {text} }})"
        return self.wrapped(mutants, text)

    def let_chain(self, node):
        for child in node.children:
            if child.type == "&&":
                self.unviable += [number for number, _ in self.take("BinaryOperator", child.start_byte)]
        return self.children(node)

    def compound_assignment_expr(self, node):
        operator = node.child_by_field_name("operator")
        mutants = self.take("BinaryAssignment", operator.start_byte) + self.take("BinaryOperator", operator.start_byte)
        if not mutants:
            return self.children(node)
        left, right = (self.render(node.child_by_field_name(name)) for name in ("left", "right"))
        text = self.chosen(mutants, lambda other: f"{left} {other} r", self.text(operator))
        text = f"(match ({right}) {{ r => {text} }})"
        return self.wrapped(mutants, text)

    def unary_expression(self, node):
        mutants = self.take("UnaryOperator", node.start_byte)
        if not mutants:
            return self.children(node)
        (number, _), = mutants
        sign, operand = self.text(node.children[0]), self.render(node.children[1])
        text = f"if {switch(number)} {{ {marked('m', number, 'v')} }} else {{ {sign}v }}"
        return self.wrapped(mutants, f"(match ({operand}) {{ v => {text} }})")

    # -- Arms and fields

    def match_arm(self, node):
        deleted = self.take("MatchArm", node.start_byte)
        pattern = node.child_by_field_name("pattern")
        condition = pattern.child_by_field_name("condition")
        guards = self.take("MatchArmGuard", condition.start_byte) if condition else []
        if not deleted and not guards:
            return self.children(node)
        text = self.render(condition) if condition else "true"
        for number, value in guards:
            text = f"({switch(number)} || {text})" if value == "true" else f"(!{switch(number)} && {text})"
        for number, _ in deleted:
            text = f"(!{switch(number)} && {text})"
        text = self.wrapped(guards + deleted, text)
        if condition:
            return self.children(node, {pattern.id: self.children(pattern, {condition.id: text})})
        return self.children(node, {pattern.id: f"{self.render(pattern)} if {text}"})

    def match_expression(self, node):
        body = node.child_by_field_name("body")
        arms = [child.start_byte for child in body.children if child.type == "match_arm"]
        mutants = [number for start in arms for number, _ in self.waiting.get(("MatchArm", start), [])]
        text = self.children(node)
        if not mutants or self.depth:
            return text
        # The compiler complains of the match if an arm with a guard is one that has to be there.
        self.together["a", mutants[0]] = mutants
        return marked("a", mutants[0], text)

    def struct_expression(self, node):
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        base = next((child for child in body.children if child.type == "base_field_initializer"), None)
        replaced = {}
        for field in body.children:
            mutants = self.take("StructField", field.start_byte)
            if not mutants or base is None:
                continue
            (number, _), = mutants
            is_short = field.type == "shorthand_field_initializer"
            member = self.text(field) if is_short else self.text(field.child_by_field_name("field"))
            value = member if is_short else self.render(field.child_by_field_name("value"))
            source = base.children[1]
            # A field of a place can be moved out of it, because the expression takes the others.
            other = (f"{{ let d: {self.text(name)} = {self.text(source)}; d.{member} }}" if source.type == "call_expression"
                     else f"({self.text(source)}).{member}")
            text = f"if {switch(number)} {{ {marked('m', number, other)} }} else {{ {value} }}"
            replaced[field.id] = f"{member}: " + self.wrapped(mutants, text)
        return self.children(node, {body.id: self.children(body, replaced)})
