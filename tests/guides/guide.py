#!/usr/bin/env python3
"""Runs the commands of a guide, and compares what they print with what the guide shows.

    tests/guides/guide.py GUIDE.md...       inside the namespaces of tests/guides/run

In a block `console` each line after `$ ` or `# ` is a command; the lines below it are its output. In the output `...` stands for
any text, alone on a line for any lines; numbers and the width of blanks may differ. A command must end with status 0.
Comments of the guide, which no reader sees, say what the test does beside them:

    <!-- file: /etc/causeway/upf.yaml -->   the next block is written to that file
    <!-- test: run COMMAND -->              the test runs this first, for example to start an emulator
    <!-- test: background -->               the next block runs on while the guide goes on
    <!-- test: skip REASON -->              the next block is not run here; the reason is printed
    <!-- test: retry -->                    the next block is repeated until it prints what is shown, for a minute at most
"""
import os
import re
import subprocess
import sys
import time

LIMIT = 60  # seconds: longer than a busy machine takes


def blocks(text):
    """The fenced blocks and the comments for the test, in order."""
    inside, info, lines, notes = False, "", [], []
    for number, line in enumerate(text.splitlines(), 1):
        if not inside and line.startswith("```"):
            inside, info, lines, start = True, line[3:].strip(), [], number
        elif inside and line.startswith("```"):
            inside = False
            yield start, info, lines, notes
            notes = []
        elif inside:
            lines.append(line)
        elif match := re.fullmatch(r"<!-- (file|test): (.*) -->", line.strip()):
            notes.append((match[1], match[2]))
    if notes:
        yield number, "", [], notes


def commands(lines):
    """Pairs of a command and the output below it. A line that ends with a backslash goes on in the next one."""
    found, continued = [], False
    for line in lines:
        if continued:
            found[-1][0] += "\n" + line
        elif line.startswith(("$ ", "# ")):
            found.append([line[2:], []])
        elif found:
            found[-1][1].append(line)
        continued = (continued or line.startswith(("$ ", "# "))) and line.endswith("\\")
    return found


def pattern(line):
    """A regular expression for a line of output."""
    parts = re.split(r"(\.\.\.|\d(?:[\d,:]|\.(?=\d))*|\s+)", line.strip())
    words = {"...": ".*"}
    return "".join(
        words.get(part) or (r"\d[\d.,:]*" if part[:1].isdigit() else r"\s+" if part and part.isspace() else re.escape(part))
        for part in parts)


def differs(expected, actual):
    """Why the output is not the expected one, or None."""
    actual = [line.strip() for line in actual if line.strip()]
    skipping = False
    for line in [line for line in expected if line.strip()]:
        if line.strip() == "...":
            skipping = True
            continue
        wanted = re.compile(pattern(line) + r"\s*")
        while actual and not wanted.fullmatch(actual[0]):
            if not skipping:
                return f"expected: {line.strip()}\n    printed:  {actual[0]}"
            actual.pop(0)
        if not actual:
            return f"expected: {line.strip()}\n    printed:  nothing more"
        actual.pop(0)
        skipping = False
    if actual and not skipping and expected:
        return f"expected: nothing more\n    printed:  {actual[0]}"
    return None


def shell(command):
    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=4 * LIMIT)
    return done.returncode, done.stdout


def step(command, expected, retry):
    """Runs one command until its output is right. Returns the reason of a failure."""
    end = time.monotonic() + LIMIT
    while True:
        status, output = shell(command)
        reason = differs(expected, output.splitlines()) or (f"ended with {status}" if status else None)
        if reason is None or not retry or time.monotonic() > end:
            print(f"$ {command}\n{output}", end="", flush=True)
            return reason and f"`{command}`\n    {reason}"
        time.sleep(0.5)


def run_guide(path):
    """Runs a guide. Returns the number of commands, and the reasons of failures."""
    number, failures, background = 0, [], []
    text = open(path, encoding="utf-8").read()
    try:
        for line, info, lines, notes in blocks(text):
            words = [value for kind, value in notes if kind == "test"]
            for word in words:
                if word.startswith("run "):
                    status, output = shell(word[4:])
                    print(f"(test) {word[4:]}\n{output}", end="", flush=True)
                    if status != 0:
                        return number, failures + [f"{path}:{line}: `{word[4:]}` ended with {status}: {output.strip()}"]
                if word.startswith("skip "):
                    print(f"(not run here: {word[5:]})", flush=True)
            if any(word.startswith("skip ") for word in words):
                continue
            for kind, value in notes:
                if kind == "file":
                    os.makedirs(os.path.dirname(value), exist_ok=True)
                    with open(value, "w", encoding="utf-8") as file:
                        file.write("\n".join(lines) + "\n")
            if info != "console":
                continue
            for command, expected in commands(lines):
                number += 1
                if "background" in words:
                    background.append(subprocess.Popen(["bash", "-c", f"exec {command}"], stdin=subprocess.DEVNULL))
                    continue
                reason = step(command, expected, "retry" in words)
                if reason:
                    return number, failures + [f"{path}:{line}: {reason}"]
    finally:
        for process in background:
            process.terminate()
    return number, failures


def self_test():
    """What is a difference, and what is none."""
    assert differs(["a  1.5 ms", "...", "end"], ["a 27 ms", "x", "y", "end"]) is None
    assert differs(["ready"], ["not ready"]) and differs(["a"], ["a", "b"]) and differs(["a", "b"], ["a"])
    assert differs(["...n3..."], ["x n4 y"]) is None and differs(["...n3..."], ["x m4 y"])
    assert differs([], ["anything"]) is None and differs(["... ready"], ["12:00 INFO ready"]) is None
    assert commands(["$ a \\", "  b", "out", "# c"]) == [["a \\\n  b", ["out"]], ["c", []]]


if __name__ == "__main__":
    self_test()
    wrong = []
    for guide in sys.argv[1:]:
        count, reasons = run_guide(guide)
        print(f"==> {guide}: {count} commands, {'as shown' if not reasons else 'NOT as shown'}", flush=True)
        if not count:
            reasons.append(f"{guide}: no command")
        wrong += reasons
    sys.exit("\n".join(wrong) or 0)
