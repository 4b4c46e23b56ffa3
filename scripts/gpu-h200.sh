#!/usr/bin/env bash
# Runs on a machine with a GPU, nvcc 13.0 and ncu; needs neither Rust nor git. It builds the
# kernels at every step of the series that were packed, runs the GPU tests on them, and counts
# shared-memory wavefronts and bank conflicts with Nsight Compute.
# Usage: gpu-h200.sh PACK [OUT]   PACK: the folder that gpu-h200-pack.sh made; OUT: default $OUT.
# Results: environment.txt, tests.log, peaks.csv (what the card can do at most), counters.csv and
# stalls.csv (one row a metric), opcodes.txt, ncu.log.
set -euo pipefail
pack=$(realpath "$1")
out=$(realpath -m "${2:-${OUT:?give a folder for the results}}")
arch=${CUDA_ARCH:-sm_90}
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
    date -u +%Y-%m-%dT%H:%M:%SZ
    uname -srm
    nvidia-smi --query-gpu=name,uuid,driver_version,clocks.max.sm,clocks.sm,power.limit \
        --format=csv || true
    nvcc --version | tail -2
    ncu --version | tail -1 || true
    cat "$pack/steps.txt"
} >"$out/environment.txt" 2>&1

echo "== building for $arch"
build() { # step
    cp -r "$pack/steps/$1" "$work/src-$1"
    make -s -C "$work/src-$1" -j4 CUDA_ARCH="$arch"
    cp -r "$work/src-$1/build" "$work/$1"
}
# Steps at once, because a step waits for its largest kernel.
builds=()
while read -r step _; do
    build "$step" &
    builds+=($!)
done <"$pack/steps.txt"
for job in "${builds[@]}"; do
    wait "$job"
done

echo "== GPU tests"
chmod +x "$pack/gpu" 2>/dev/null || true
status=0
if [ -f "$pack/series.txt" ]; then
    ROUNDHOUSE_GPU_SERIES=$(cat "$pack/series.txt")
    export ROUNDHOUSE_GPU_SERIES
fi
ROUNDHOUSE_GPU_STEPS=$work timeout 240 "$pack/gpu" 2>&1 | tee "$out/tests.log" || status=$?
if grep -q "not run" "$out/tests.log"; then
    echo "no GPU was found: nothing was tested" >&2
    exit 1
fi

echo "== peaks"
nvcc -O3 -std=c++17 -arch="$arch" -o "$work/peaks" "$pack/gpu-peaks.cu"
"$work/peaks" | tee "$out/peaks.csv"
# cuBLAS comes with torch; a machine without it has one figure less, and says so.
python3 "$pack/gpu-int8.py" | tee -a "$out/peaks.csv" || echo "cublasLt was not measured" >&2

# One launch of each kernel at each step. Per-operation counters only: the sum without an
# operation is not the sum of the operations. Times under the profiler are not taken.
metrics=smsp__inst_executed.sum
for op in ld st; do
    metrics+=,l1tex__data_pipe_lsu_wavefronts_mem_shared_op_$op.sum
    metrics+=,l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_$op.sum
    metrics+=,l1tex__t_requests_pipe_lsu_mem_global_op_$op.sum
    metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_$op.sum
done
opcodes=sass__inst_executed_per_opcode_with_modifier_all
# What warps wait for, as warps a cycle in which one is issued.
stalls=smsp__issue_active.avg.per_cycle_active,sm__cycles_active.avg
for reason in long_scoreboard short_scoreboard mio_throttle lg_throttle math_pipe_throttle barrier \
    wait dispatch_stall no_instruction; do
    stalls+=,smsp__average_warps_issue_stalled_${reason}_per_issue_active.ratio
done

echo "== counters"
echo "step,commit,kernel,metric,value" | tee "$out/counters.csv" >"$out/stalls.csv"
: >"$out/ncu.log"
: >"$out/opcodes.txt"
profile() { # metrics kernel bench step options...
    local metrics=$1 kernel=$2 bench=$3 step=$4
    shift 4
    timeout 120 ncu --target-processes all --clock-control none --csv --page raw \
        --print-units base --kernel-name "$kernel" --launch-count 1 --metrics "$metrics" "$@" \
        "$pack/gpu" --launch "$bench" --cubins "$work/$step" 2>>"$out/ncu.log"
}
rows() { # step commit kernel raw
    python3 - "$@" <<'PY'
import csv, sys
step, commit, kernel, path = sys.argv[1:]
# Program output and ncu's own lines stand before the table, whose header begins with "ID".
lines = [line for line in open(path) if line.startswith('"')]
rows = list(csv.reader(lines))
header, values = rows[0], rows[2]
for name, value in zip(header, values):
    if name.startswith(("l1tex__", "sm__", "smsp__")):
        print(",".join([step, commit[:12], kernel, name, value.replace(",", "")]))
PY
}
# The kernels of a step whose counters say something about its lever, each with its bench.
kernels_of() { # step
    case $1 in
    mmq-[78] | mmq-10) echo "mmq_nb:q_proj NB" ;;
    mmq-[1246]) printf '%s\n' "mmq_wide_kd4:q_proj KD=4" "mmq_wide_kd8:q_proj KD=8" ;;
    mmq-*) ;;
    *) printf '%s\n' ldsm_check:ldsm_check scale_read:scale_read ;;
    esac
}
while read -r step commit _; do
    while IFS=: read -r kernel bench; do
        raw=$work/$step-$kernel.csv
        if ! profile "$metrics" "$kernel" "$bench" "$step" >"$raw"; then
            echo "ncu failed for $kernel at step $step" | tee -a "$out/ncu.log"
            cat "$raw" >>"$out/ncu.log"
            status=1
            continue
        fi
        cat "$raw" >>"$out/ncu.log"
        # Executed instructions by opcode: wanted, but the run does not fail without.
        echo "== step $step $kernel" >>"$out/opcodes.txt"
        profile "$opcodes" "$kernel" "$bench" "$step" --print-metric-instances details \
            >>"$out/opcodes.txt" || echo "not available, see ncu.log" >>"$out/opcodes.txt"
        rows "$step" "$commit" "$kernel" "$raw" >>"$out/counters.csv"
        # The same holds for stalls.
        if profile "$stalls" "$kernel" "$bench" "$step" >"$raw"; then
            rows "$step" "$commit" "$kernel" "$raw" >>"$out/stalls.csv"
        else
            cat "$raw" >>"$out/ncu.log"
        fi
    done < <(kernels_of "$step")
done <"$pack/steps.txt"

grep bank_conflicts "$out/counters.csv" || true
exit "$status"
