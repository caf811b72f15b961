#!/usr/bin/env bash
# Do the claims of "Optimization of Rank Losses" hold on small real images? Trains
# the small convnet with six losses and three seeds on two data sets of three levels,
# and ResNet-18 with three losses and one seed on one of them, and writes a table of
# means and deviations with what it says of three claims:
#
#   ROADMAP is above Smooth-AP on fine metrics
#   HAPPIER is above ROADMAP on hierarchical metrics
#   HAPPIER − ROADMAP on the fine ones: −2.1 AP on SOP, −1.3 mAP@100 on H-GLDv2, +1.6 AP on iNat-base
#
#   scripts/claims.sh                  about 100 minutes on two cores
#   nohup scripts/claims.sh > claims.log 2>&1 &
#   STEPS=10 SEEDS=1 scripts/claims.sh a trial, into $WORK alone
#   scripts/claims.sh table            the table of what is finished by now
#   BACKBONE=resnet50 SIZE=224 WEIGHTS=resnet50.safetensors scripts/claims.sh
#   scripts/claims.sh alpha            HAPPIER with alpha 1, 2, 5 and 60, HAPPIER_F, and its proxy term alone,
#                                      on emoji48: 600 steps, five seeds; about 25 minutes on one core; writes
#                                      scripts/results/alpha.md
#
# Data: emoji48, 8,929 drawings of 1,654 emoji in 98 groups in 9, and grocery128, 5,421
# photographs of 81 products in 43 kinds in 3 groups. A third of the finest classes,
# chosen by seed within their coarse class, is held out of the training, and all their
# images are queries and gallery, each query left out of its own ranking. The six
# losses of a seed have the same classes, first weights, batches, network, optimizer
# and steps, so that their differences are taken seed by seed.
#
# The same command again continues: a finished run is not repeated, a broken one goes
# on from its checkpoint. Reads $HGLD_SHARED/data (default ../shared), keeps its runs
# in $WORK, and writes scripts/results/claims.md when nothing was shortened.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
shared=$(cd "${HGLD_SHARED:-$root/../shared}" && pwd)
WORK=${WORK:-${TMPDIR:-/tmp}/hgld-claims}
mode=${1:-}
if [ "$mode" = alpha ]; then
	SEEDS=${SEEDS:-1 2 3 4 5} STEPS=${STEPS:-600} THREADS=${THREADS:-1}
fi
SEEDS=${SEEDS:-1 2 3}
STEPS=${STEPS:-1200}
THREADS=${THREADS:-0}
BACKBONE=${BACKBONE:-convnet}
SIZE=${SIZE:-}
WEIGHTS=${WEIGHTS:-}
losses=(smooth-ap roadmap happier csl sum-nsm triplet)
alphas=(1 2 5 60)

mkdir -p "$WORK" "$root/scripts/results"
CGO_ENABLED=0 go build -o "$WORK/hgld" ./cmd/hgld
cd "$WORK"
runs=runs-$BACKBONE-${SIZE:-own}-$STEPS
say() { echo "$(date -u +%H:%M:%S) $*" >&2; }

frozen=false # pretrained BatchNorm keeps its statistics
[ -z "$WEIGHTS" ] || frozen=true

# settings DATA SPLITS INPUT writes the run file of a data set.
settings() {
	cat > "$1.yaml" <<-YAML
		hgld: 1
		train:
		  data: $1
		  splits: [$2]
		  hold_out: 0.3333333333333333
		  input: {$3}
		  model: {weights: "$WEIGHTS", freeze_norm: $frozen}
		  sampler: {name: m-per-class, batch: 64, m: 4}
		  optim: {name: adam, lr: 1.0e-3, proxy_lr: 1.0e-2, weight_decay: 1.0e-4}
		  schedule: {name: cosine}
		  steps: $STEPS
		  run: {checkpoint: 100, keep: 1, metrics: [R@1, AP, mAP@R, H-AP, ASI, NDCG], threads: $THREADS}
	YAML
}
settings emoji48 train "size: ${SIZE:-48}, resize: ${SIZE:-48}, scale: [0.5, 1]"
settings grocery128 "train, val, test" "size: ${SIZE:-64}, resize: $((${SIZE:-64} * 9 / 8))"

# shards NAME LEVELS builds the shards of a data set once; hgld sees by itself what
# is complete.
shards() {
	[ -f "$1/MANIFEST.json" ] || ./hgld shards build --quiet --dataset csv --input "$shared/data/$1/manifest.csv" \
		--images "$shared/data/$1/$1.zip" --levels "$2" --out "$1" > /dev/null
}

finished() { [ -f "$1/events.jsonl" ] && tail -n 1 "$1/events.jsonl" | grep -q '"event":"done"'; }

# loss NAME prints the settings of a loss. happier-alpha5 is happier with this alpha in its relevances.
loss() {
	case $1 in
	happier-alpha*) echo "-o loss.name=happier -o loss.settings.sup_h_ap.relevance.alpha=${1#happier-alpha}" ;;
	*) echo "-o loss.name=$1" ;;
	esac
}

# take DATA BACKBONE LOSS SEED makes a run, or goes on with it.
take() {
	local out=$runs/$1-$2-$3-seed$4
	if finished "$out"; then return; fi
	say "$out"
	# shellcheck disable=SC2046 # the settings are words
	./hgld train run --quiet --config "$1.yaml" --hold-out-seed "$4" -o "seed=$4" $(loss "$3") \
		-o "model.backbone.name=$2" --out "$out" > /dev/null
}

# differences DATA A B KEYS prints, for each metric, A − B over the seeds that have both,
# with the 95 % interval of Student's t for paired differences. The verdict is that of
# hgld: a difference whose interval holds 0 is undecided.
differences() {
	local data=$1 a=$2 b=$3 keys=$4 list=() run
	for run in "$runs/$data-$BACKBONE-$b"-seed* "$runs/$data-$BACKBONE-$a"-seed*; do
		if finished "$run"; then list+=("$run"); fi
	done
	[ ${#list[@]} -gt 0 ] || return 0
	./hgld runs compare --seeds --format csv --metrics "$keys" "${list[@]}" | awk -F, -v data="$data" '
		NR > 1 && $10 > 0 {
			interval = $7 == "" ? "–" : sprintf("%+.2f to %+.2f", $7, $8)
			printf "| %s | %s | %+.2f | %s | %d | %s |\n", data, $2, $6, interval, $10, $11
		}'
}

claim() {
	printf '\n%s\n\n| data | metric | difference | 95 %% interval | seeds | |\n|---|---|---|---|---|---|\n' "$1"
	local data
	for data in emoji48 grocery128; do differences "$data" "$2" "$3" "$4"; done
}

machine() {
	echo
	echo "Machine: $(nproc) cores, $(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo 2> /dev/null || uname -m)." \
		"Commit: $(git -C "$root" rev-parse --short HEAD 2> /dev/null || echo none). Date: $(date -u +%F)."
}

# alpha_table compares each alpha, and HAPPIER_F, with alpha 1.
alpha_table() {
	local keys=R@1_level0,AP_level0,AP_level1,AP_level2,H-AP,ASI,NDCG list=() a run
	echo "# HAPPIER and its alpha"
	echo
	echo "Written by \`scripts/claims.sh alpha\`: emoji48, $STEPS steps of 64, seeds $SEEDS, each seed holds out a third of the finest classes; in %, mean ± deviation of n seeds. All runs are measured with alpha 1. The items that share l of L levels have the relevance (l/L)^alpha together, so with alpha 60 nearly all relevance is on the finest level. happier-f has alpha 5 and weights its two terms equally; nsm is its second term alone."
	for a in "${alphas[@]/#/happier-alpha}" happier-f nsm; do
		for run in "$runs/emoji48-$BACKBONE-$a"-seed*; do
			if finished "$run"; then list+=("$run"); fi
		done
	done
	echo
	./hgld runs compare --seeds --format markdown --metrics "$keys" "${list[@]}" | sed '/, seed by seed$/,$d'
	echo
	echo "Differences are computed seed by seed (same classes, initial weights and batches), with Student's interval."
	for a in "${alphas[@]:1}" f; do
		[ "$a" = f ] || a=alpha$a
		printf '\nhappier-%s − happier with alpha 1\n\n| data | metric | difference | 95 %% interval | seeds | |\n|---|---|---|---|---|---|\n' "$a"
		differences emoji48 "happier-$a" happier-alpha1 "$keys"
	done
	machine
}

table() {
	echo "# The paper's claims on small real images"
	echo
	echo "Written by \`scripts/claims.sh\`: $STEPS steps of 64, seeds $SEEDS, each seed holds out a third of the finest classes; in %, mean ± deviation of n seeds."
	local data kind run list
	for data in emoji48 grocery128; do
		for kind in "$BACKBONE" resnet18; do
			list=()
			for loss in "${losses[@]}"; do
				for run in "$runs/$data-$kind-$loss"-seed*; do
					if finished "$run"; then list+=("$run"); fi
				done
			done
			[ ${#list[@]} -gt 0 ] || continue
			printf '\n%s, %s\n\n' "$data" "$kind"
			./hgld runs compare --seeds --format markdown "${list[@]}" | sed '/, seed by seed$/,$d' # means alone
			[ "$kind" != resnet18 ] || break
		done
	done
	echo
	echo "Differences below are computed seed by seed (same classes, initial weights and batches), with Student's interval."
	claim "ROADMAP − Smooth-AP on fine metrics: positive in the paper." roadmap smooth-ap R@1_level0,mAP@R_level0,AP_level0
	claim "HAPPIER − ROADMAP on hierarchical metrics: positive in the paper." happier roadmap H-AP,ASI,NDCG,AP_level1,AP_level2
	claim "HAPPIER − ROADMAP on fine metrics: in the paper −2.1 AP on SOP, −1.3 mAP@100 on H-GLDv2 and +1.6 AP on iNat-base." happier roadmap R@1_level0,mAP@R_level0,AP_level0
	machine
}

case $mode in
table)
	table
	exit
	;;
alpha)
	shards emoji48 name,subgroup,group
	for seed in $SEEDS; do
		for alpha in "${alphas[@]}"; do take emoji48 "$BACKBONE" "happier-alpha$alpha" "$seed"; done
		for name in happier-f nsm; do take emoji48 "$BACKBONE" "$name" "$seed"; done
	done
	alpha_table > alpha.md
	if [ "$SEEDS" = "1 2 3 4 5" ] && [ "$STEPS" -ge 600 ]; then cp alpha.md "$root/scripts/results/alpha.md"; fi
	cat alpha.md
	exit
	;;
esac
shards emoji48 name,subgroup,group
shards grocery128 fine,coarse,top
for seed in $SEEDS; do
	for data in emoji48 grocery128; do
		for loss in "${losses[@]}"; do take "$data" "$BACKBONE" "$loss" "$seed"; done
	done
done
if [ "$BACKBONE" = convnet ]; then
	for loss in smooth-ap roadmap happier; do take grocery128 resnet18 "$loss" 1; done
fi
table > claims.md
if [ "$SEEDS" = "1 2 3" ] && [ "$STEPS" -ge 1200 ]; then
	suffix=-$BACKBONE
	cp claims.md "$root/scripts/results/claims${suffix#-convnet}.md"
fi
cat claims.md
