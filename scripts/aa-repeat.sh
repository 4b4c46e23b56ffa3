#!/bin/sh
# Base against base with real noise: a small CPU bench, measured and judged by the sequential
# protocol as a lever is, so many times over.
#
#   scripts/aa-repeat.sh [N] [FOLDER]
#
# N calibrations (30) of 44 pairs each in FOLDER (a temporary one, removed at the end). Needs a
# built runner (RUNNER, or target/release/runner, or target/debug/runner), git and cc; takes about N
# times 10 seconds. Prints a line for each and the count of the answers, and fails where more than
# one in 30 found an improvement: the protocol has one in a hundred or fewer.
set -eu
n=${1:-30}
root=$(cd "$(dirname "$0")/.." && pwd)
runner=${RUNNER:-}
for found in "$root/target/release/runner" "$root/target/debug/runner"; do
    [ -n "$runner" ] || { [ -x "$found" ] && runner=$found; }
done
[ -x "$runner" ] || { echo "aa-repeat: no runner: cargo build --release -p runner, or give RUNNER=" >&2; exit 2; }
if [ $# -ge 2 ]; then
    work=$2
    mkdir -p "$work"
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
export ROUNDHOUSE_DATA="$work/data" ROUNDHOUSE_CACHE="$work/cache" ROUNDHOUSE_LOCKS="$work/locks"

# A matrix product in f32 that lives in the second-level cache: about 50 ms of arithmetic, in processor
# time, so that a machine that others use as well takes time and not speed.
repo=$work/repo
rm -rf "$repo"
mkdir -p "$repo"
cat > "$repo/engine.c" <<'C'
#include <stdio.h>
#include <time.h>
enum { N = 192, TIMES = 48 };
static float a[N][N], b[N][N], c[N][N];
static void product(void) {
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++) c[i][j] += a[i][k] * b[k][j];
}
int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) a[i][j] = (float)(i - j) / N, b[i][j] = (float)(i + j) / N;
    product();
    struct timespec from, to;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
    for (int t = 0; t < TIMES; t++) product();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
    double ms = (to.tv_sec - from.tv_sec) * 1e3 + (to.tv_nsec - from.tv_nsec) / 1e6;
    fprintf(stderr, "sum %g\n", c[1][2]);
    printf("%.4f ms\n", ms);
    return 0;
}
C
cat > "$repo/campaign.toml" <<'TOML'
[campaign]
name = "aa"

[toolchain]
cuda = "none"

[device]
kind = "cpu"

[build]
command = "cc -O2 -o engine engine.c"
outputs = ["engine"]

[[bench]]
name = "product"
command = ["./engine"]
value = { regex = '([0-9.]+) ms' }
unit = "ms"
better = "lower"
bar = "+0.5%"
TOML
git -C "$repo" init -q
git -C "$repo" add -A
git -C "$repo" -c user.name=aa -c user.email=aa@localhost commit -qm "a product of matrices"

answers=$work/answers.tsv
printf 'repeat\tanswer\tpairs\testimate %%\tsigma %%\tslot %%\n' > "$answers"
i=1
while [ "$i" -le "$n" ]; do
    "$runner" --repo "$repo" calibrate --pairs 44 --json > "$work/last.json" 2> "$work/last.log" || {
        cat "$work/last.log" >&2
        exit 1
    }
    python3 - "$i" "$work/last.json" >> "$answers" <<'PY'
import json, sys
[found] = json.load(open(sys.argv[2]))["profiles"]
aa, noise = found["aa"], found["noise"]
print(sys.argv[1], aa["outcome"], aa["pairs"], f'{aa["estimate"]:+.3f}',
      f'{noise["sigma"]["value"]:.3f}', f'{noise["slot"]["value"]:+.3f}', sep="\t")
PY
    tail -n 1 "$answers"
    i=$((i + 1))
done
echo
echo "answers:"
tail -n +2 "$answers" | cut -f2 | sort | uniq -c
landed=$(tail -n +2 "$answers" | cut -f2 | grep -c '^false-landing$' || true)
allowed=$(((n + 29) / 30))
[ "$landed" -le "$allowed" ] || { echo "aa-repeat: $landed of $n found an improvement that is not there" >&2; exit 1; }
