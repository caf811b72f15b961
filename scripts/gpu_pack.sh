#!/usr/bin/env bash
# Packs what scripts/gpu_check.sh needs on a machine with a card but with neither Go nor a
# compiler: hgld, test binaries, the goldens that they compare with, a small data set, and the
# emulator's results, which a card must reproduce byte for byte. At most 60 MiB.
#
#   scripts/gpu_pack.sh [FILE]            default: gpu_check.tar.gz
#   scripts/gpu_pack.sh --small [FILE]    for CI: fewer tests, fewer steps
#
# Needs Go, a C++ compiler for the emulator, and the goldens ($HGLD_SHARED, by default
# ../shared). The binaries are for this machine's architecture.
set -euo pipefail
cd "$(dirname "$0")/.."
small=
if [ "${1:-}" = --small ]; then
  small=1
  shift
fi
out=$(realpath -m "${1:-gpu_check.tar.gz}")
shared=$(realpath "${HGLD_SHARED:-../shared}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
pack=$work/gpu_check
mkdir -p "$pack/bin" "$pack/goldens"

packages=(device/cuda nn loss backbone optim .)
goldens=(nn losses backbones optim metrics trace)
steps=20
if [ -n "$small" ]; then
  packages=(device/cuda optim .)
  goldens=(optim)
  steps=2
fi
export CGO_ENABLED=${CGO_ENABLED:-0}
go build -ldflags "-s -w" -o "$pack/bin/hgld" ./cmd/hgld
for package in "${packages[@]}"; do
  name=$(basename "$package")
  [ "$package" != . ] || name=train
  go test -c -ldflags "-s -w" -o "$pack/bin/$name.test" "./train/$package"
done
for folder in "${goldens[@]}"; do
  cp -r "$shared/goldens/$folder" "$pack/goldens/$folder"
done
chmod -R u+w "$pack/goldens" # so that it can be deleted
cp scripts/gpu_check.sh scripts/gpu_steps.py "$pack/"
if [ -e "$shared/bench/gpu/anchor_torch.py" ]; then
  cp "$shared/bench/gpu/anchor_torch.py" "$pack/"
fi
git describe --always --dirty --exclude '*' --abbrev=40 > "$pack/COMMIT" 2>/dev/null || echo unknown > "$pack/COMMIT"

echo "the emulator's bytes of every operation"
(cd "$work" && env -u HGLD_GPU_CHECK HGLD_GPU_CHECK_DIGESTS="$pack/digests" \
  "$pack/bin/cuda.test" -test.v -test.run TestEveryOrderAndEveryCardGivesTheSameBytes) > "$work/digests.log" ||
  { cat "$work/digests.log"; exit 1; }
[ -s "$pack/digests" ] || { cat "$work/digests.log"; exit 1; }
emulator=$(sed -n 's/.*emulator in //p' "$work/digests.log" | head -n 1)

echo "the demo's data, and $steps steps of its training on the emulator"
export HGLD_TURBOJPEG=off # the same pixels on every machine
"$pack/bin/hgld" demo --out "$work/demo" --steps 1 --device cpu > "$work/demo.log" 2>&1 ||
  { cat "$work/demo.log"; exit 1; }
mkdir "$pack/project"
cp -r "$work/demo/shards" "$work/demo/hgld.yaml" "$pack/project/"
(cd "$pack/project" && HGLD_CUDA_LIBS=$emulator "$pack/bin/hgld" train run --quiet --device cuda \
  -o "steps=$steps" -o run.evaluate=0 -o model.precision=float32 --out "$work/run") > "$work/train.log" 2>&1 ||
  { cat "$work/train.log"; exit 1; }
hash=$(sha256sum < "$work"/run/checkpoints/step-*/model.safetensors)
echo "$steps ${hash%% *}" > "$pack/weights"

tar -C "$work" -czf "$out" gpu_check
size=$(stat -c %s "$out")
echo "$out: $((size >> 20)) MiB; the emulator is in $emulator"
[ "$size" -le $((60 << 20)) ] || { echo "larger than 60 MiB"; exit 1; }
