#!/usr/bin/env bash
# Runs the campaign of the matrix products on a machine with a GPU, nvcc 13.0, ncu and git, and
# keeps what came of it. Levers whose claims do not hold are measured all the same.
# Usage: gpu-campaign.sh RUNNER [OUT]   RUNNER: the release binary; OUT: default $OUT.
# Results, in campaign.tgz: campaign.txt (the table), rounds/ (each round's comment), site/ (the
# pages), and record.tar.gz (the database and the inspection reports, which is what showing and
# judging the rounds anew takes).
set -euo pipefail
runner=$(realpath "$1")
out=$(realpath -m "${2:-${OUT:?give a folder for the results}}")
arch=${CUDA_ARCH:-sm_90}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out" "$work/keep/rounds"
chmod +x "$runner" 2>/dev/null || true
export ROUNDHOUSE_DATA=$work/data ROUNDHOUSE_CACHE=$work/cache ROUNDHOUSE_LOCKS=$work/locks

# A limit of the machine's own must find what was measured until then.
status=0
timeout --kill-after=20 "${LIMIT_S:-3000}" "$runner" demo --campaign mmq --toolchain system \
    --arch "$arch" --measure-anyway --dir "$work/repo" 2>&1 | tee "$work/keep/demo.txt" || status=$?

cd "$work/repo"
"$runner" show | tee "$work/keep/campaign.txt"
for run in $("$runner" show --json | python3 -c '
import json, sys
print(*[run["id"] for run in json.load(sys.stdin)["runs"]])'); do
    "$runner" show "$run" --markdown >"$work/keep/rounds/$run.md"
done
"$runner" index --out "$work/keep/site" --campaign mmq-7b
python3 - "$ROUNDHOUSE_DATA" "$work/record" <<'PYTHON'
import pathlib, shutil, sqlite3, sys
data, record = map(pathlib.Path, sys.argv[1:])
record.mkdir()
with sqlite3.connect(data / "roundhouse.db") as source, \
        sqlite3.connect(record / "roundhouse.db") as copy:
    source.backup(copy)
    reports = copy.execute("SELECT report_artifact FROM build WHERE report_artifact IS NOT NULL")
    for (sha256,) in set(reports):
        file = pathlib.Path("artifacts", sha256[:2], sha256[2:4], f"{sha256}.zst")
        (record / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(data / file, record / file)
PYTHON
tar -czf "$work/keep/record.tar.gz" -C "$work/record" .
tar -czf "$out/campaign.tgz" -C "$work" keep
exit "$status"
