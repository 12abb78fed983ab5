"""How long OpenDP takes for a draw of noise, in the lines that reports/samplers prints: scales of its discrete Laplace
distribution, then of its discrete Gaussian one. A call adds noise to a list of many integers; the time that the list's
conversion takes alone, by a transformation that changes nothing, is subtracted."""

import sys
import time

import opendp.prelude as dp

dp.enable_features("contrib", "honest-but-curious")
DRAWS = 10_000
ZEROS = [0] * DRAWS
INTEGERS = dp.vector_domain(dp.atom_domain(T=int))


def nanoseconds(call):
    call(ZEROS[:100])
    begin = time.perf_counter()
    call(ZEROS)
    return (time.perf_counter() - begin) / DRAWS * 1e9


lists = nanoseconds(dp.t.make_identity(INTEGERS, dp.symmetric_distance()))
for law, make, distance, scales in [
    ("laplace", dp.m.make_laplace, dp.l1_distance(T=int), sys.argv[1]),
    ("gaussian", dp.m.make_gaussian, dp.l2_distance(T=float), sys.argv[2]),
]:
    for scale in scales.split(","):
        measurement = make(INTEGERS, distance, scale=float(scale))
        print(law, scale, "opendp", f"{nanoseconds(measurement) - lists:.3f}")
