"""Google Landmarks v2 in miniature for scripts/check_gldv2: the tables, TARs and MD5 sums, with pictures of 300 bytes.

make FOLDER TARS LANDMARKS IMAGES   writes what is published, and expected.json: what a build has to count
serve FOLDER PORT_FILE              serves it; every ninth file breaks off once in the middle
task LOG NAME [N GLOB] COMMAND…     runs a command and logs seconds, processor seconds and memory; with N, kills it
                                    as soon as N files match GLOB
compare FOLDER EXPECTED             compares the counts of a data set with those of make
"""
import base64, collections, csv, glob, hashlib, http.server, json, os, pathlib, re, sys, tarfile, time

PICTURES = [base64.b64decode(text) for text in (
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6"
    "/+b9//j/2wBDASstLTw1PHZBQXb4pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj/wAARCAAQABgDASIA"
    "AhEBAxEB/8QAFwABAQEBAAAAAAAAAAAAAAAAAwAEBf/EABYQAQEBAAAAAAAAAAAAAAAAAAACA//EABYBAQEBAAAAAAAAAAAAAAAAAAMCBP/EABgRAAMB"
    "AQAAAAAAAAAAAAAAAAACAwEh/9oADAMBAAIRAxEAPwDnzmSczTmScy65M6Azmmuc0PXNa04f/9k=",
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6"
    "/+b9//j/wAALCAAYABABAREA/8QAFwABAAMAAAAAAAAAAAAAAAAABQADBP/EAB4QAAEEAgMBAAAAAAAAAAAAABEAAQIDBEESEyFR/9oACAEBAAA/ACIx"
    "KtjQdKURISdFBHixYUSElkXPi0R4M3ZNxE6+uv/Z")]
LICENSES = ["https://creativecommons.org/licenses/by/2.0/"] * 7 + [
    "https://creativecommons.org/licenses/by-nc/4.0/", "https://terms.example/?of=1,2&by=\"all\"", "GFDL"]


def image_id(split, number):
    return hashlib.md5(f"{split} {number}".encode()).hexdigest()[:16]


def picture(number):
    """A picture of which no other has the bytes: decoders ignore what follows the end."""
    return PICTURES[number % 2] + number.to_bytes(8, "little")


def header(name, size, cache={}):
    """The header of a member, of which all have the same but for name, size and checksum."""
    if not cache:
        cache["plain"] = bytearray(tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT))
    h = bytearray(cache["plain"])
    h[0:len(name)], h[124:135], h[148:156] = name, b"%011o" % size, b" " * 8
    h[148:155] = b"%06o\0" % sum(h)
    return h


def pack(folder, split, number, images):
    """Writes a TAR and its sum. images: pairs of an id and its bytes."""
    name = f"images_{number:03d}"
    parts = []
    for image, data in images:
        parts += [header(f"{image[0]}/{image[1]}/{image[2]}/{image}.jpg".encode(), len(data)), data,
                  bytes(-len(data) % 512)]
    data = b"".join([*parts, bytes(1024)])
    (folder / split / f"{name}.tar").write_bytes(data)
    (folder / "md5sum" / split / f"md5.{name}.txt").write_text(f"{hashlib.md5(data).hexdigest()}  {name}.tar\n")


def table(folder, name, columns, rows):
    with open(folder / "metadata" / name, "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([columns, *rows])


def has_class(landmark):
    return landmark % 11 != 3  # the others have no supercategory, and --partial-labels drop leaves their images out


def make(folder, tars, landmarks, images):
    folder, tars, landmarks, images = pathlib.Path(folder), int(tars), int(landmarks), int(images)
    shapes = {"train": (min(tars, 500), images), "index": (min(tars, 100), max(images // 5, 40)),
              "test": (min(tars, 20), max(images // 1000, 40))}
    spaces = {"train": landmarks, "index": max(landmarks // 2, 2)}
    for split in shapes:
        (folder / split).mkdir(parents=True)
        (folder / "md5sum" / split).mkdir(parents=True)
    (folder / "metadata").mkdir()
    for split, count in spaces.items():
        pages = [f"http://commons.wikimedia.org/wiki/Category:Place_{n},_%C3%89glise_\"{split}\"" for n in range(count)]
        table(folder, f"{split}_label_to_category.csv", ["landmark_id", "category"], enumerate(pages))
        kinds = [(f"tag {n % 700}", f"group {n % 78}", "natural" if n % 78 < 30 else "human-made") if has_class(n)
                 else ("", "", "") for n in range(count)]
        table(folder, f"{split}_label_to_hierarchical.csv",
              ["landmark_id", "category", "supercategory", "hierarchical_label", "natural_or_human_made"],
              ((n, pages[n], *kinds[n]) for n in range(count)))

    def landmark(split, i):
        return i * 7919 % spaces["index" if split == "test" else split]

    expected = {"splits": {}, "licenses": collections.Counter()}
    for split, (count, total) in shapes.items():
        failures = collections.Counter()
        for number in range(count):
            members = []
            for i in range(number * total // count, (number + 1) * total // count):
                data, labelled = picture(i), has_class(landmark(split, i))
                refused = split == "train" and (i % 997 == 1 or i % 991 == 2 or i % 983 == 3)
                if i % 2003 == 7:
                    data, fault = None, "missing"
                elif i % 1999 == 5:
                    data, fault = data[:90], "decode"
                else:
                    fault = None
                if labelled and (refused or fault):
                    failures["licence" if refused else fault] += 1
                elif labelled and split == "train":
                    expected["licenses"][LICENSES[i % 10]] += 1
                if data:
                    members.append((image_id(split, i), data))
            pack(folder, split, number, members)
        labelled = sum(has_class(landmark(split, i)) for i in range(total))
        expected["splits"][split] = {"images": labelled - failures.total(), "failures": dict(sorted(failures.items()))}

    def train():
        for i in range(images):
            yield i, image_id("train", i)
    table(folder, "train.csv", ["id", "url", "landmark_id"],
          ((name, f"https://upload.example/{i}.jpg", landmark("train", i)) for i, name in train()))
    clean = collections.defaultdict(list)
    for i, name in train():
        if i % 3 == 0:
            clean[landmark("train", i)].append(name)
    table(folder, "train_clean.csv", ["landmark_id", "images"], ((n, " ".join(clean[n])) for n in sorted(clean)))
    table(folder, "train_attribution.csv", ["id", "url", "author", "license", "title"],
          ((name, "" if i % 50 == 9 else f"https://upload.example/{i}.jpg", "" if i % 991 == 2 else f"Zoë \"{i // 40}\", jr.",
            "" if i % 983 == 3 else LICENSES[i % 10], f"File:Église, {i}\n.jpg" if i % 500 == 1 else f"File:Place {i}.jpg")
           for i, name in train() if i % 997 != 1))
    index = shapes["index"][1]
    table(folder, "index_image_to_landmark.csv", ["id", "landmark_id"],
          ((image_id("index", i), landmark("index", i)) for i in range(index)))
    # The answer to a query is an image of its landmark; some queries have none.
    of = {landmark("index", i): image_id("index", i) for i in range(index)}
    queries = [(image_id("test", i), of[landmark("test", i)], "Public") for i in range(shapes["test"][1])]
    table(folder, "retrieval_solution_v2.1.csv", ["id", "images", "Usage"],
          queries + [(image_id("none", i), "None", "Ignored") for i in range(5)])
    (folder / "expected.json").write_text(json.dumps(expected))
    print(f"{sum(n for _, n in shapes.values())} images in {sum(n for n, _ in shapes.values())} TARs, "
          f"{landmarks} landmarks of train and {spaces['index']} of the index")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    broken = collections.Counter()

    def log_message(self, *_):
        pass

    def do_GET(self):
        path = pathlib.Path(self.server.folder, self.path.lstrip("/"))
        if ".." in path.parts or not path.is_file():
            self.send_error(404)
            return
        size, start = path.stat().st_size, 0
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if asked and self.headers.get("If-Range") == f'"{size}"' and int(asked[1]) < size:
            start = int(asked[1])
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        self.send_header("ETag", f'"{size}"')
        self.send_header("Content-Length", str(size - start))
        self.end_headers()
        self.broken[self.path] += 1
        breaks = self.broken[self.path] == 1 and sum(self.path.encode()) % 9 == 0
        with open(path, "rb") as f:
            self.connection.sendfile(f, start, (size - start) // 2 or None if breaks else None)
        self.close_connection = breaks


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        """Clients are killed, and that is no error."""


def serve(folder, port_file):
    with Server(("127.0.0.1", 0), Handler) as server:
        server.folder = folder
        pathlib.Path(port_file).write_text(str(server.server_port))
        server.serve_forever()


def task(log, name, *command):
    kill_at, pattern = None, None
    if command[0].isdigit():
        kill_at, pattern, *command = command
    start, killed = time.monotonic(), False
    child = os.posix_spawnp(command[0], command, os.environ)
    while kill_at and not killed and os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if len(glob.glob(pattern)) >= int(kill_at):
            os.kill(child, 9)
            killed = True
        time.sleep(0.002)
    _, status, used = os.wait4(child, 0)
    with open(log, "a") as f:
        f.write(f"{name}\t{time.monotonic() - start:.1f}\t{used.ru_utime + used.ru_stime:.1f}\t{used.ru_maxrss / 1024:.0f}"
                f"\t{'killed' if os.WIFSIGNALED(status) else 'exit ' + str(os.WEXITSTATUS(status))}\n")
    if kill_at and not os.WIFSIGNALED(status):
        sys.exit(f"{name}: it ended before it was killed")
    sys.exit(0 if kill_at else os.waitstatus_to_exitcode(status))


def compare(folder, expected):
    want, got = json.load(open(expected)), json.load(open(f"{folder}/STATS.json"))
    splits = {s["split"]: {"images": s["images"], "failures": {k: n for k, n in s["failures"].items() if n}}
              for s in got["splits"]}
    licenses = {c["value"]: c["images"] for c in next(s for s in got["splits"] if s["split"] == "train")["licenses"]}
    if splits != want["splits"] or licenses != want["licenses"]:
        sys.exit(f"counted {splits} {licenses}\nwant    {want}")
    print(f"counts: {splits}; licences as given, {len(licenses)} kinds")


{"make": make, "serve": serve, "task": task, "compare": compare}[sys.argv[1]](*sys.argv[2:])
