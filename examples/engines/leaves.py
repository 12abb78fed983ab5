"""Leaves that another engine has counted, in the binary form of COPY, for psql:

    python3 count_with_duckdb.py person.csv household.csv |
        psql -c 'BEGIN' -c 'LOCK leaves IN SHARE ROW EXCLUSIVE MODE' -c 'DELETE FROM leaves' \\
             -c 'COPY leaves FROM STDIN (FORMAT binary)' -c 'COMMIT'

docs/reference/types.md#binary-forms tells how a histogram is written."""

import struct
import sys


def varint(number):
    """LEB128: seven bits a byte, the lowest first; all bytes but the last have the highest bit set."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def coco(histogram):
    """A value of type coco: {size: groups}."""
    runs = sorted((size, groups) for size, groups in histogram.items() if groups)
    return b"\x01" + varint(len(runs)) + b"".join(varint(size) + varint(groups) for size, groups in runs)


def write(rows, out=sys.stdout.buffer):
    """Rows of regions' names, then a histogram; the columns of the table are of types text and coco.

    All at once, when all is counted: COPY takes an end between two rows for that of the file."""
    copied = bytearray(b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0))
    for *path, histogram in rows:
        fields = [name.encode() for name in path] + [coco(histogram)]
        copied += struct.pack(">h", len(fields)) + b"".join(struct.pack(">i", len(field)) + field for field in fields)
    out.write(copied + struct.pack(">h", -1))
