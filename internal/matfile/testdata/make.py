#!/usr/bin/env python3
"""Makes the files beside it with SciPy 1.17: make.py FOLDER. Needs scipy and numpy."""
import sys

import numpy as np
from scipy.io import savemat

car = np.dtype([(name, object) for name in ("relative_im_path", "bbox_x1", "class", "test")])
cars = np.empty((1, 3), dtype=car)
for i, (number, test) in enumerate([(1, 0), (98, 1), (99, 0)]):
    cars[0, i] = (f"car_ims/{i + 1:06d}.jpg", np.uint16(112 + i), np.uint8(number), np.uint8(test))
names = np.array([["AM General Hummer SUV 2000", "Citroën C3", "x"]], dtype=object)
variables = {"annotations": cars, "class_names": names, "numbers": np.array([[1.5, -2], [3, 4]]), "long": np.arange(9, dtype=np.int64),
             "single": np.float32([[0.25]]), "flag": np.array([[True]]), "none": np.zeros((0, 0))}
for name, compress in (("plain", False), ("compressed", True)):
    savemat(f"{sys.argv[1]}/{name}.mat", variables, do_compression=compress)

# Cars196 with two images each of classes 1 to 4, 99 and 100.
some = {1: "AM General Hummer SUV 2000", 2: "Acura RL Sedan 2012", 3: "Acura TL Sedan 2012", 4: "Land Rover LR2 SUV 2012",
        99: "Acura Test Coupe 2012", 100: "Volvo C30 Hatchback 2012"}
classes = [number for number in some for _ in range(2)]
cars = np.empty((1, len(classes)), dtype=np.dtype([(name, object) for name in (
    "relative_im_path", "bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", "class", "test")]))
for i, number in enumerate(classes):
    cars[0, i] = (f"car_ims/{i + 1:06d}.jpg", np.uint16(1), np.uint8(2), np.uint16(8), np.uint8(9), np.uint8(number), np.uint8(i % 2))
names = np.array([[some.get(n, f"Make{n} Car 2012") for n in range(1, 197)]], dtype=object)
savemat(f"{sys.argv[1]}/cars_annos.mat", {"annotations": cars, "class_names": names}, do_compression=True)
