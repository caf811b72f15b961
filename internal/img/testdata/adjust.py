"""Prints adjust.csv: what Pillow and torchvision make of two small images.

    pip install pillow torchvision; python adjust.py > adjust.csv
"""
import hashlib
import math

import numpy as np
import PIL
from PIL import Image
import torchvision
from torchvision.transforms import functional as F
from torchvision.transforms import InterpolationMode

W, H = 61, 47


def noise():
    state = np.uint32(2463534242)
    out = bytearray()
    x = int(state)
    for _ in range(W * H * 3):  # xorshift32 (Marsaglia 2003)
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
        out.append(x & 255)
    return Image.frombytes("RGB", (W, H), bytes(out))


def slope():
    return Image.frombytes("RGB", (W, H), bytes(v for y in range(H) for x in range(W)
                                                for v in (40 + 3 * x, 20 + (5 * y + x) % 150, (x * y) % 256)))


def grey():
    return Image.new("RGB", (W, H), (90, 90, 90))


near = InterpolationMode.NEAREST
OPS = {
    "brightness": (F.adjust_brightness, [0, 0.1, 0.55, 1, 1.37, 1.9]),
    "contrast": (F.adjust_contrast, [0, 0.1, 0.55, 1, 1.37, 1.9]),
    "saturation": (F.adjust_saturation, [0, 0.1, 0.55, 1, 1.37, 1.9]),
    "sharpness": (F.adjust_sharpness, [0, 0.1, 0.55, 1, 1.37, 1.9]),
    "hue": (F.adjust_hue, [-0.5, -0.213, -0.05, 0, 0.1, 0.37, 0.5]),
    "posterize": (F.posterize, [1, 4, 5, 8]),
    "solarize": (F.solarize, [0, 42.5, 127.5, 255]),
    "autocontrast": (lambda m, _: F.autocontrast(m), [0]),
    "equalize": (lambda m, _: F.equalize(m), [0]),
    "shear_x": (lambda m, a: F.affine(m, 0, [0, 0], 1, [math.degrees(math.atan(a)), 0], near, center=[0, 0]), [-0.3, -0.07, 0.12, 0.29]),
    "shear_y": (lambda m, a: F.affine(m, 0, [0, 0], 1, [0, math.degrees(math.atan(a))], near, center=[0, 0]), [-0.3, -0.07, 0.12, 0.29]),
    "translate_x": (lambda m, a: F.affine(m, 0, [int(a), 0], 1, [0, 0], near), [-27, -3, 0, 11]),
    "translate_y": (lambda m, a: F.affine(m, 0, [0, int(a)], 1, [0, 0], near), [-21, -3, 0, 11]),
    "rotate": (lambda m, a: F.rotate(m, a, near), [-30, -7.5, 0, 3, 22.25]),
}

print(f"# SHA-256 of the pixels that torchvision {torchvision.__version__.split('+')[0]} with Pillow {PIL.__version__} makes.")
print("operation,argument,image,sha256")
for name, (op, arguments) in OPS.items():
    for argument in arguments:
        for image in (noise, slope, grey):
            out = op(image(), argument)
            print(f"{name},{argument},{image.__name__},{hashlib.sha256(out.tobytes()).hexdigest()}")
