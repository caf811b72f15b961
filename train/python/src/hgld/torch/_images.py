"""Images as hgld decodes them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hgld._library import HgldError


def decoded(image: Any) -> Any:
    """A PIL image in RGB, upright, on white where it is transparent, with the upper eight bits of sixteen."""
    from PIL import Image, ImageOps

    if not isinstance(image, Image.Image):
        raise HgldError(f"an image is {type(image).__name__}, want one of PIL: Image.open and Image.fromarray make it")
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):  # 16 bits, which Pillow would cut off at 255
        image = Image.fromarray((np.clip(np.asarray(image), 0, 65535) >> 8).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        pixels = np.asarray(image.convert("RGBA")).astype(np.int32)
        colour, opacity = pixels[..., :3], pixels[..., 3:]
        image = Image.fromarray(((colour * opacity + 255 * (255 - opacity) + 127) // 255).astype(np.uint8))
    return image.convert("RGB")
