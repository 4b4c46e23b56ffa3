#!/usr/bin/env bash
# Prepares what scripts/gpu-h200.sh needs on a machine with a GPU but without Rust and git: the
# `gpu` test program and a snapshot of the demo's sources after every step of the series.
# Usage: scripts/gpu-h200-pack.sh [FOLDER]   (default: target/gpu-h200)
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-target/gpu-h200}
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
repo=$(mktemp -d)
trap 'rm -rf "$repo"' EXIT
git -C "$repo" init -q --template= --object-format=sha1 .
step=0
for patch in kernels/series/*.patch; do
    step=$((step + 1))
    git -C "$repo" -c core.hooksPath=/dev/null am -q -k --committer-date-is-author-date \
        --no-gpg-sign <"$patch"
    mkdir -p "$out/steps/$step"
    cp -r "$repo/kernels" "$repo/Makefile" "$out/steps/$step/"
    echo "$step $(git -C "$repo" rev-parse HEAD) $(basename "$patch" .patch)" >>"$out/steps.txt"
done
cp scripts/gpu-h200.sh "$out/run.sh"
echo "packed into $out:"
du -sh "$out"
cat "$out/steps.txt"
