#!/usr/bin/env python3
"""Hides the supercategories of a third of the classes of a manifest, for the study mixed-depth.

    uneven_manifest.py MANIFEST.csv LEVELS OUT.csv

A third of the finest classes is the split test. Of the others, a third lacks all coarser levels: its images are
the split val. The same images with all levels are the split index, and the images of the remaining classes are
the split train. The classes are chosen by the hash of their names.
"""
import csv
import hashlib
import sys

manifest, levels, out = sys.argv[1], sys.argv[2].split(","), sys.argv[3]


def third(salt, name):
    return hashlib.sha256(f"{salt}/{name}".encode()).digest()[0] % 3 == 0


with open(manifest, newline="") as source, open(out, "w", newline="") as target:
    rows = csv.DictReader(source)
    writer = csv.DictWriter(target, ["path", "image_id", "split", *levels])
    writer.writeheader()
    for row in rows:
        fine = row[levels[0]]
        full = {"path": row["path"], "image_id": row["path"], **{level: row[level] for level in levels}}
        if third("test", fine):
            writer.writerow({**full, "split": "test"})
        elif third("hidden", fine):
            hidden = {level: "" for level in levels[1:]}
            writer.writerow({**full, **hidden, "split": "val"})
            writer.writerow({**full, "split": "index", "image_id": "full/" + row["path"]})
        else:
            writer.writerow({**full, "split": "train"})
