#!/usr/bin/env python3
"""Compile every C block of README.md and docs/*.md, and run it.

    test_docs.py SOURCE BUILD CC WORK

A block that has a main() is a program. Any other is a fragment: it replaces the marked line of the
program in docs/start.md, which is what that page tells its readers. After a comment beside
puts(text) its text must be printed; a block with the info string "c cuda" is run on a GPU only. C code
that is merely indented would escape this test, and is refused. The device is $KILN_TEST_DOCS_DEVICE,
cpu when unset.
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


def blocks_of(page):
    """(line, info, text) for every fenced block of C."""
    found, begin, info = [], None, ""
    lines = page.read_text().split("\n")
    for number, line in enumerate(lines, 1):
        if line.startswith("```") and begin is None:
            begin, info = number, line[3:].strip()
        elif line.startswith("```"):
            if info.split(" ")[0] == "c":
                found.append((begin + 1, info, "\n".join(lines[begin:number - 1]) + "\n"))
            begin = None
        elif begin is None and re.match(r"    .*\bkiln_\w+.*;\s*(/[/*].*)?$", line):
            sys.exit(f"{page}:{number}: C code that is not fenced: {line.strip()}")
    return found


def check(job):
    """What is wrong with one block; None when nothing is."""
    page, line, info, text, frame = job
    name = f"{page.stem}_{line}"
    where = f'#line {line} "{page}"\n'
    if "int main(" in text:
        program = where + text
    else:
        program = frame.replace(MARK, where + "".join("    " + t for t in text.splitlines(True)))
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
    environment = {**os.environ, "KILN_DEVICE": DEVICE}
    for variable in ("KILN_LOG", "KILN_RECORD", "KILN_BUNDLES"):
        environment.pop(variable, None)
    done = subprocess.run([work / name], cwd=folder, env=environment, capture_output=True,
                          text=True, timeout=120)
    if done.returncode != 0 or done.stderr:
        return f"{page}:{line}: status {done.returncode}\n{done.stdout}{done.stderr}"
    for want in re.findall(r"puts\(text\); /\* (.*) \*/", text):
        if want + "\n" not in done.stdout:
            return f"{page}:{line}: printed {done.stdout!r}, not {want!r}"
    return None


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
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [w for w in pool.map(check, jobs) if w is not None]
    print("\n".join(wrong))
    print(f"{len(jobs)} blocks of C, {len(wrong)} of them wrong")
    sys.exit(1 if wrong else 0)


main()
