#!/usr/bin/env bash
# Checks whether hgld computes correctly on this machine's card, and how fast. It is one
# command of at most 9 minutes, on a machine with a card and NVIDIA's driver but without Go:
# it runs from the folder that scripts/gpu_pack.sh makes, with what that folder contains.
#
#   ./gpu_check.sh         # correctness, and the rates of the kernels
#   ./gpu_check.sh fast    # speed: training steps beside PyTorch's, and what to tune
#
# Results go to $OUT, by default gpu_check in the current folder: gpu_check.json and
# gpu_check.md, or gpu_check_fast.json and .md, and a log of every part. They are written
# after every part, so a visit that is cut short keeps what it has. If a part fails, the
# others still run. The exit status is 0 only if all checks passed. CUDA_VISIBLE_DEVICES
# selects the card (the first of several), PYTHON the Python that may have torch and timm
# (python3), and PARTS="conformance training" runs only these parts.
#
# With HGLD_CUDA_LIBS naming the emulator and HGLD_GPU_CHECK_SMALL=1 it tests itself on a
# machine without a card: see scripts/check_gpu_script.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
if [ ! -x "$here/bin/hgld" ]; then
  echo "$here has no bin/hgld: unpack what scripts/gpu_pack.sh makes, and run the gpu_check.sh in it" >&2
  exit 2
fi
case ${1:-} in
  "") report=gpu_check ;;
  fast) report=gpu_check_fast ;;
  *) echo "gpu_check.sh: $1; want fast, or nothing" >&2 && exit 2 ;;
esac
out=${OUT:-gpu_check}
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
budget=${BUDGET:-540} # seconds in all
small=${HGLD_GPU_CHECK_SMALL:-}
python=${PYTHON:-python3}
[ -n "$small" ] || export HGLD_EXHAUSTIVE=1 # a card has time for every case
export HGLD_GPU_CHECK=1 HGLD_GOLDENS=$here/goldens HGLD_GPU_CHECK_DIGESTS=$here/digests HGLD_TURBOJPEG=off
# The driver compiles the kernels once, in the first parts. Containers of NVIDIA's switch its cache off.
export CUDA_CACHE_PATH=$work/compiled CUDA_CACHE_DISABLE=0 CUDA_CACHE_MAXSIZE=1073741824
mkdir "$CUDA_CACHE_PATH"
if [ -n "${CUDA_VISIBLE_DEVICES-0}" ]; then
  export CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES:-0}
  CUDA_VISIBLE_DEVICES=${CUDA_VISIBLE_DEVICES%%,*} # a context takes longer beside other cards
fi
unset HGLD_DEVICE CUDA_LAUNCH_BLOCKING
# hgld looks for NVIDIA's libraries beside the python3 on the PATH.
if [ -x "$(dirname "$(command -v "$python")")/python3" ]; then
  PATH=$(cd "$(dirname "$(command -v "$python")")" && pwd):$PATH
fi
cd "$work" || exit 1
: > "$out/parts.tsv"
failed=0 complete=false

# part KIND NAME SECONDS COMMAND...: runs a part and notes what became of it: ok, failed,
# timeout, "no time", or "absent" where the command returns 77. KIND is check; or extra,
# for a check that may be cut short; or figure for what is only measured and fails nothing.
part() {
  local kind=$1 name=$2 limit=$3 start=$SECONDS left result code
  shift 3
  case " ${PARTS:-$name} " in *" $name "*) ;; *) return ;; esac
  left=$((budget - SECONDS))
  if [ "$left" -lt "$limit" ]; then limit=$left; fi
  if [ "$limit" -lt 5 ]; then
    result="no time"
    : > "$out/$name.log"
  else
    # QUIT makes Go print where every goroutine is.
    log=$out/$name.log timeout -s QUIT -k 5 "$limit" bash -c 'trap "exit 1" QUIT; "$@"' _ "$@" \
      > "$out/$name.log" 2>&1
    code=$?
    case $code in
      0) result=ok ;;
      77) result=absent ;;
      124 | 137) result=timeout ;;
      *) result=failed ;;
    esac
  fi
  case $kind/$result in
    */ok | */absent | figure/* | extra/timeout | "extra/no time") ;;
    *) failed=$((failed + 1)) ;;
  esac
  printf '%s\t%s\t%s\t%d\n' "$kind" "$name" "$result" $((SECONDS - start)) >> "$out/parts.tsv"
  printf '%-12s %-8s %3d s\n' "$name" "$result" $((SECONDS - start))
  write_report
}

# tests BINARY PATTERN: runs tests. One that is skipped is a failure, and so is a pattern
# that selects none. Nothing stands between the tests and the log: QUIT ends every process
# of a part, and a filter would take with it what Go prints then.
tests() {
  local code skip='' crashed again summary
  if [ -n "$small" ] && [ ! -e "$here/bin/$1" ]; then echo "not packed: $1"; return 77; fi
  "$here/bin/$1" -test.v -test.run "$2" 2>&1
  code=$?
  for again in 1 2 3; do # the process has ended in the middle of a test: the others are still to run
    if [ "$code" -eq 0 ] || tail -n 3 "$log" | grep -qx 'FAIL'; then break; fi
    crashed=$(sed -n 's/^=== RUN  *//p' "$log" | tail -n 1 | exactly)
    [ -n "$crashed" ] || break
    skip=${skip:+$skip|}$crashed
    echo "the process ended with code $code; once more without $skip"
    "$here/bin/$1" -test.v -test.run "$2" -test.skip "$skip" 2>&1
    code=$?
    [ "$code" -ne 0 ] || { code=1 && break; }
  done
  count() { grep -c -- "--- $1" "$log"; }
  summary="$(count PASS) passed, $(count FAIL) failed, $(count SKIP) skipped${skip:+; the process ended in $skip}"
  if [ "$code" -ne 0 ]; then alone "$1"; fi
  echo "$summary"
  if [ "$code" -ne 0 ] || grep -q -- '--- SKIP' "$log"; then return 1; fi
  grep -q -- '--- PASS' "$log"
}

# exactly makes patterns of names of tests. A character that is not a letter may be any.
exactly() { sed 's/[^A-Za-z0-9_/]/./g; s|/|$/^|g; s/^/^/; s/$/$/'; }

# alone BINARY: a kernel that fails leaves its process without a card, so that all tests behind
# it fail too. Each test that failed is run in a process of its own. There the host waits for
# each kernel, and the error names the one that failed.
alone() {
  local name pattern
  local lost='CUDA_ERROR_(ILLEGAL|LAUNCH|MISALIGNED|INVALID_PC|INVALID_ADDRESS|HARDWARE|ASSERT|UNKNOWN|ECC)'
  grep -qE "$lost" "$log" || return
  # The tests without tests of their own, in the order in which they ran: the first is the culprit.
  sed -n 's/^ *--- FAIL: \([^ ]*\) .*/\1/p' "$log" |
    awk '{ failed[$0]; at = $0; while (sub("/[^/]*$", "", at)) above[at] }
      END { for (name in failed) if (!(name in above)) print name }' > "$work/failed"
  sed -n 's/^=== RUN  *//p' "$log" |
    awk 'NR == FNR { failed[$0]; next } $0 in failed && !seen[$0]++' "$work/failed" - > "$work/order"
  while read -r name; do
    pattern=$(exactly <<< "$name")
    if CUDA_LAUNCH_BLOCKING=1 "$here/bin/$1" -test.v -test.run "$pattern" > "$work/alone.log" 2>&1; then
      echo "alone: $name passes"
    else
      echo "alone: $name fails"
      head -c 20000 "$work/alone.log"
    fi
  done < "$work/order"
}

doctor() {
  echo "$(uname -sr), $(getconf GNU_LIBC_VERSION), $(nproc) processors"
  local facts=name,driver_version,memory.total,memory.used,persistence_mode,compute_mode,mig.mode.current
  facts=$facts,ecc.mode.current,clocks.sm,clocks.max.sm,clocks.max.mem,power.limit,pcie.link.gen.current
  timeout 10 nvidia-smi --format=csv --query-gpu="$facts,pcie.link.width.current"
  "$here/bin/hgld" doctor
  "$here/bin/hgld" doctor --json > "$out/doctor.json" || return 1
  grep -A 1 '"name": "cuda"' "$out/doctor.json" | grep -q '"ok": true'
}

# own COMMAND...: without NVIDIA's libraries, which would take the place of hgld's kernels.
own() { HGLD_CUDA_VENDOR=off "$@"; }

# library NAME OPERATION: an operation by one of NVIDIA's libraries, also in float32.
library() {
  if [ "${HGLD_CUDA_VENDOR:-}" = off ] ||
    ! "$here/bin/hgld" doctor --json | grep -A 1 "\"name\": \"$1\"" | grep -q '"ok": true'; then
    echo "$1 is not there, or switched off"
    return 77
  fi
  HGLD_CUDA_VENDOR=all tests cuda.test "^TestConformance\$/(F32|BF16)/^$2\$"
}

# train STEPS DEVICE RUN [PRECISION]: the demo's training, without the evaluations in between,
# in float32 by default.
train() {
  [ -d "$work/project" ] || cp -r "$here/project" "$work/project"
  (cd "$work/project" &&
    "$here/bin/hgld" train run --quiet -o "steps=$1" -o run.evaluate=0 -o "model.precision=${4:-float32}" \
      --device "$2" --out "$work/runs/$3")
}

weights() { sha256sum < "$(ls "$work/runs/$1"/checkpoints/step-*/model.safetensors)" | cut -d ' ' -f 1; }

# figures RUN: the loss of each step and the metrics at the end, a name and a number a line.
figures() {
  sed -n 's/^{"event":"step","step":\([0-9]*\),.*"loss":\([^,}]*\).*/step \1 \2/p' "$work/runs/$1/events.jsonl"
  grep '^{"event":"evaluation"' "$work/runs/$1/events.jsonl" | tail -n 1 | grep -o '"key":"[^"]*","mean":[^,}]*' |
    sed 's/"key":"\(.*\)","mean":\(.*\)/metric \1 \2/'
}

# Steps on the card give the bytes that the emulator gave when this was packed.
emulated() {
  local steps hash got
  read -r steps hash < "$here/weights"
  train "$steps" cuda emulated || return 1
  got=$(weights emulated)
  echo "weights after $steps steps: $got, the emulator's $hash"
  [ "$got" = "$hash" ]
}

# A training on the card agrees with the processor's, and with itself byte for byte.
#
# Both sum in float32 in other orders, so losses part slowly. Measured between two matrix
# libraries of the processor (HGLD_BLAS=native, gonum) and between native and the emulated
# card: 2e-7 in eight steps; in 200, whose ranks and ReLUs change side one after the other,
# 0.7 % on average (both) and 3.4 and 5.7 % of one step's loss; 0.004 of a metric. Allowed
# is 50 times as much at first, and later four times on average, three in a step and five
# in a metric. A wrong gradient shows in the second step.
training() {
  local steps=200 one again
  [ -z "$small" ] || steps=4
  train "$steps" cpu cpu && train "$steps" cuda card && train "$steps" cuda again || return 1
  one=$(weights card) again=$(weights again)
  echo "weights of the card after $steps steps: $one, repeated: $again"
  [ -n "$one" ] && [ "$one" = "$again" ] || { echo "the card does not repeat its bytes"; return 1; }
  figures cpu > "$work/cpu" && figures card > "$work/card"
  paste -d ' ' "$work/cpu" "$work/card" | awk -v steps="$steps" '
    function off(a, b) { return a > b ? a - b : b - a }
    $1 != $4 || $2 != $5 || NF != 6 { print "not the same figures: " $0; bad = 1; next }
    $1 == "step" {
      n++; d = off($3, $6) / $3
      if (!(d <= ($2 <= 8 ? 1e-5 : 0.2))) { print "loss differs: " $0; bad = 1 }
      if ($2 <= 8 && d > early) early = d
      if (d > late) late = d
      sum += d
    }
    $1 == "metric" {
      m++; d = off($3, $6)
      if (!(d <= 0.02)) { print "metric differs: " $0; bad = 1 }
      if (d > metric) metric = d
    }
    END {
      printf "%d losses, relative difference at most %.2g in the first eight steps (allowed 1e-05)", n, early
      printf ", %.2g in one step (0.2), %.2g on average (0.03)\n", late, sum / n
      printf "%d metrics, difference at most %.2g (allowed 0.02)\n", m, metric
      exit bad || n != steps || m == 0 || sum > 0.03 * n
    }'
}

# A training in bfloat16 on the card follows the one in float32 and repeats its bytes.
#
# Activations are off by up to 2^-9 of themselves, and losses part faster than by other orders
# of sums. Measured on the processor with three seeds: at most 1.8 % of a loss in the first
# three steps, 2.0 to 2.8 % on average over 200, and 0.008 of a metric. Allowed is three times
# as much. Another seed changes 17 % on average, and 0.035 of a metric.
mixed() {
  local steps=200 one again
  [ -z "$small" ] || steps=4
  [ -d "$work/runs/card" ] || train "$steps" cuda card || return 1 # the part training made it
  train "$steps" cuda mixed bfloat16 || return 1
  # The emulator takes a minute; that it repeats itself is tested elsewhere.
  [ -n "$small" ] || train "$steps" cuda mixedagain bfloat16 || return 1
  one=$(weights mixed) again=$one
  [ -n "$small" ] || again=$(weights mixedagain)
  echo "weights after $steps steps in bfloat16: $one, repeated: $again"
  [ -n "$one" ] && [ "$one" = "$again" ] || { echo "the card does not repeat its bytes"; return 1; }
  [ "$one" != "$(weights card)" ] || { echo "bfloat16 gives the weights of float32: nothing was rounded"; return 1; }
  figures card > "$work/full" && figures mixed > "$work/mixed"
  paste -d ' ' "$work/full" "$work/mixed" | awk -v steps="$steps" '
    function off(a, b) { return a > b ? a - b : b - a }
    $1 != $4 || $2 != $5 || NF != 6 { print "not the same figures: " $0; bad = 1; next }
    $1 == "step" {
      n++; d = off($3, $6) / $3; sum += d
      if (n <= 3 && !(d <= 0.055)) { print "loss differs: " $0; bad = 1 }
      if (n <= 3 && d > early) early = d
    }
    $1 == "metric" {
      m++; d = off($3, $6)
      if (!(d <= 0.024)) { print "metric differs: " $0; bad = 1 }
      if (d > metric) metric = d
    }
    END {
      printf "%d losses, relative difference at most %.2g in the first three steps (allowed 0.055)", n, early
      printf ", %.2g on average (0.085)\n", sum / n
      printf "%d metrics, difference at most %.2g (allowed 0.024)\n", m, metric
      exit bad || n != steps || m == 0 || sum > 0.085 * n
    }'
}

# sanitizer TOOL: compute-sanitizer over every operation, once at small shapes.
sanitizer() {
  local program
  program=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null) ||
    { echo "compute-sanitizer is not installed"; return 77; }
  own "$program" --tool "$1" --error-exitcode 9 "$here/bin/cuda.test" -test.v \
    -test.run TestEveryOrderAndEveryCardGivesTheSameBytes
}

throughput() {
  HGLD_GPU_CHECK_RATES=$out/throughput.json own "$here/bin/cuda.test" -test.run '^$' -test.bench Kernels -test.benchtime 1x
}

anchor() {
  if [ -n "$small" ] || [ ! -e "$here/anchor_torch.py" ] || ! "$python" -c 'import torch, timm' 2> /dev/null; then
    echo "on the emulator, not packed, or $python has no torch and timm"
    return 77
  fi
  "$python" "$here/anchor_torch.py" --only limits,train --out "$out/anchor.json"
}

# steps: training steps of published networks, beside PyTorch's where it is there and sees the card.
steps() {
  local torch='import sys, timm, torch; sys.exit(sys.argv[1] == "" and not torch.cuda.is_available())'
  export HGLD_GPU_CHECK_STEPS=$out/steps.json HGLD_GPU_CHECK_SECONDS=$1
  export TORCHINDUCTOR_CACHE_DIR=$out/inductor # a second visit compiles less
  if "$python" -c "$torch" "$small" 2> /dev/null; then
    export HGLD_GPU_CHECK_TORCH=$here/gpu_steps.py
  else
    echo "without PyTorch: $python has no torch and timm, or they see no card"
  fi
  "$here/bin/train.test" -test.run '^$' -test.bench '^BenchmarkSteps$' -test.benchtime 1x && [ -s "$out/steps.md" ]
}

# tune: what each choice of HGLD_CUDA_TUNE makes of the shapes of a ResNet-50 and a DeiT-S.
tune() {
  HGLD_GPU_CHECK_TUNED=$out/tune.json HGLD_GPU_CHECK_SECONDS=$1 \
    "$here/bin/cuda.test" -test.run '^$' -test.bench '^BenchmarkKnobs$' -test.benchtime 1x && [ -s "$out/tune.md" ]
}
export -f doctor own library tests exactly alone train weights figures emulated training mixed sanitizer throughput
export -f anchor steps tune
export here out work small python PYTHON=$python

right() {
  rm -f "$out"/{doctor,throughput,anchor}.json "$out/throughput.md"
  local driver='TestNoSuchCard|TestProbe|TestUpload|TestLargeTransfers|TestHostBuffer|TestProgram|TestRecording|TestOutOfMemory'
  driver="$driver|TestLaunches|TestResultsArrive"
  local tensor='TestShortArrays|TestLargeTiles'
  local conformance='^TestConformance$' ranks=TestRank optim='TestGolden(Trajectories|Clipping|Averages)'
  if [ -n "$small" ]; then
    conformance='^TestConformance$/(F32|BF16)/^(Axpby|Sums|Scores)$' tensor=TestShortArrays
    ranks=TestRankOperationsWithoutQueries optim=TestGoldenAverages
  fi
  # In the order of what a short visit should find out first.
  part check doctor 30 doctor
  part check driver 45 tests cuda.test "$driver"
  part check bytes 120 own tests cuda.test TestEveryOrderAndEveryCardGivesTheSameBytes
  part check conformance 150 own tests cuda.test "$conformance"
  part check tensor 40 own tests cuda.test "$tensor"
  part check emulated 30 emulated
  part figure throughput 60 throughput
  part check cublaslt 30 library cublaslt MatMul
  part check ranks 40 tests cuda.test "$ranks"
  [ -n "$small" ] || part check layers 30 tests cuda.test TestGoldenLayers
  part check nn 30 tests nn.test TestGoldenLayers
  part check losses 45 tests loss.test TestGoldenLosses
  part check optim 20 tests optim.test "$optim"
  part check backbones 60 tests backbone.test TestGoldenBackbones
  [ -n "$small" ] || part check metrics 20 tests train.test TestGoldenEvaluation
  [ -n "$small" ] || part check trace 30 tests train.test TestGoldenTrace
  part check training 90 training
  part check mixed 150 mixed
  part extra cudnn 150 library cudnn Conv # which compiles a kernel for most of its shapes
  part extra memcheck 60 sanitizer memcheck
  part extra racecheck 60 sanitizer racecheck
  part figure anchor 120 anchor
}

# The seconds that a part is given are those after which it begins nothing new. Compiling by PyTorch
# takes up to a minute and a half a network: those for which there is no time are left out.
fast() {
  rm -f "$out"/{doctor,steps,tune}.json "$out"/{steps,tune}.md
  part check doctor 30 doctor
  part check tune 120 tune 100
  part check steps "$budget" steps $((budget - SECONDS - 30))
}

# One JSON file and one table. A part without a result is null.
declare -A titles=([throughput]=Throughput [anchor]='PyTorch on the same card' [steps]='Training steps' [tune]='Tiles, splits and plans')
results=(throughput anchor)
[ "$report" = gpu_check ] || results=(steps tune)
json() { if [ -s "$out/$1" ]; then cat "$out/$1"; else echo null; fi; }
text() { tr -d '\000-\037"\\' | head -c 200; }
commit=$(text < "$here/COMMIT")
driver=$( (timeout 10 nvidia-smi --query-gpu=driver_version --format=csv,noheader 2> /dev/null || true) | head -n 1 | text)

# rows_of_anchor keeps the rows of a PyTorch that was cut off: it writes its file at the end.
rows_of_anchor() {
  if [ "$report" = gpu_check ] && [ ! -s "$out/anchor.json" ] && grep -q '^{"job"' "$out/anchor.log" 2> /dev/null; then
    printf '{"complete": false, "rows": [\n%s\n]}\n' "$(grep -x '{"job".*}' "$out/anchor.log" | paste -sd ,)" \
      > "$out/anchor.json"
  fi
}

write_json() {
  printf '{\n"commit": "%s",\n"date": "%s",\n"card": "%s",\n"driver": "%s",\n' \
    "$commit" "$(date -u +%FT%TZ)" "$card" "$driver"
  printf '"complete": %s,\n"failed": %d,\n"seconds": %d,\n"parts": [\n' "$complete" "$failed" "$SECONDS"
  awk -F '\t' '{
    printf "%s {\"kind\": \"%s\", \"name\": \"%s\",", (NR > 1 ? ",\n" : ""), $1, $2
    printf " \"result\": \"%s\", \"seconds\": %d}", $3, $4
  }' "$out/parts.tsv"
  printf '\n],\n"doctor": %s' "$(json doctor.json)"
  for name in "${results[@]}"; do printf ',\n"%s": %s' "$name" "$(json "$name.json")"; done
  printf '\n}\n'
}

write_table() {
  local verdict='All checks passed.' name result seconds last
  [ "$failed" -eq 0 ] || verdict="$failed checks failed."
  [ -z "${PARTS:-}" ] || verdict="$verdict Only these parts ran: $PARTS."
  "$complete" || verdict="$verdict The visit ended before the last part."
  printf '# %s\n\n%s\n\nDriver %s, commit %s, %s, %d s. **%s**\n\n' "$report" \
    "$card" "${driver:-(nvidia-smi says nothing)}" "$commit" "$(date -u +%F)" "$SECONDS" "$verdict"
  printf '| part | result | s | last line |\n|---|---|---:|---|\n'
  while IFS=$'\t' read -r _ name result seconds; do
    last=$(grep -v '^$' "$out/$name.log" | tail -n 1 | tr '|' '/' | text)
    printf '| %s | %s | %d | %s |\n' "$name" "$result" "$seconds" "$last"
  done < "$out/parts.tsv"
  for name in "${results[@]}"; do
    if [ -s "$out/$name.md" ]; then printf '\n## %s\n\n' "${titles[$name]}" && cat "$out/$name.md"; fi
  done
  if [ "$report" = gpu_check ] && [ -s "$out/anchor.json" ]; then
    printf '\n## %s\n\n```json\n' "${titles[anchor]}" && cat "$out/anchor.json" && printf '\n```\n'
  fi
}

write_report() {
  card=$(grep -A 2 '"name": "cuda"' "$out/doctor.json" 2> /dev/null | sed -n 's/.*"text": "\(.*\)".*/\1/p' | text)
  rows_of_anchor
  write_json > "$out/new" && mv "$out/new" "$out/$report.json"
  write_table > "$out/new" && mv "$out/new" "$out/$report.md"
}

if [ "$report" = gpu_check ]; then right; else fast; fi
complete=true
write_report
echo "$out/$report.md, $out/$report.json"
[ "$failed" -eq 0 ]
