#!/usr/bin/env python3
"""Holds programs of Debian that nobody here wrote against themselves under `mastermind wrap` with the proxies of their libraries.

What a program makes must be the same to the last bit, and the records must have the parameters that follow from what it was given:
the sizes of the blocks that mksquashfs cuts files into, the bytes that rsync sends, the statements that sqlite3 prepares. Ends with an
error if one differs, or if a program or header is missing:

    apt-get install squashfs-tools rsync sqlite3 liblz4-dev libzstd-dev libsqlite3-dev
    benches/libraries/programs.py [FOLDER OF THE BINARIES]
"""

import csv
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Of the files to be packed or sent, bytes.
SIZES = {"a": 1_000_000, "b": 300_000, "c": 131_072}
BLOCK = 131_072
# squashfs compresses its own tables in pieces of this many bytes at most.
MOST_METADATA = 8192
STATEMENTS = ["create table t(x integer, y text);", "insert into t values (1, 'one'), (2, 'two');", "select sum(x), max(y) from t;"]


def blocks():
    """Sizes of the blocks that the files are cut into."""
    sizes = []
    for size in SIZES.values():
        sizes += [BLOCK] * (size // BLOCK) + ([size % BLOCK] if size % BLOCK else [])
    return sorted(sizes)


def squashed(calls):
    found = sorted(int(call["size"]) for call in calls if int(call["size"]) > MOST_METADATA)
    return found == blocks(), f"{len(found)} blocks, {sum(found)} bytes"


def sent(calls):
    found = sum(int(call["size"]) for call in calls)
    return found == sum(SIZES.values()), f"{found} bytes"


def prepared(calls):
    found = [int(call["length"]) for call in calls]
    missing = [text for text in STATEMENTS if len(text) not in found and len(text) + 1 not in found]
    return not missing, f"{len(found)} statements, lengths {sorted(set(found))}"


SQUASH = ["mksquashfs", "files", "OUT/image", "-quiet", "-no-progress", "-no-fragments", "-no-xattrs", "-processors", "1", "-mkfs-time", "0",
          "-all-time", "0", "-comp"]
# Name, header, function, parameters, command, what is made, what the calls must be.
CASES = [
    ("mksquashfs lz4", "lz4.h", "LZ4_compress_default", 'size = "srcSize"', [*SQUASH, "lz4"], "image", squashed),
    ("mksquashfs zstd", "zstd.h", "ZSTD_compressCCtx", 'size = "srcSize"', [*SQUASH, "zstd"], "image", squashed),
    ("rsync lz4", "lz4.h", "LZ4_compress_default", 'size = "srcSize"',
     ["rsync", "-a", "-z", "--compress-choice=lz4", "--whole-file", "files/", "OUT/copy/"], "copy", sent),
    ("sqlite3", "sqlite3.h", "sqlite3_prepare_v2", 'length = "strlen(zSql)"',
     ["sqlite3", ":memory:", *STATEMENTS], None, prepared),
]


def run(command, folder, out):
    words = [str(word).replace("OUT", out) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def content(path):
    if path.is_dir():
        return {file.relative_to(path): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}
    return path.read_bytes()


def case(mastermind, folder, header, function, parameters, command, made, judge):
    """Whether the case holds, and what was seen."""
    (folder / "markup.toml").write_text(f"[functions.{function}]\nparameters = {{ {parameters} }}\n")
    run([mastermind, "proxy", f"/usr/include/{header}", "--markup", "markup.toml", "-o", "made", "--force"], folder, "")
    [proxy] = (folder / "made").glob("lib*_proxy.so")
    outputs = []
    for out, wrap in [("plain", []), ("wrapped", [mastermind, "wrap", "--proxy", proxy, "--records", "records", "--"])]:
        (folder / out).mkdir()
        printed = run([*wrap, *command], folder, out).replace(out, "OUT")
        outputs.append((printed, content(folder / out / made) if made else None))
    run([mastermind, "export", "records", "--format", "csv", "--one-table", "-o", "calls.csv"], folder, "")
    with open(folder / "calls.csv", newline="") as table:
        calls = [row for row in csv.DictReader(table) if row["method"] == function]
    holds, seen = judge(calls)
    return holds and outputs[0] == outputs[1], f"output {'the same' if outputs[0] == outputs[1] else 'DIFFERS'}; {seen}"


def main():
    binaries = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else HERE / "../../target/release").resolve()
    missed = False
    for name, header, function, parameters, command, made, judge in CASES:
        with tempfile.TemporaryDirectory() as name_of_folder:
            folder = pathlib.Path(name_of_folder)
            (folder / "files").mkdir()
            numbers = random.Random(1)
            words = [bytes(numbers.choices(range(97, 123), k=12)) + b" " for _ in range(64)]
            for file, size in SIZES.items():
                # Can be compressed to less than half, so that rsync takes no piece twice; and has no block of zeros, which are not stored.
                text = b"".join(numbers.choices(words, k=size // 13 + 1))
                (folder / "files" / file).write_bytes(text[:size])
            missing = [what for what in (f"/usr/include/{header}", shutil.which(command[0]) or command[0]) if not os.path.exists(what)]
            try:
                if missing:
                    raise RuntimeError(f"{', '.join(missing)} is not installed")
                holds, seen = case(binaries / "mastermind", folder, header, function, parameters, command, made, judge)
            except (RuntimeError, ValueError, OSError) as error:
                holds, seen = False, str(error)
        missed |= not holds
        print(f"must reach: {'reached ' if holds else 'MISSED  '} {name}: {seen}", flush=True)
    sys.exit(missed)


if __name__ == "__main__":
    main()
