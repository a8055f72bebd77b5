#!/usr/bin/env python3
"""Compile every C block of README.md, of docs/*.md and of the comments that begin the public headers,
and run it; run every block of shell in them whose lines all begin with `kiln`.

    test_docs.py SOURCE BUILD CC WORK

A block that has a main() is a program. Any other is a fragment: it replaces the marked line of the
program in docs/start.md, which is what that page tells its readers. After a comment beside
puts(text) its text must be printed; a block with the info string "c cuda" is run on a GPU only. C code
that is merely indented would escape this test, and is refused. In a header's comment code is what is
indented by four columns after an empty line; it is a fragment, too, and functions in it stand before
main(). Every header with functions that are called has such a block. The device is
$KILN_TEST_DOCS_DEVICE, cpu when unset.

The lines of a page's blocks of shell run in order, in a folder that holds x.npy, which docs/start.md
makes. A line that fails, or that writes to stderr, is wrong.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

source, build, cc, work = (pathlib.Path(p) if k != 2 else p for k, p in enumerate(sys.argv[1:5]))
DEVICE = os.environ.get("KILN_TEST_DOCS_DEVICE", "cpu")
MARK = "    /* A fragment goes here. */\n"
NO_EXAMPLE = {"base.h", "kiln.h", "ops.h"}
# Headers that are a table, or a list of other headers.
TABLES = {"base.h", "kiln.h", "ops.h"}


def blocks_of(page, language="c"):
    """(line, info, text) for every fenced block of that language."""
    found, begin, info = [], None, ""
    lines = page.read_text().split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("```") and begin is None:
            begin, info = number, line[3:].strip()
        elif line.startswith("```"):
            if info.split(" ")[0] == language:
                found.append((begin + 1, info, "\n".join(lines[begin:number - 1]) + "\n"))
            begin = None
        elif begin is None and re.match(r"    .*\bkiln_\w+.*;\s*(/[/*].*)?$", line):
            sys.exit(f"{page}:{number}: C code that is not fenced: {line.strip()}")
    return found


def blocks_of_header(header):
    """The code in the comment that begins a header, as one block; none when there is no code."""
    comment = header.read_text().split("*/")[0].split("\n")
    first, code, inside = 0, [], False
    for number, line in enumerate(comment, 1):
        inside = line == " *" if not line.startswith(" *     ") else inside
        if line.startswith(" *     ") and inside:
            first = first or number
            code.append(line[7:])
    return [(first, "", "\n".join(code) + "\n")] if code else []


def comment_ratio(header):
    """Lines of comment for each line of code; a line may be both."""
    code = comment = 0
    inside = False
    for line in filter(None, map(str.strip, header.read_text().split("\n"))):
        code += not inside and not line.startswith("/*")
        comment += inside or "/*" in line
        inside = "*/" not in line.split("/*")[-1] if inside or "/*" in line else False
    return comment / code


def in_frame(frame, where, text):
    """The program with a fragment in it: its functions before main(), the rest in a block."""
    functions = ""
    for function in re.findall(r"^static [^;=]*?\)\n\{\n.*?^\}\n", text, re.S | re.M):
        text = text.replace(function, "")
        functions += function
    body = "    {\n" + where + "".join("    " + t for t in text.splitlines(True)) + "    }\n"
    return frame.replace(MARK, body).replace("int main(", functions + "int main(")


def check(job):
    """What is wrong with one block; None when nothing is."""
    page, line, info, text, frame = job
    name = f"{page.name}_{line}"
    where = f'#line {line} "{page}"\n'
    if "int main(" in text:
        program = where + text
    else:
        program = in_frame(frame, where, text)
    (work / f"{name}.c").write_text(program)
    command = [cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-result",
               "-Wno-unused-variable", "-Wno-unused-but-set-variable", f"-I{source}/include",
               f"{name}.c", f"{build}/libkiln.a", "-lm", "-o", name]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True)
    if done.returncode != 0:
        return f"{page}:{line}: does not compile\n{done.stderr}"
    if "cuda" in info.split(" ") and DEVICE == "cpu":
        return None
    folder = work / f"{name}.d"
    folder.mkdir(exist_ok=True)
    done = run_here([(work / name).resolve()], folder)
    if done.returncode != 0 or done.stderr:
        return f"{page}:{line}: status {done.returncode}\n{done.stdout}{done.stderr}"
    for want in re.findall(r"puts\(text\); /\* (.*) \*/", text):
        if want + "\n" not in done.stdout:
            return f"{page}:{line}: printed {done.stdout!r}, not {want!r}"
    return None


def run_here(command, folder):
    """What a program with an environment of its own prints, and how it ends."""
    environment = {**os.environ, "KILN_DEVICE": DEVICE,
                   "PATH": f"{build.resolve()}:{os.environ['PATH']}"}
    for variable in ("KILN_LOG", "KILN_RECORD", "KILN_BUNDLES"):
        environment.pop(variable, None)
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                          timeout=120)


def shell_lines(page):
    """(line number, command) for every line of a page's blocks of shell that are commands of kiln."""
    blocks = [(first, text.rstrip("\n").split("\n")) for first, _, text in blocks_of(page, "sh")]
    return [(first + k, line) for first, lines in blocks
            if all(line.startswith("kiln ") for line in lines) for k, line in enumerate(lines)]


def check_shell(page, first):
    """What is wrong with a page's commands; `first` makes x.npy."""
    folder = work / f"{page.name}_shell.d"
    folder.mkdir(exist_ok=True)
    wrong = []
    for number, line in [first, *shell_lines(page)]:
        done = run_here(["sh", "-c", line], folder)
        if done.returncode != 0 or done.stderr:
            wrong.append(f"{page}:{number}: {line}\n{done.stderr}")
    return wrong


def main():
    work.mkdir(parents=True, exist_ok=True)
    start = blocks_of(source / "docs/start.md")
    frame = start[0][2]
    if frame.count(MARK) != 1:
        sys.exit("docs/start.md has lost the line that fragments replace")
    pages = [source / "README.md", *sorted((source / "docs").glob("*.md"))]
    jobs = [(page, *block, frame) for page in pages for block in blocks_of(page)]
    if len(jobs) < 20:
        sys.exit(f"only {len(jobs)} blocks of C below {source}")
    for header in sorted((source / "include/kiln").glob("*.h")):
        blocks = blocks_of_header(header)
        if not blocks and header.name not in NO_EXAMPLE:
            sys.exit(f"{header}: its first comment has no example")
        if header.name not in TABLES and comment_ratio(header) < 1.2:
            sys.exit(f"{header}: {comment_ratio(header):.2f} lines of comment a line of code, below 1.2")
        jobs += [(header, *block, frame) for block in blocks]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [w for w in pool.map(check, jobs) if w is not None]
    commands = {page: shell_lines(page) for page in pages}
    makes_x = next(c for c in commands[source / "docs/start.md"] if " -o x.npy" in c[1])
    for page in filter(commands.get, pages):
        wrong += check_shell(page, makes_x)
    print("\n".join(wrong))
    print(f"{len(jobs)} blocks of C, {sum(map(len, commands.values()))} commands, {len(wrong)} of them wrong")
    sys.exit(1 if wrong else 0)


main()
