"""Makes the sample files beside it; SOURCE.md says with which programs. Usage: make.py HEIF_ENC AVIFDEC"""

import subprocess
import sys

import numpy as np
import pillow_heif
from PIL import Image

W, H = 37, 26


def drawn():
    y, x = np.mgrid[0:H, 0:W].astype(float)
    a = np.stack([40 + 170 * x / (W - 1), 200 - 140 * y / (H - 1), 90 + 60 * np.sin((x + y) / 12)], -1)
    a[3:11, 4:14] = [220, 40, 40]
    a[(x - 26) ** 2 + (y - 16) ** 2 < 36] = [30, 90, 220]
    return a.round().clip(0, 255).astype("uint8")


def opacity():
    y, x = np.mgrid[0:H, 0:W]
    return np.where((x - 18) ** 2 + (y - 13) ** 2 < 100, 255, np.where(x < 18, 128, 0)).astype("uint8")


def enc(out, image, *options):
    image.save("/tmp/in.png")
    subprocess.run([sys.argv[1], *options, "-o", out, "/tmp/in.png"], check=True, stdout=subprocess.DEVNULL)


def decoded(name):
    if name.endswith(".avif"):
        subprocess.run([sys.argv[2], "-u", "nearest", name, "/tmp/out.png"], check=True, stdout=subprocess.DEVNULL)
        return Image.open("/tmp/out.png")
    return pillow_heif.open_heif(name, convert_hdr_to_8bit=True).to_pillow()


def main():
    rgb = Image.fromarray(drawn())
    rgba = Image.fromarray(np.dstack([drawn(), opacity()]))
    enc("lossy.heic", rgb, "-q", "80")
    enc("444.heic", rgb, "-q", "90", "-p", "chroma=444")
    enc("alpha.heic", rgba, "-q", "80")
    enc("lossy.avif", rgb, "-A", "-q", "80")
    enc("alpha.avif", rgba, "-A", "-q", "80")

    # As phones store it: the box irot, and the EXIF orientation that says the same.
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = pillow_heif.from_pillow(rgb)
    turned.save("turned.heic", quality=80, exif=exif.tobytes())
    data = open("turned.heic", "rb").read()
    assert b"irot" in data and b"\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06" in data

    pillow_heif.options.SAVE_HDR_TO_12_BIT = False
    deep = pillow_heif.from_bytes("RGB;16", (W, H), (drawn().astype("uint16") * 257).tobytes())
    deep.save("10bit.heic", quality=80)

    for name in ["lossy.heic", "444.heic", "alpha.heic", "turned.heic", "10bit.heic", "lossy.avif", "alpha.avif"]:
        m = decoded(name)
        white = Image.new("RGBA", m.size, "white")
        white.alpha_composite(m.convert("RGBA"))
        white.convert("RGB").save(name + ".png", optimize=True)
        print(name, m.size, m.mode)


main()
