#!/usr/bin/env bash
# Base against base on a machine with a GPU, nvcc 13.0, git and python3, and no Rust: calibrates two
# benches of the sample campaign over and over, for as long as there is time, and says what the
# protocol made of it each time.
# Usage: gpu-aa.sh RUNNER [OUT]   RUNNER: the release binary; OUT: default $OUT.
# Takes LIMIT_S seconds (270) at most; PAIRS pairs a time (16); BENCHES, one a line. Everything is
# printed as it comes. Results: aa.tsv, profiles.txt, aa.log, roundhouse.db.gz in OUT.
set -euo pipefail
runner=$(realpath "$1")
out=$(realpath -m "${2:-${OUT:?give a folder for the results}}")
limit=${LIMIT_S:-270}
pairs=${PAIRS:-16}
benches=${BENCHES:-$'q_proj KD=8\nprefill'}
arch=${CUDA_ARCH:-sm_90}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
chmod +x "$runner" 2>/dev/null || true
export ROUNDHOUSE_DATA=$work/data ROUNDHOUSE_CACHE=$work/cache ROUNDHOUSE_LOCKS=$work/locks
# The campaign's harness is this very program, by the name `runner`.
mkdir -p "$work/bin"
ln -sf "$runner" "$work/bin/runner"
export PATH=$work/bin:$PATH

"$runner" demo --campaign mmq --only-repository --dir "$work/repo" --toolchain system --arch "$arch"
# The baseline's own file, for this machine's toolchain, with the number of timed runs left open.
base=$(git -C "$work/repo" rev-list --max-parents=0 HEAD)
git -C "$work/repo" show "$base:campaign.toml" | sed -e 's/^cuda = .*/cuda = "system"/' \
    -e "s/^arch = .*/arch = [\"$arch\"]/" -e '/^inner = /d' > "$work/campaign.toml"

calibrate() {
    "$runner" --repo "$work/repo" calibrate --config "$work/campaign.toml" "$@"
}
printf 'repeat\tbench\tanswer\tpairs\testimate %%\tsigma %%\tslot %%\truns\trun sd %%\tlaunch sd %%\tlaunch s\trun s\n' | tee "$out/aa.tsv"
end=$((SECONDS + limit))
status=0
repeat=1
longest=0
while :; do
    while IFS= read -r bench; do
        # One that would be cut short makes no profile.
        [ $((SECONDS + longest + 5)) -lt "$end" ] || break 2
        began=$SECONDS
        timeout --kill-after=20 $((end - SECONDS)) "$runner" --repo "$work/repo" calibrate \
            --config "$work/campaign.toml" --commit "$base" --bench "$bench" --pairs "$pairs" \
            --json > "$work/last.json" 2>> "$out/aa.log" < /dev/null || { status=$?; tail -n 5 "$out/aa.log"; break 2; }
        took=$((SECONDS - began))
        [ "$took" -le "$longest" ] || longest=$took
        python3 - "$repeat" "$work/last.json" <<'PY' | tee -a "$out/aa.tsv"
import json, sys
for found in json.load(open(sys.argv[2]))["profiles"]:
    aa, noise = found["aa"], found["noise"]
    inside, cost = noise["inside"] or {}, noise["cost"]
    number = lambda value, form: "-" if value is None else format(value, form)
    print(sys.argv[1], found["bench"], aa["outcome"], aa["pairs"], number(aa["estimate"], "+.3f"),
          number(noise["sigma"]["value"], ".3f"), number(noise["slot"]["value"], "+.3f"),
          inside.get("runs", "-"), number(inside.get("run_sd"), ".3f"),
          number(inside.get("launch_sd"), ".3f"), number(cost["launch_s"], ".2f"),
          number(cost["run_s"], ".6f"), sep="\t", flush=True)
PY
    done <<< "$benches"
    repeat=$((repeat + 1))
done
echo
calibrate --show | tee "$out/profiles.txt" || true
echo "answers:"
tail -n +2 "$out/aa.tsv" | cut -f3 | sort | uniq -c
gzip -c "$ROUNDHOUSE_DATA/roundhouse.db" > "$out/roundhouse.db.gz"
exit "$status"
