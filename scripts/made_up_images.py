"""Makes image files that are odd, and that other programs show: made_up_images.py FOLDER.

Each has four quarters in four colours. scripts/check_images compares decoders on them, and
internal/img/testdata/lenient has some of them.
"""
import base64
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


ARITHMETIC = (
    "/wDcp6+hHdy7uCQ1Vutt85ZQBeV8GP4YyMZldxlIeQ5TrpW6Uxge68vePNZcGf7FFOtvnwBLE7zV5xnAHGQ1mSfn0MZE+BP3Mfja"
)


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
    wide = {"s_4x2": ((4, 2), (1, 1), (1, 1)), "s_1x2": ((1, 2), (1, 1), (1, 1)), "s_2x2_2x1": ((2, 2), (2, 1), (2, 1)),
            "s_1x1_1x2": ((1, 1), (1, 2), (1, 2)), "s_2x1_1x2_1x1": ((2, 1), (1, 2), (1, 1)), "s_2x4": ((2, 4), (1, 1), (1, 1))}
    for name, sampling in wide.items():
        put(name + ".jpg", encoded(ycc, sampling))
    put("grey_2x2.jpg", encoded(ycc[..., :1], ((2, 2),)))
    put("grey_progressive_2x1.jpg", encoded(ycc[..., :1], ((2, 1),), progressive=True, restart=4))
    named = encoded(odd, ((1, 1),) * 3)  # components called R, G, B, which says that they are
    named = named.replace(bytes([1, 0x11, 0, 2, 0x11, 0, 3, 0x11, 0]), b"R\x11\0G\x11\0B\x11\0")
    named = named.replace(bytes([3, 1, 0, 2, 0x11, 3, 0x11]), b"\3R\0G\x11B\x11")
    put("rgb_by_names.jpg", named)
    adobe = b"Adobe\0\x64\0\0\0\0"
    put("adobe_ycc.jpg", with_segment(without(BASE, 0xE0), 0xEE, adobe + b"\1"))
    put("adobe_rgb_jfif.jpg", BASE[:20] + segment(0xEE, adobe + b"\0") + BASE[20:])  # JFIF comes before Adobe
    put("adobe_unknown.jpg", with_segment(without(BASE, 0xE0), 0xEE, adobe + b"\7"))
    put("no_jfif.jpg", without(BASE, 0xE0))
    # Arithmetic coding, which jpegtran of libjpeg-turbo 2.1.5 made of BASE.
    coded = without(BASE, 0xC4).replace(b"\xff\xc0", b"\xff\xc9")
    scan = coded.index(b"\xff\xda") + 14
    put("arithmetic.jpg", coded[:scan] + base64.b64decode(ARITHMETIC) + b"\xff\xd9")
    put("cmyk_progressive.jpg", saved(cmyk, "JPEG", progressive=True, quality=95))
    put("huge.jpg", saved(Image.fromarray(INDEX * 60).resize((8960, 7200), Image.Resampling.NEAREST), "JPEG", quality=90))
    for name, first in {"444": (1, 1), "422": (2, 1), "420": (2, 2)}.items():
        sampling = (first, (1, 1), (1, 1), first)
        put(f"ycck_{name}.jpg", encoded(ycck, sampling, inverted=True))


# --- PNG

def chunk(kind, body, damaged=False):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body) ^ 0x5A5A * damaged)


def pack(row, bits):
    """Packs small numbers into bytes."""
    each = 8 // bits
    row = np.pad(row, (0, -len(row) % each)).reshape(-1, each).astype(int)
    return (row << (8 - bits * (1 + np.arange(each)))).sum(1).astype(np.uint8).tobytes()


def adam7(index, bits):
    passes = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
    return b"".join(b"\0" + pack(row, bits) for x, y, dx, dy in passes for row in index[y::dy, x::dx])


def png(colour, bits, rows, before=b"", after=b"", tail=b"", interlaced=0):
    head = struct.pack(">IIBBBBB", W, H, bits, colour, 0, 0, interlaced)
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
    key16 = struct.pack(">HHH", 200 * 257, 30 * 257, 40 * 257)
    put("png_rgb16_colour_key.png", png(2, 16, deep, chunk(b"tRNS", key16)))
    put("png_rgb16_near_key.png", png(2, 16, deep, chunk(b"tRNS", struct.pack(">HHH", 200 * 257 + 1, 30 * 257, 40 * 257))))
    grey = INDEX * 85
    put("png_grey16_colour_key.png", png(0, 16, b"".join(b"\0" + (row.astype(">u2") * 257).tobytes() for row in grey),
                                         chunk(b"tRNS", struct.pack(">H", 85 * 257))))
    both = np.dstack([grey, 255 - grey]).astype(">u2") * 257
    put("png_grey_alpha16.png", png(4, 16, b"".join(b"\0" + row.tobytes() for row in both)))
    for bits in (1, 2, 4, 8):
        index = INDEX % 2 if bits == 1 else INDEX
        put(f"png_palette{bits}_adam7.png", png(3, bits, adam7(index, bits), plte + trns, interlaced=1))
        put(f"png_grey{bits}_key.png", png(0, bits, b"".join(b"\0" + pack(row, bits) for row in index),
                                           chunk(b"tRNS", b"\0\1")))
    put("png_phys_badcrc.png", png(2, 8, rgb, chunk(b"pHYs", struct.pack(">IIB", 2835, 2835, 1), True)))
    put("png_exif_badcrc.png", png(2, 8, rgb, chunk(b"eXIf", exif(6), True)))
    put("png_chrm_gama_badcrc.png", png(2, 8, rgb, chunk(b"gAMA", struct.pack(">I", 45455), True)))
    put("png_palette_badcrc_text_after.png", png(3, 8, palette, plte, after=chunk(b"tEXt", b"a\0b", True)))
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
    put("gif_frame_beyond.gif", gif[:frame + 1] + struct.pack("<HH", 20, 12) + gif[frame + 5:])  # moved off the screen
    put("gif_interlaced.gif", saved(indexed, "GIF", interlace=1))
    put("gif_local_palette.gif", gif[:10] + b"\0\0\0" + gif[frame:frame + 9] + bytes([0x80 | gif[10] & 7])
        + gif[13:frame] + gif[frame + 10:])
    put("gif_moving.gif", saved(indexed, "GIF", save_all=True, append_images=[indexed.rotate(180)], loop=0))


def bmp(bits, data, packed=0, beside=b"", top_down=False, used=0):
    start = 54 + len(beside)
    return b"BM" + struct.pack("<IHHIIiiHHIIiiII", start + len(data), 0, 0, start, 40, W, -H if top_down else H, 1, bits,
                               packed, len(data), 2835, 2835, used, 0) + beside + data


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


    put("bmp16_555_top_down.bmp", bmp(16, (r >> 3 << 10 | g >> 3 << 5 | b >> 3).astype("<u2")[::-1].tobytes(), top_down=True))
    put("bmp16_4444.bmp", bmp(16, (r >> 4 << 8 | g >> 4 << 4 | b >> 4).astype("<u2").tobytes(), 3,
                              struct.pack("<III", 0xF00, 0xF0, 0xF)))
    put("bmp32.bmp", bmp(32, np.dstack([Q[::-1, :, ::-1], np.zeros((H, W, 1), np.uint8)]).tobytes()))
    put("bmp32_bit_fields.bmp", bmp(32, (r << 24 | g << 16 | b << 8).astype("<u4").tobytes(), 3,
                                    struct.pack("<III", 0xFF000000, 0xFF0000, 0xFF00)))
    put("bmp32_usual_bit_fields.bmp", bmp(32, (r << 16 | g << 8 | b).astype("<u4").tobytes(), 3,
                                          struct.pack("<III", 0xFF0000, 0xFF00, 0xFF)))
    for bits in (1, 2, 4, 8):
        rows = b"".join(pack(row % min(1 << bits, 4), bits) for row in INDEX[::-1])
        put(f"bmp{bits}.bmp", bmp(bits, rows, beside=colours[:4 << bits] + bytes(4 * max(0, (1 << bits) - 4))))
    put("bmp8_few_colours.bmp", bmp(8, INDEX[::-1].tobytes(), beside=colours, used=4))
    absolute = b"".join(b"\0" + bytes([W]) + row.tobytes() + b"\0\0" for row in INDEX[::-1])
    put("bmp_rle8_absolute.bmp", bmp(8, absolute + b"\0\1", 1, colours + bytes(4 * 252)))
    jumps = b"".join(bytes([0, 2, W // 2, 0, W // 2, row[-1], 0, 0]) for row in INDEX[::-1])
    put("bmp_rle8_jumps.bmp", bmp(8, jumps + b"\0\1", 1, colours + bytes(4 * 252)))
    put("bmp_rle4_absolute.bmp", bmp(4, b"".join(b"\0" + bytes([W]) + pack(row, 4) + b"\0\0" for row in INDEX[::-1])
                                     + b"\0\1", 2, colours + bytes(4 * 12)))
    put("bmp_os2.bmp", b"BM" + struct.pack("<IHHIIHHHH", 26 + 3 * W * H, 0, 0, 26, 12, W, H, 1, 24)
        + Q[::-1, :, ::-1].tobytes())
    table = COLOURS[:, ::-1].tobytes().ljust(48, b"\0")
    put("bmp_os2_palette.bmp", b"BM" + struct.pack("<IHHIIHHHH", 74 + W * H // 2, 0, 0, 74, 12, W, H, 1, 4) + table
        + b"".join(pack(row, 4) for row in INDEX[::-1]))


def tiff(tags, parts, order="<", big=False, tile=None, mode=None):
    """Returns a TIFF of strips, or of tiles of that size; tags are numbers, or lists of numbers."""
    number, size = ("Q", 8) if big else ("I", 4)
    out = {"<": b"II", ">": b"MM"}[order] + struct.pack(order + ("HHHQ" if big else "HI"), *((43, 8, 0, 16) if big else (42, 8)))
    all_tags = {256: W, 257: H, 258: 8, 259: 1, 262: 2, 277: 3, **tags}
    if tile:
        all_tags |= {322: tile[0], 323: tile[1], 324: [0] * len(parts), 325: [len(p) for p in parts]}
    else:
        all_tags |= {273: [0] * len(parts), 279: [len(p) for p in parts]}
    entries, beside = b"", b""
    start = len(out) + (8 if big else 2) + len(all_tags) * (20 if big else 12) + size
    lists = {tag: v for tag, v in all_tags.items() if isinstance(v, (list, bytes)) and len(v) > 1}
    at = start + sum(len(v) if isinstance(v, bytes) else len(v) * size for v in lists.values())
    offsets = [at + sum(map(len, parts[:i])) for i in range(len(parts))]
    all_tags[324 if tile else 273] = offsets
    for tag in sorted(all_tags):
        v = all_tags[tag]
        kind = 7 if isinstance(v, bytes) else 16 if big else 4
        body = v if isinstance(v, bytes) else struct.pack(order + number * (len(v) if isinstance(v, list) else 1),
                                                          *(v if isinstance(v, list) else [v]))
        count = len(v) if isinstance(v, (list, bytes)) else 1
        if tag in (258, 320, 338, 530):  # of two bytes, as everybody writes them
            kind, body = 3, struct.pack(order + "H" * count, *(v if isinstance(v, list) else [v]))
        entries += struct.pack(order + "HH" + number, tag, kind, count)
        if len(body) <= size:
            entries += body.ljust(size, b"\0")
        else:
            entries += struct.pack(order + number, start + len(beside))
            beside += body
    beside = beside.ljust(at - start, b"\0")
    return out + struct.pack(order + ("Q" if big else "H"), len(all_tags)) + entries + bytes(size) + beside + b"".join(parts)


def odd_tiffs():
    rgb, wide = Q.tobytes(), Q.astype("<u2") * 257
    tiles = [Q[y:y + 32, x:x + 48] for y in range(0, H, 32) for x in range(0, W, 48)]
    padded = [np.pad(t, ((0, 32 - t.shape[0]), (0, 48 - t.shape[1]), (0, 0))) for t in tiles]
    put("tiff_tiled.tif", tiff({}, [t.tobytes() for t in padded], tile=(48, 32)))
    put("tiff_tiled_deflate.tif", tiff({259: 8}, [zlib.compress(t.tobytes()) for t in padded], tile=(48, 32)))
    put("tiff_planes.tif", tiff({284: 2, 258: [8, 8, 8]}, [Q[..., c].tobytes() for c in range(3)]))
    put("tiff_planes_strips.tif", tiff({284: 2, 278: 40, 259: 8, 258: [8, 8, 8]}, [
        zlib.compress(Q[y:y + 40, :, c].tobytes()) for c in range(3) for y in range(0, H, 40)]))
    put("tiff_planes_tiled.tif", tiff({284: 2, 258: [8, 8, 8]}, [t[..., c].tobytes() for c in range(3) for t in padded],
                                      tile=(48, 32)))
    put("tiff_big_endian.tif", tiff({258: [8, 8, 8]}, [rgb], ">"))
    put("bigtiff.tif", tiff({258: [8, 8, 8], 278: 40, 259: 8}, [zlib.compress(Q[y:y + 40].tobytes())
                                                               for y in range(0, H, 40)], big=True))
    put("bigtiff_big_endian.tif", tiff({258: [8, 8, 8]}, [rgb], ">", big=True))
    before = np.pad(Q, ((0, 0), (1, 0), (0, 0)))[:, :-1]
    put("tiff_predictor.tif", tiff({259: 8, 317: 2, 258: [8, 8, 8]}, [zlib.compress((Q - before).tobytes())]))
    before16 = np.pad(wide, ((0, 0), (1, 0), (0, 0)))[:, :-1]
    for order, name in (("<", "ii"), (">", "mm")):
        put(f"tiff_rgb16_{name}.tif", tiff({258: [16] * 3}, [wide.astype(order + "u2").tobytes()], order))
        put(f"tiff_predictor16_{name}.tif", tiff({259: 8, 317: 2, 258: [16] * 3},
                                                 [zlib.compress((wide - before16).astype(order + "u2").tobytes())], order))
    planes = [(Q - before)[..., c].tobytes() for c in range(3)]
    put("tiff_predictor_planes.tif", tiff({259: 8, 317: 2, 284: 2, 258: [8, 8, 8]}, [zlib.compress(p) for p in planes]))
    alpha = np.full((H, W, 1), 128, np.uint8)
    put("tiff_rgba.tif", tiff({277: 4, 258: [8] * 4, 338: 2}, [np.dstack([Q, alpha]).tobytes()]))
    put("tiff_rgba_premultiplied.tif", tiff({277: 4, 258: [8] * 4, 338: 1}, [np.dstack([Q // 2, alpha]).tobytes()]))
    put("tiff_rgbx.tif", tiff({277: 4, 258: [8] * 4, 338: 0}, [np.dstack([Q, alpha]).tobytes()]))
    put("tiff_rgb_extra_missing.tif", tiff({277: 4, 258: [8] * 4}, [np.dstack([Q, alpha]).tobytes()]))
    put("tiff_rgb_extra2.tif", tiff({277: 5, 258: [8] * 5, 338: [0, 0]}, [np.dstack([Q, alpha, alpha]).tobytes()]))
    grey = INDEX * 85
    put("tiff_grey_alpha.tif", tiff({262: 1, 277: 2, 258: [8] * 2, 338: 2}, [np.dstack([grey, alpha]).tobytes()]))
    put("tiff_grey16.tif", tiff({262: 1, 277: 1, 258: 16}, [(grey.astype("<u2") * 257).tobytes()]))
    put("tiff_white_is_zero.tif", tiff({262: 0, 277: 1}, [(255 - grey).tobytes()]))
    for bits in (1, 2, 4):
        index = INDEX % 2 if bits == 1 else INDEX
        rows = b"".join(pack(row, bits) for row in index)
        put(f"tiff_grey{bits}.tif", tiff({262: 1, 277: 1, 258: bits}, [rows]))
        put(f"tiff_grey{bits}_white_is_zero.tif", tiff({262: 0, 277: 1, 258: bits}, [rows]))
    rows = b"".join(pack(row % 2, 1) for row in INDEX)
    put("tiff_fill_order.tif", tiff({262: 1, 277: 1, 258: 1, 266: 2}, [bytes(int(f"{b:08b}"[::-1], 2) for b in rows)]))
    palette = Image.fromarray(INDEX, "P")
    palette.putpalette(COLOURS.tobytes())
    put("tiff_palette.tif", saved(palette, "TIFF"))
    put("tiff_palette_lzw.tif", saved(palette, "TIFF", compression="tiff_lzw"))
    four = [int(COLOURS[i % 4, c]) * 257 for c in range(3) for i in range(16)]
    put("tiff_palette4.tif", tiff({262: 3, 277: 1, 258: 4, 320: four}, [b"".join(pack(row, 4) for row in INDEX)]))
    bilevel = Image.fromarray(INDEX % 2 * 255).convert("1")
    for kind in ("group3", "group4", "tiff_ccitt", "packbits", "tiff_lzw"):
        put(f"tiff_bilevel_{kind}.tif", saved(bilevel, "TIFF", compression=kind))
    put("tiff_bilevel_strips.tif", saved(bilevel, "TIFF", compression="group4", tiffinfo={278: 16}))
    for o in (2, 3, 4, 5, 7, 8):
        put(f"tiff_orientation_{o}.tif", saved(PICTURE, "TIFF", tiffinfo={274: o}, compression="tiff_lzw"))
    put("tiff_jpeg_ycc.tif", saved(PICTURE.convert("YCbCr"), "TIFF", compression="jpeg", quality=95))
    put("tiff_jpeg_grey.tif", saved(PICTURE.convert("L"), "TIFF", compression="jpeg", quality=95))
    put("tiff_jpeg_strips.tif", saved(PICTURE, "TIFF", compression="jpeg", quality=95, tiffinfo={278: 16}))
    jpegs_of = [saved(Image.fromarray(t), "JPEG", quality=95, subsampling=0) for t in padded]
    put("tiff_jpeg_tiled.tif", tiff({259: 7, 262: 6, 258: [8, 8, 8], 530: [1, 1]}, jpegs_of, tile=(48, 32)))
    put("tiff_cmyk_planes.tif", tiff({262: 5, 277: 4, 284: 2, 258: [8] * 4}, [
        np.asarray(PICTURE.convert("CMYK"))[..., c].tobytes() for c in range(4)]))
    put("tiff_cmyk_lzw.tif", saved(PICTURE.convert("CMYK"), "TIFF", compression="tiff_lzw"))
    ycc = np.asarray(PICTURE.convert("YCbCr"))
    put("tiff_ycc.tif", tiff({262: 6, 259: 8, 258: [8, 8, 8], 530: [1, 1]}, [zlib.compress(ycc.tobytes())]))
    shared = np.dstack([ycc[::2, ::2, :1]] * 4 + [ycc[::2, ::2, 1:]])  # four of luma, one of each chroma
    put("tiff_ycc_2x2.tif", tiff({262: 6, 259: 8, 258: [8, 8, 8], 530: [2, 2]}, [zlib.compress(shared.tobytes())]))
    put("tiff_ycc_lzw.tif", saved(PICTURE.convert("YCbCr"), "TIFF", compression="tiff_lzw"))
    put("tiff_lab.tif", saved(Image.fromarray(np.dstack([grey, grey * 0, grey * 0]), "LAB"), "TIFF"))
    put("tiff_no_sizes.tif", tiff({258: [8, 8, 8]}, [rgb]).replace(struct.pack("<HH", 279, 4), struct.pack("<HH", 65000, 4)))


def tiffs():
    for kind in ("tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg", "zstd", "lzma"):
        put(f"tiff_{kind.removeprefix('tiff_')}.tif", saved(PICTURE, "TIFF", compression=kind))
    put("tiff_orientation.tif", saved(PICTURE, "TIFF", tiffinfo={274: 6}))
    put("tiff_cmyk.tif", saved(PICTURE.convert("CMYK"), "TIFF"))
    put("tiff_pages.tif", saved(PICTURE, "TIFF", save_all=True, append_images=[Image.fromarray(255 - Q)]))


def webps():
    second = [Image.fromarray(255 - Q)]
    put("webp.webp", saved(PICTURE, "WEBP", lossless=True))
    half = Image.fromarray(np.dstack([Q, INDEX * 85]))
    put("webp_alpha.webp", saved(half, "WEBP", lossless=True, exact=True))
    put("webp_lossy.webp", saved(PICTURE, "WEBP", quality=90))
    put("webp_lossy_alpha.webp", saved(half, "WEBP", quality=90, exact=True))
    put("webp_moving_alpha.webp", saved(half, "WEBP", save_all=True, append_images=[half.rotate(180)], lossless=True))
    put("webp_palette.webp", saved(Image.fromarray(COLOURS[INDEX // 2]), "WEBP", lossless=True))
    put("webp_exif_header.webp", saved(PICTURE, "WEBP", quality=90, exif=b"Exif\0\0" + exif(8)))
    put("webp_exif.webp", saved(PICTURE, "WEBP", lossless=True, exif=exif(6)))
    put("webp_moving.webp", saved(PICTURE, "WEBP", save_all=True, append_images=second, lossless=True))


os.makedirs(sys.argv[1], exist_ok=True)
for make in (jpegs, pngs, gifs, bmps, tiffs, odd_tiffs, webps):
    make()
