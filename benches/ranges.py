"""What benches/ranges compares with: prints the processor's seconds for a histogram of 2^K bins.

cascade K: cascade sampling as Dharangutte et al. 2025 publish it, a recursion that gives every node of the binary tree
its noise, one normal variate at a time; then the noisy histogram.
arrays K: the same, written for speed: a level at a time, in arrays.
opendp K B: OpenDP's tree with B branches and discrete Laplace noise. Three numbers: the tree alone, the tree with
noise, the consistent histogram made of that.

The first two are sums of floating-point numbers: how fast that is, not a private release.
"""

import random
import sys
import time
from math import sqrt

SIGMA = 10.0  # no time depends on it


def descend(noise, node, depth):
    """Algorithm 1 below a node, which its path names."""
    if depth == 0:
        return
    fresh = random.gauss(0.0, SIGMA)
    noise[node + "0"] = noise[node] / 2 + sqrt(3) / 2 * fresh
    noise[node + "1"] = noise[node] / 2 - sqrt(3) / 2 * fresh
    descend(noise, node + "0", depth - 1)
    descend(noise, node + "1", depth - 1)


def cascade(counts, depth):
    noise = {"": random.gauss(0.0, SIGMA)}
    descend(noise, "", depth)
    return [count + noise[format(leaf, f"0{depth}b")] for leaf, count in enumerate(counts)]


def arrays(counts, depth):
    import numpy

    generator = numpy.random.default_rng()
    noise = generator.normal(0.0, SIGMA, 1)
    for _ in range(depth):
        fresh = sqrt(3) / 2 * generator.normal(0.0, SIGMA, noise.size)
        noise = numpy.column_stack((noise / 2 + fresh, noise / 2 - fresh)).ravel()
    return counts + noise


def opendp(counts, branching):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    tree = dp.t.make_b_ary_tree(
        dp.vector_domain(dp.atom_domain(T=int)),
        dp.l1_distance(T=int),
        leaf_count=len(counts),
        branching_factor=branching,
    )
    levels = tree.map(1)  # a row is counted once in each
    noisy_tree = tree >> dp.m.then_laplace(scale=float(levels))
    consistent = dp.t.make_consistent_b_ary_tree(branching_factor=branching)
    timed(tree, counts)
    noisy = timed(noisy_tree, counts)
    timed(consistent, noisy)


def timed(function, *arguments):
    begin = time.process_time()
    result = function(*arguments)
    print(time.process_time() - begin, end=" ")
    return result


def main(program, depth, *branching):
    counts = [bin % 7 for bin in range(1 << int(depth))]
    if program == "cascade":
        timed(cascade, counts, int(depth))
    elif program == "arrays":
        import numpy

        timed(arrays, numpy.array(counts), int(depth))
    elif program == "opendp":
        opendp(counts, int(*branching))
    print()


main(*sys.argv[1:])
