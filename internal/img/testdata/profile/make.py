"""Makes the files beside it with Pillow: pictures with an ICC profile in each format, and list.csv, the profiles that
Pillow finds in the photographs of $HGLD_SHARED/data/jpeg. Usage: make.py HGLD_SHARED"""

import csv
import hashlib
import pathlib
import sys
import warnings

from PIL import Image, ImageCms

here, data = pathlib.Path(__file__).parent, pathlib.Path(sys.argv[1]) / "data/jpeg"
profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
profile = profile[:24] + bytes([7, 234, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0]) + profile[36:]  # the same date each time
(here / "rgb.icc").write_bytes(profile)
picture = Image.linear_gradient("L").resize((8, 6)).convert("RGB")
for ending in ["jpg", "png", "webp", "tiff", "avif"]:
    picture.save(here / f"rgb.{ending}", icc_profile=profile)
animation = [picture, picture.rotate(180)]
animation[0].save(here / "animation.webp", save_all=True, append_images=animation[1:], icc_profile=profile)

warnings.simplefilter("ignore")
Image.MAX_IMAGE_PIXELS = None
with open(here / "list.csv", "w", newline="") as f:
    out = csv.writer(f, lineterminator="\n")
    out.writerow(["file", "space", "sha256"])
    for path in sorted(data.rglob("*.jp*g")):
        try:
            found = Image.open(path).info.get("icc_profile")
        except OSError:
            continue
        if found:
            space = found[16:20].decode().strip() or "damaged"
            out.writerow([path.relative_to(data).as_posix(), space, hashlib.sha256(found).hexdigest()])
