"""Makes image files that are odd, and that other programs show: made_up_images.py FOLDER.

Each has four quarters in four colours. scripts/check_images compares decoders on them, and
internal/img/testdata/lenient has some of them.
"""
import io
import os
import struct
import sys
import zlib

import numpy as np
from PIL import Image

W, H = 128, 96
COLOURS = np.array([[200, 30, 40], [40, 190, 60], [30, 60, 200], [230, 220, 90]], np.uint8)


def quarters(w, h):
    at = 2 * (np.arange(h) >= h // 2)[:, None] + (np.arange(w) >= w // 2)
    return at.astype(np.uint8), COLOURS[at]


INDEX, Q = quarters(W, H)
PICTURE = Image.fromarray(Q)


def put(name, data):
    with open(os.path.join(sys.argv[1], name), "wb") as f:
        f.write(data)


def saved(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


# --- JPEG

BASE = saved(PICTURE, "JPEG", quality=95)


def segments(data):
    """Lists (marker, start, end) up to the first scan."""
    found, at = [], 2
    while not found or found[-1][0] != 0xDA:
        n = struct.unpack(">H", data[at + 2:at + 4])[0]
        found.append((data[at + 1], at, at + 2 + n))
        at += 2 + n
    return found


def without(data, marker):
    parts = segments(data)
    return data[:2] + b"".join(data[a:b] for m, a, b in parts if m != marker) + data[parts[-1][2]:]


def segment(marker, body):
    return bytes([0xFF, marker]) + struct.pack(">H", len(body) + 2) + body


def with_segment(data, marker, body):
    return data[:2] + segment(marker, body) + data[2:]


def exif(orientation, order="<", kind=3, second=None):
    """Returns a TIFF block; kind 1 is BYTE, 3 SHORT, 4 LONG. second is the orientation of a thumbnail."""
    value = {1: bytes([orientation, 0, 0, 0]), 3: struct.pack(order + "HH", orientation, 0),
             4: struct.pack(order + "I", orientation)}[kind]
    block = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "IH", 8, 1)
    block += struct.pack(order + "HHI", 0x112, kind, 1) + value
    if second is None:
        return block + struct.pack(order + "I", 0)
    return block + struct.pack(order + "IH", len(block) + 4, 1) + struct.pack(order + "HHIHHI", 0x112, 3, 1, second, 0, 0)


def huffman():
    """Returns the standard tables, which Pillow writes: (class, id) -> symbol -> (code, bits)."""
    tables = {}
    for marker, a, b in segments(BASE):
        body = BASE[a + 4:b] if marker == 0xC4 else b""
        while body:
            counts, symbols, code = body[1:17], body[17:17 + sum(body[1:17])], 0
            table = tables[body[0] >> 4, body[0] & 15] = {}
            for bits, count in enumerate(counts, 1):
                for _ in range(count):
                    table[symbols[len(table)]] = code, bits
                    code += 1
                code <<= 1
            body = body[17 + sum(counts):]
    return tables


TABLES = huffman()
ZIGZAG = sorted(range(64), key=lambda i: (i // 8 + i % 8, (i // 8 if (i // 8 + i % 8) % 2 else i % 8)))
DCT = np.array([[np.sqrt((1 + (u > 0)) / 8) * np.cos((2 * x + 1) * u * np.pi / 16) for x in range(8)] for u in range(8)])


class Bits:
    def __init__(self):
        self.value, self.count = 0, 0

    def add(self, code, bits):
        self.value, self.count = self.value << bits | code, self.count + bits

    def number(self, v, table, run=0):
        size = int(abs(v)).bit_length()
        self.add(*table[run << 4 | size])
        self.add(v if v >= 0 else v + (1 << size) - 1, size)

    def data(self):
        pad = -self.count % 8
        whole = (self.value << pad | (1 << pad) - 1).to_bytes((self.count + pad) // 8, "big")
        return whole.replace(b"\xff", b"\xff\0")


def encoded(picture, sampling, restart=0, interleaved=True, progressive=False, inverted=False):
    """Encodes the channels of an array, each sampled by (horizontal, vertical); the largest are full."""
    h, w, n = picture.shape
    most = max(s[0] for s in sampling), max(s[1] for s in sampling)
    across, down = -(-w // (8 * most[0])), -(-h // (8 * most[1]))  # MCUs
    planes = []
    for c, (sh, sv) in enumerate(sampling):
        x = (np.arange(across * 8 * sh) * most[0] // sh).clip(max=w - 1)
        y = (np.arange(down * 8 * sv) * most[1] // sv).clip(max=h - 1)
        blocks = picture[y][:, x, c].astype(float).reshape(down * sv, 8, across * sh, 8).transpose(0, 2, 1, 3) - 128
        planes.append(np.rint(DCT @ blocks @ DCT.T).astype(int).reshape(down * sv, across * sh, 64)[..., ZIGZAG])
    out = b"\xff\xd8" + (segment(0xEE, b"Adobe\0\x64\0\0\0\0\2") if inverted else b"")
    out += segment(0xDB, b"\0" + bytes([1] * 64)) + b"".join(BASE[a:b] for m, a, b in segments(BASE) if m == 0xC4)
    parts = b"".join(bytes([c + 1, sh << 4 | sv, 0]) for c, (sh, sv) in enumerate(sampling))
    out += segment(0xC2 if progressive else 0xC0, struct.pack(">BHHB", 8, h, w, n) + parts)
    out += segment(0xDD, struct.pack(">H", restart)) if restart else b""

    def scan(channels, first, last):
        units = []  # of each MCU: its blocks
        if len(channels) > 1:
            for my in range(down):
                for mx in range(across):
                    units.append([(c, my * sampling[c][1] + y, mx * sampling[c][0] + x) for c in channels
                                  for y in range(sampling[c][1]) for x in range(sampling[c][0])])
        else:
            c, = channels
            rows, columns = -(-(-(-h * sampling[c][1] // most[1])) // 8), -(-(-(-w * sampling[c][0] // most[0])) // 8)
            units = [[(c, y, x)] for y in range(rows) for x in range(columns)]
        head = bytes([len(channels)]) + b"".join(bytes([c + 1, 0x11 * (c in (1, 2))]) for c in channels)
        data, bits, before = segment(0xDA, head + bytes([first, last, 0])), Bits(), [0] * n
        for i, unit in enumerate(units):
            if restart and i and i % restart == 0:
                data, bits, before = data + bits.data() + bytes([0xFF, 0xD0 + (i // restart - 1) % 8]), Bits(), [0] * n
            for c, y, x in unit:
                block = [int(v) for v in planes[c][y, x]]
                if first == 0:
                    bits.number(block[0] - before[c], TABLES[0, c in (1, 2)])
                    before[c] = block[0]
                ac, run = TABLES[1, c in (1, 2)], 0
                for v in block[max(first, 1):last + 1]:
                    if v == 0:
                        run += 1
                        continue
                    for _ in range(run // 16):
                        bits.add(*ac[0xF0])
                    bits.number(v, ac, run % 16)
                    run = 0
                if run and last:
                    bits.add(*ac[0])
        return data + bits.data()

    everything = list(range(n))
    if progressive:
        out += scan(everything, 0, 0) + b"".join(scan([c], 1, 63) for c in everything)
    elif interleaved:
        out += scan(everything, 0, 63)
    else:
        out += b"".join(scan([c], 0, 63) for c in everything)
    return out + b"\xff\xd9"


def jpegs():
    for o in range(1, 9):
        put(f"exif_{o}.jpg", with_segment(BASE, 0xE1, b"Exif\0\0" + exif(o, ">")))
    for order, name in (("<", "ii"), (">", "mm")):
        put(f"exif_byte_{name}.jpg", with_segment(BASE, 0xE1, b"Exif\0\0" + exif(6, order, 1)))
        put(f"exif_long_{name}.jpg", with_segment(BASE, 0xE1, b"Exif\0\0" + exif(6, order, 4)))
    put("exif_thumbnail_6.jpg", with_segment(BASE, 0xE1, b"Exif\0\0" + exif(1, second=6)))
    put("exif_9.jpg", with_segment(BASE, 0xE1, b"Exif\0\0" + exif(9)))
    put("mjpeg_no_dht.jpg", without(BASE, 0xC4))
    put("junk_before_eoi.jpg", BASE[:-2] + b"\x00\x17\x22" + BASE[-2:])
    second = segments(BASE)[1][1]
    put("fill_bytes.jpg", BASE[:second] + b"\xff\xff\xff" + BASE[second:])
    put("trailing_zip.jpg", BASE + b"PK\x03\x04" + b"x" * 3000)
    put("mpo.jpg", saved(PICTURE, "MPO", save_all=True, append_images=[Image.fromarray(255 - Q)], quality=95))
    put("rgb.jpg", saved(PICTURE, "JPEG", keep_rgb=True, quality=95))
    put("prog_rst.jpg", saved(PICTURE, "JPEG", progressive=True, restart_marker_blocks=3, quality=95))
    cmyk = PICTURE.convert("CMYK")
    put("cmyk_adobe.jpg", saved(cmyk, "JPEG", quality=95))
    put("cmyk_noadobe.jpg", without(saved(cmyk, "JPEG", quality=95), 0xEE))
    odd = quarters(123, 91)[1]
    ycc = np.array(Image.fromarray(odd).convert("YCbCr"))
    samplings = {"s_2x2_1x1_1x2": ((2, 2), (1, 1), (1, 2)), "s_2x1_1x1_2x1": ((2, 1), (1, 1), (2, 1)),
                 "s_1x1_2x2_2x2": ((1, 1), (2, 2), (2, 2)), "s_3x1": ((3, 1), (1, 1), (1, 1)),
                 "s_1x4": ((1, 4), (1, 1), (1, 1)), "s_4x1": ((4, 1), (1, 1), (1, 1)), "s_2x2": ((2, 2), (1, 1), (1, 1))}
    for name, sampling in samplings.items():
        put(name + ".jpg", encoded(ycc, sampling))
        put(name.replace("s_", "p_") + ".jpg", encoded(ycc, sampling, progressive=True))
        put(name + "_rst.jpg", encoded(ycc, sampling, progressive=True, restart=5))
    put("noninterleaved_restart.jpg", encoded(ycc, samplings["s_2x2"], restart=3, interleaved=False))
    ycck = np.dstack([np.array(Image.fromarray(255 - Q).convert("YCbCr")), np.full((H, W, 1), 255, np.uint8)])
    for name, first in {"444": (1, 1), "422": (2, 1), "420": (2, 2)}.items():
        sampling = (first, (1, 1), (1, 1), first)
        put(f"ycck_{name}.jpg", encoded(ycck, sampling, inverted=True))


# --- PNG

def chunk(kind, body, damaged=False):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body) ^ 0x5A5A * damaged)


def png(colour, bits, rows, before=b"", after=b"", tail=b""):
    head = struct.pack(">IIBBBBB", W, H, bits, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + before + chunk(b"IDAT", zlib.compress(rows)) + after \
        + chunk(b"IEND", b"") + tail


def pngs():
    rgb = b"".join(b"\0" + row.tobytes() for row in Q)
    palette = b"".join(b"\0" + row.tobytes() for row in INDEX)
    plte, trns = chunk(b"PLTE", COLOURS.tobytes()), chunk(b"tRNS", bytes([0, 128]))
    put("png_iccp_badcrc.png", png(2, 8, rgb, chunk(b"iCCP", b"x\0\0" + zlib.compress(b"zz" * 40), True)))
    put("png_text_badcrc.png", png(2, 8, rgb, chunk(b"tEXt", b"Software\0x", True)))
    put("png_exif_after.png", png(2, 8, rgb, after=chunk(b"eXIf", exif(6))))
    put("png_exif_before.png", png(2, 8, rgb, chunk(b"eXIf", exif(8, ">"))))
    put("png_extra_data.png", png(2, 8, rgb + bytes(400)))
    put("png_empty_idat.png", png(2, 8, rgb, after=chunk(b"IDAT", b"")))
    put("png_tail.png", png(2, 8, rgb, tail=bytes(5000)))
    put("png_palette.png", png(3, 8, palette, plte))
    put("png_palette_trns.png", png(3, 8, palette, plte + trns))
    put("png_trns_before_plte.png", png(3, 8, palette, trns + plte))
    put("png_colour_key.png", png(2, 8, rgb, chunk(b"tRNS", struct.pack(">HHH", 200, 30, 40))))
    deep = b"".join(b"\0" + (row.astype(">u2") * 257).tobytes() for row in Q)
    put("png_rgb16.png", png(2, 16, deep))
    put("apng.png", saved(PICTURE, "PNG", save_all=True, append_images=[Image.fromarray(255 - Q)]))


# --- GIF, BMP, TIFF, WebP

def gifs():
    indexed = Image.fromarray(INDEX, "P")
    indexed.putpalette(COLOURS.tobytes())
    gif = saved(indexed, "GIF")
    frame = gif.index(b",", 13 + 3 * (2 << (gif[10] & 7)))
    put("gif.gif", gif)
    put("gif_no_trailer.gif", gif.rstrip(b";"))
    put("gif_transparent.gif", saved(indexed, "GIF", transparency=0))
    for name, at, w, h in (("frame_larger", 6, W - 20, H - 20), ("screen_0", 6, 0, 0), ("frame_smaller", 6, W + 32, H + 32),
                           ("too_much_data", frame + 5, W, H - 8)):
        put(f"gif_{name}.gif", gif[:at] + struct.pack("<HH", w, h) + gif[at + 4:])


def bmp(bits, data, packed=0, beside=b"", top_down=False):
    start = 54 + len(beside)
    return b"BM" + struct.pack("<IHHIIiiHHIIiiII", start + len(data), 0, 0, start, 40, W, -H if top_down else H, 1, bits,
                               packed, len(data), 2835, 2835, 0, 0) + beside + data


def bmps():
    wide = Q.astype(int)
    r, g, b = wide[::-1, :, 0], wide[::-1, :, 1], wide[::-1, :, 2]
    colours = b"".join(bytes(c[::-1]) + b"\0" for c in COLOURS)
    runs = {8: b"", 4: b""}
    for row in INDEX[::-1]:
        for bits, step in ((8, 1), (4, 17)):
            runs[bits] += bytes([W // 2, row[0] * step, W // 2, row[-1] * step, 0, 0])
    put("bmp24.bmp", bmp(24, Q[::-1, :, ::-1].tobytes()))
    put("bmp24_top_down.bmp", bmp(24, Q[:, :, ::-1].tobytes(), top_down=True))
    put("bmp16_565.bmp", bmp(16, (r >> 3 << 11 | g >> 2 << 5 | b >> 3).astype("<u2").tobytes(), 3,
                             struct.pack("<III", 0xF800, 0x7E0, 0x1F)))
    put("bmp16_555.bmp", bmp(16, (r >> 3 << 10 | g >> 3 << 5 | b >> 3).astype("<u2").tobytes()))
    put("bmp_rle8.bmp", bmp(8, runs[8] + b"\0\1", 1, colours + bytes(4 * 252)))
    put("bmp_rle4.bmp", bmp(4, runs[4] + b"\0\1", 2, colours + bytes(4 * 12)))


def tiffs():
    for kind in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg", "zstd", "lzma"):
        put(f"tiff_{kind.removeprefix('tiff_')}.tif", saved(PICTURE, "TIFF", compression=kind))
    put("tiff_orientation.tif", saved(PICTURE, "TIFF", tiffinfo={274: 6}))
    put("tiff_cmyk.tif", saved(PICTURE.convert("CMYK"), "TIFF"))
    put("tiff_pages.tif", saved(PICTURE, "TIFF", save_all=True, append_images=[Image.fromarray(255 - Q)]))


def webps():
    second = [Image.fromarray(255 - Q)]
    put("webp.webp", saved(PICTURE, "WEBP", lossless=True))
    put("webp_exif.webp", saved(PICTURE, "WEBP", lossless=True, exif=exif(6)))
    put("webp_moving.webp", saved(PICTURE, "WEBP", save_all=True, append_images=second, lossless=True))


os.makedirs(sys.argv[1], exist_ok=True)
for make in (jpegs, pngs, gifs, bmps, tiffs, webps):
    make()
