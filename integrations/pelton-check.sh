#!/bin/sh
# Times a pipeline in continuous integration: writes the table to the job's summary, and fails if the pipeline became
# slower than a stored record says. Used by github/action.yml and gitlab.yml beside it; runs anywhere.
set -eu

usage() {
    cat <<'END'
Usage: sh pelton-check.sh PIPELINE [RECORD]

  PIPELINE   shell text: it is run several times, so it had better only print
  RECORD     of an earlier day, made by
             pelton time --runs 10 --json -o RECORD PIPELINE

In the environment:
  PELTON_RUNS        how often it is run [10]
  PELTON_THRESHOLD   a change of less than so many per cent is none [20]
  PELTON_SUMMARY     where the Markdown is appended [$GITHUB_STEP_SUMMARY, or
                     standard output]

Exit status: 1 if it is slower than the record says; 0 if not; 2 if it could
not be measured.
END
}

case ${1-} in
-h | --help) usage; exit 0 ;;
'') usage >&2; exit 2 ;;
esac
pipeline=$1
record=${2-}
runs=${PELTON_RUNS:-10}
threshold=${PELTON_THRESHOLD:-20}
summary=${PELTON_SUMMARY:-${GITHUB_STEP_SUMMARY:-/dev/stdout}}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

pelton time --runs "$runs" --format markdown --output "$work/table.md" "$pipeline" > "$work/printed" || {
    status=$?
    cat "$work/printed"
    # The pipeline's own failure is the job's business; without a table nothing was measured.
    [ -s "$work/table.md" ] || exit 2
    echo "pelton-check.sh: the pipeline ended with status $status" >&2
}
cat "$work/table.md" >> "$summary"
[ -n "$record" ] || exit 0

status=0
pelton compare --baseline "$record" --threshold "$threshold" "$pipeline" > "$work/compared" || status=$?
{
    echo
    echo '```text'
    cat "$work/compared"
    echo '```'
} >> "$summary"
cat "$work/compared"
exit "$status"
