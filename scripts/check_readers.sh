#!/bin/sh
# Do other people's readers see in our shards what hgld wrote? Builds shards of
# the photographs in $HGLD_SHARED/data/grocery128 (or takes the folder given as
# argument), then reads them with pyarrow and DuckDB and compares every value of
# every row, image bytes included, with hgld's own reading, and the images with
# their SHA-256. Prints one line a reader; exit code 1 if anything differs.
#
#   scripts/check_readers.sh [FOLDER]
#
# Needs Python 3 and pip; the packages go into a virtual environment in $VENV
# (default: a temporary one).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
shared=${HGLD_SHARED:-$root/../shared}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
venv=${VENV:-$work/venv}
if [ ! -x "$venv/bin/python" ]; then
	python3 -m venv "$venv"
fi
"$venv/bin/python" -c 'import duckdb, pyarrow' 2>/dev/null || "$venv/bin/pip" -q install duckdb pyarrow

(cd "$root" && CGO_ENABLED=0 go build -o "$work/hgld" ./cmd/hgld)
shards=${1:-$work/shards}
if [ $# -eq 0 ]; then
	"$work/hgld" shards build --quiet --input "$shared/data/grocery128/manifest.csv" \
		--images "$shared/data/grocery128/grocery128.zip" --levels fine,coarse,top \
		--images-per-shard 1000 --short-side 0 --out "$shards"
fi
"$work/hgld" shards verify --quiet "$shards"
for split in $("$work/hgld" shards ls --json "$shards" | "$venv/bin/python" -c '
import json, sys
print(*sorted({f["split"] for f in json.load(sys.stdin)["files"]}))'); do
	"$work/hgld" shards cat --split "$split" "$shards" > "$work/$split.jsonl"
done

"$venv/bin/python" - "$shards" "$work" <<'PY'
import collections, glob, hashlib, json, os, sys
import duckdb, pyarrow, pyarrow.parquet as pq

shards, work = sys.argv[1:]
manifest = json.load(open(f"{shards}/MANIFEST.json"))
columns = [l["column"] for l in manifest["levels"]]
names = [l["name"] for l in manifest["levels"]]
files = collections.defaultdict(list)
for f in manifest["files"]:
    files[f["split"]].append(f"{shards}/{f['name']}")
bad = 0

def wrong(*what):
    global bad
    bad += 1
    if bad <= 20:
        print("DIFFERS:", *what)

def compare(reader, split, rows):
    """rows: dicts as the reader gives them; the other side is `hgld shards cat`."""
    want = [json.loads(line) for line in open(f"{work}/{split}.jsonl")]
    n = values = 0
    for row, w in zip(rows, want, strict=True):
        image = row.pop("image")
        got = {k: v for k, v in row.items() if v is not None}
        classes = [got.pop(c, None) for c in columns]
        expect = {k: w[k] for k in w if k not in ("path", "labels", "names", "landmark_id")}
        if got != expect:
            wrong(reader, split, n, got, expect)
        if manifest["landmarks"]:
            if classes[0] != w.get("landmark_id"):
                wrong(reader, split, n, "landmark", classes[0])
            classes[0] = None if w["labels"][0] < 0 else w["labels"][0]
        if [(-1 if c is None else c) for c in classes] != w["labels"]:
            wrong(reader, split, n, "labels", classes, w["labels"])
        if image["path"] != w["path"] or hashlib.sha256(image["bytes"]).hexdigest() != w["sha256"]:
            wrong(reader, split, n, "image", image["path"])
        n += 1
        values += len(row) + 2
    return n, values

def hub_features(path):
    """What the Hub's library checks before it takes the footer's features."""
    schema = pq.read_schema(path)
    features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    image = schema.field("image").type
    if [f.name for f in image] != ["bytes", "path"] or not all(f.nullable for f in image) \
            or image.field(0).type != pyarrow.binary() or image.field(1).type != pyarrow.string():
        wrong("features", path, image)
    if list(features) != schema.names:
        wrong("features", path, list(features), schema.names)
    arrow = {"string": pyarrow.string(), "int32": pyarrow.int32(), "int64": pyarrow.int64()}
    for name, f in features.items():
        field = schema.field(name)
        if f["_type"] == "Image":
            continue
        expect = pyarrow.int64() if f["_type"] == "ClassLabel" else arrow[f["dtype"]]
        if field.type != expect or not field.nullable:
            wrong("features", path, name, field)
        if f["_type"] == "ClassLabel" and f["names"] != manifest["levels"][columns.index(name)]["classes"]:
            wrong("features", path, name, "class names")

def arrow_rows(paths):
    for p in paths:
        for batch in pq.ParquetFile(p, page_checksum_verification=True).iter_batches(500):
            yield from batch.to_pylist()

def duck_rows(paths):
    for p in paths:
        cursor = duckdb.execute("select * from read_parquet(?)", [p])
        header = [d[0] for d in cursor.description]
        while part := cursor.fetchmany(500):
            for r in part:
                yield dict(zip(header, r))

for reader, version, rows in (("pyarrow", pyarrow.__version__, arrow_rows), ("duckdb", duckdb.__version__, duck_rows)):
    n = values = 0
    for split, paths in files.items():
        a, b = compare(reader, split, rows(paths))
        n, values = n + a, values + b
    print(f"{reader} {version}: {n} rows, {values} values compared")
for paths in files.values():
    for p in paths:
        hub_features(p)
print("hub: features of every shard agree with its columns")
print("all equal" if bad == 0 else f"{bad} DIFFERENCES")
sys.exit(bad > 0)
PY
