"""A reader of `.gtm` models written from FORMAT.md alone; agrees with the golden files.

Run it on their folder with `python3 tests/reader.py tests/golden`; it needs nothing but Python 3.
"""

import io
import struct
import sys
import zlib
from pathlib import Path

VERSIONS = {(1, 0): 8, (1, 1): 12}  # and how many classes each has
CLASSES = (
    "f32-nn f32-nt f32-tn f32-tt f16-nn f16-nt f16-tn f16-tt f16h-nn f16h-nt f16h-tn f16h-tt"
).split()
FEATURES = "m k n b mn mk kn mnk mnb mnkb m/n m/k k/n mn/k".split()  # b: batch
NO_TREE = ([0], 255, 255, 0)


def check(holds, wrong):
    if not holds:
        raise ValueError(wrong)


def take(payload, count):
    data = payload.read(count)
    check(len(data) == count, "the payload ends within a field")
    return data


def number(payload, what, bits, limit=2**64 - 1):
    """A varint (§2)."""
    value, shift, more = 0, 0, True
    while more:
        check(shift < bits, f"{what}: more bytes than a u{bits} has")
        byte = take(payload, 1)[0]
        value |= (byte & 127) << shift
        shift, more = shift + 7, byte > 127
    check(value <= min(limit, 2**bits - 1), f"{what}: {value} is too large")
    return value


def optional(payload, what, bits, limit=2**64 - 1):
    present = take(payload, 1)[0]
    check(present <= 1, f"{what}: neither absent nor present")
    return number(payload, what, bits, limit) if present else None


def configuration(payload):
    family, count = take(payload, 1)[0], number(payload, "parameters", 32, 16)
    return family, [number(payload, "parameter", 16) for _ in range(count)]


def decode(payload):
    """The fields of §2; the entries still as bytes."""
    model = {}
    for name in ("device", "driver", "method"):
        model[name] = take(payload, number(payload, name, 32)).decode()  # fails with a ValueError
    model["space"] = optional(payload, "space", 64)
    model["score"] = optional(payload, "score", 16, 10_000)
    model["features"] = list(take(payload, number(payload, "features", 32, 5)))
    count = number(payload, "kernels", 16, 127)
    model["kernels"] = [configuration(payload) for _ in range(count)]
    count = number(payload, "heads", 32, 12)
    model["heads"] = [(*take(payload, 2), number(payload, "root", 16)) for _ in range(count)]
    model["entries"] = take(payload, number(payload, "entries", 32, 6 * 65_535))
    check(not payload.read(), "the payload goes on after the entries")
    return model


def read(file):
    """The model in the bytes of a file; a ValueError if it fails a check of §7."""
    check(len(file) >= 16, "shorter than the header")
    magic, major, minor, reserved, length, checksum = struct.unpack("<4sBBHII", file[:16])
    check(magic == b"GTM\x1a", "not a model: the magic is wrong")
    known = (major, minor) in VERSIONS
    check(known, f"version {major}.{minor}; this reader knows 1.0 and 1.1")
    check(len(file) - 16 == length, "the payload has another length than the header says")
    check(zlib.crc32(file[:12] + file[16:]) == checksum, "the checksum is wrong")
    check(reserved == 0, "the header's reserved bytes are not 0")
    model = decode(io.BytesIO(file[16:]))
    features = model["features"]
    check(all(feature < len(FEATURES) for feature in features), "an unknown feature")
    check(len(set(features)) == len(features), "a feature listed twice")
    check(len(model["entries"]) % 6 == 0, "the bytes of the entries are not a multiple of 6")
    check_trees(model, VERSIONS[major, minor])
    return model


def check_trees(model, known):
    """Trees lie one after another, and each head names one of them (§7, 10 to 12)."""
    begins, end = set(), 0
    while 6 * end < len(model["entries"]):
        begins.add(end)
        end = tree_end(model, end, 0)
    classes = [head[0] for head in model["heads"]]
    check(len(set(classes)) == len(classes), "a class with two heads")
    check(all(max(head[:2]) < known for head in model["heads"]), "an unknown class")
    roots = {head[2] for head in model["heads"]}
    check(roots <= begins, "a root where no tree begins")
    check(begins <= roots, "a tree without a head")


def tree_end(model, at, splits):
    """Where the branch that begins at an entry ends, all of it checked; `splits` lie above it."""
    entry = model["entries"][6 * at : 6 * at + 6]
    check(entry, "a tree goes on after the last entry")
    if entry[0] < 128:
        check_leaf(entry, len(model["kernels"]))
        return at + 1
    place, reserved, threshold, right = split(entry)
    check(place < len(model["features"]), "a split on an unlisted feature")
    check(reserved == 0, "a split whose reserved byte is not 0")
    added, ratio, _ = FEATURES[model["features"][place]].partition("/")
    check(threshold < 255 * len(added) + 256 * len(ratio), "a threshold that no shape exceeds")
    check(splits < 64, "a path with more than 64 splits")
    middle = tree_end(model, at + 1, splits + 1)
    check(right == middle, "a right branch that is not where the left one ends")
    return tree_end(model, middle, splits + 1)


def check_leaf(entry, kernels):
    ranked = [kernel for kernel in entry[:3] if kernel]
    check(not any(entry[len(ranked) : 3]), "a leaf with a gap among its kernels")
    check(len(set(ranked)) == len(ranked), "a leaf with a kernel twice")
    check(max(entry[:3]) <= kernels, "a leaf with an unlisted kernel")


def split(entry):
    first, reserved, threshold, right = struct.unpack("<BBHH", entry)
    return first - 128, reserved, threshold, right


def key(size):
    octave = size.bit_length() - 1
    return 8 * octave + (8 * size >> octave) - 8 if size else 0


def select(model, wanted, shape):
    """The answer for a class and a shape (m, k, n, batch): kernels, both loss bytes, samples."""
    keys = dict(zip("mknb", map(key, shape)))
    at = {head[0]: head[2] for head in model["heads"]}.get(wanted)
    if at is None:
        return NO_TREE
    while (entry := model["entries"][6 * at : 6 * at + 6])[0] >= 128:
        place, _, threshold, right = split(entry)
        added, ratio, subtracted = FEATURES[model["features"][place]].partition("/")
        value = sum(keys[x] for x in added) - sum(keys[x] for x in subtracted) + 256 * len(ratio)
        at = at + 1 if value <= threshold else right
    return [kernel for kernel in entry[:3] if kernel] + [0], *entry[3:]


def agree(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found} instead of {expected}")


def refusal(file):
    """The error with which a file is refused, or that it is taken."""
    try:
        read(file)
    except ValueError as error:
        return f"ValueError: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "taken"


def compare_answers(table):
    """The number of rows of a table; the model of the same name agrees with all."""
    file = table.with_suffix(".gtm").read_bytes()
    agree(f"{table.stem}.gtm", refusal(file), "taken")
    model, rows = read(file), table.read_text(encoding="utf-8").splitlines()[1:]
    for row in rows:
        name, m, k, n, batch, kernels, *rest = row.split(",")
        found = select(model, CLASSES.index(name), (int(m), int(k), int(n), int(batch)))
        agree(f"{table.name}, {row}", found, ([*map(int, kernels.split())], *map(int, rest)))
    return len(rows)


def compare_example(file):
    """The model of §9."""
    model = read(file)
    fields = ["Mali-G71", "r38p1", "single-best", None, 6690, [], [(2, [4, 8, 300])], [(0, 0, 0)]]
    agree("single-leaf.gtm", list(model.values()), [*fields, bytes([1, 0, 0, 38, 254, 64])])
    agree("f32-nn", select(model, 0, (0, 1, 300, 2**32 - 1)), ([1, 0], 38, 254, 64))
    agree("f32-nt", select(model, 1, (1, 1, 1, 1)), NO_TREE)


def damage(file):
    """The number of truncations and single flipped bits of a file; all are refused."""
    for length in range(len(file)):
        error = refusal(file[:length]).split(":")[0]
        agree(f"single-leaf.gtm, its first {length} bytes", error, "ValueError")
    for bit in range(8 * len(file)):
        flipped = (int.from_bytes(file, "little") ^ 1 << bit).to_bytes(len(file), "little")
        error = refusal(flipped).split(":")[0]
        agree(f"single-leaf.gtm, byte {bit // 8}, bit {bit % 8} flipped", error, "ValueError")
    return 9 * len(file)


def compare_refused(files):
    """The number of files with a right checksum and a wrong content; all are refused."""
    for file in files:
        agree(file.name, refusal(file.read_bytes()).partition(":")[0], "ValueError")
    for version in ("0.1", "1.2"):
        other = next(file for file in files if version in file.name)
        error = f"ValueError: version {version}; this reader knows 1.0 and 1.1"
        agree(other.name, refusal(other.read_bytes()), error)
    return len(files)


def main(folder):
    single_leaf = (folder / "single-leaf.gtm").read_bytes()
    compare_example(single_leaf)
    answers = sum(map(compare_answers, sorted(folder.glob("*.csv"))))
    refused = damage(single_leaf) + compare_refused(sorted(folder.glob("refused/*.gtm")))
    print(f"{answers} answers agree, {refused} damaged files refused")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python3 reader.py GOLDEN_FOLDER")
    main(Path(sys.argv[1]))
