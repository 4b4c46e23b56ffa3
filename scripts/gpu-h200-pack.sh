#!/usr/bin/env bash
# Prepares what scripts/gpu-h200.sh needs on a machine with a GPU but without Rust and git: the
# `gpu` test program and a snapshot of the sources after every step of each series: `demo`, the
# stand-alone kernels, and `mmq`, the matrix products.
# Usage: scripts/gpu-h200-pack.sh [FOLDER] [SERIES...]   (default: target/gpu-h200 demo mmq)
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-target/gpu-h200}
shift || true
series=("$@")
[ $# -gt 0 ] || series=(demo mmq)
rm -rf "$out"
mkdir -p "$out"

echo "building the gpu test program"
program=$(cargo test --release -p kernels --test gpu --no-run --message-format=json |
    python3 -c '
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable") and message["target"]["name"] == "gpu":
        print(message["executable"])')
cp "$program" "$out/gpu"
strip "$out/gpu"

# The same isolation as `runner demo`: fixed identity and dates, nothing of the user's.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_COMMITTER_NAME=Roundhouse GIT_COMMITTER_EMAIL=demo@roundhouse.invalid
repos=$(mktemp -d)
trap 'rm -rf "$repos"' EXIT

# Applies the mails of a folder, and keeps the sources after each as step PREFIX1, PREFIX2, ...
snapshot() { # folder prefix
    local repo=$repos/$(basename "$1") step=0 patch label
    git init -q --template= --object-format=sha1 "$repo"
    for patch in "$1"/*.patch; do
        step=$((step + 1))
        label=$2$step
        git -C "$repo" -c core.hooksPath=/dev/null am -q -k --committer-date-is-author-date \
            --no-gpg-sign <"$patch"
        mkdir -p "$out/steps/$label"
        cp -r "$repo/kernels" "$repo/Makefile" "$out/steps/$label/"
        echo "$label $(git -C "$repo" rev-parse HEAD) $(basename "$patch" .patch)" \
            >>"$out/steps.txt"
    done
}
for name in "${series[@]}"; do
    case $name in
    demo) snapshot kernels/series "" ;;
    mmq) snapshot kernels/mmq mmq- ;;
    *)
        echo "no series $name; there are: demo, mmq" >&2
        exit 1
        ;;
    esac
done
# The gpu program runs the steps of one series, or of both.
[ ${#series[@]} -gt 1 ] || echo "${series[0]}" >"$out/series.txt"
cp scripts/gpu-h200.sh "$out/run.sh"
cp scripts/gpu-peaks.cu scripts/gpu-int8.py "$out/"
echo "packed into $out:"
du -sh "$out"
cat "$out/steps.txt"
