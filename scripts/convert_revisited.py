#!/usr/bin/env python3
"""The ground truth of Revisited Oxford or Paris, from a pickle to JSON.

    scripts/convert_revisited.py gnd_roxford5k.pkl gnd_roxford5k.json

writes what `hgld eval revisited --truth` reads: the names of the images, and for each query
the rows of the gallery that are easy, hard and junk.

    scripts/convert_revisited.py --protocol medium gnd_roxford5k.pkl medium.json

writes what `hgld eval run --qrels` reads: for each query, by name, the positives and the junk
of one protocol. easy: easy rows are right, hard ones and junk are taken out. medium: easy and
hard rows are right, junk is taken out. hard: hard rows are right, easy ones and junk are taken
out.

A pickle can run any program when it is opened. hgld never opens one; this script lets it make
nothing but lists, dictionaries, texts and numbers.
"""
import argparse
import json
import pickle


class Plain(pickle.Unpickler):
    """Opens pickles of plain values and of numpy arrays of them, and no others."""

    ARRAYS = {("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"),
              ("numpy.core.multiarray", "scalar"), ("numpy._core.multiarray", "scalar"), ("numpy", "ndarray"),
              ("numpy", "dtype")}

    def find_class(self, module, name):
        if (module, name) not in self.ARRAYS:
            raise pickle.UnpicklingError(f"the pickle wants to call {module}.{name}; a ground truth has no need of it")
        return super().find_class(module, name)


PROTOCOLS = {"easy": (["easy"], ["hard", "junk"]), "medium": (["easy", "hard"], ["junk"]), "hard": (["hard"], ["easy", "junk"])}


def rows(truth, kinds):
    return sorted(int(row) for kind in kinds for row in truth[kind])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pickle")
    parser.add_argument("json")
    parser.add_argument("--protocol", choices=PROTOCOLS)
    args = parser.parse_args()
    with open(args.pickle, "rb") as f:
        truth = Plain(f).load()
    images, queries = [str(name) for name in truth["imlist"]], [str(name) for name in truth["qimlist"]]
    if len(queries) != len(truth["gnd"]):
        raise SystemExit(f"{args.pickle}: {len(queries)} queries and the truth of {len(truth['gnd'])}")
    if args.protocol:
        right, out = PROTOCOLS[args.protocol]
        made = {query: {"positives": [images[row] for row in rows(t, right)], "junk": [images[row] for row in rows(t, out)]}
                for query, t in zip(queries, truth["gnd"])}
    else:
        made = {"imlist": images, "qimlist": queries,
                "gnd": [{kind: rows(t, [kind]) for kind in ("easy", "hard", "junk")} for t in truth["gnd"]]}
    with open(args.json, "w") as f:
        json.dump(made, f)


main()
