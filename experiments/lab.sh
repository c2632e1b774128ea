# What the experiments on other machines share: a directory that is removed at the end, daemons, rows. It is sourced; the
# one that sources it has `lab`, and `tear_down`, which ends the `daemons`.
daemons=() failures=0
trap tear_down EXIT
trap 'exit 130' INT TERM

start() { "$@" < /dev/null > "$lab/$(basename "$1").out" 2>&1 & daemons=($! "${daemons[@]}"); }
until_true() { local n; for n in {1..150}; do eval "$1" > /dev/null 2>&1 && return; sleep 0.2; done; die "not true in 30 s: $1"; }
die() { echo "$1" >&2; tail -n 20 "$lab"/*.log "$lab"/*.out >&2 2> /dev/null; exit 1; }
now() { date +%s.%N; }
since() { awk -v from="$1" -v to="$(now)" -v n="${2:-1}" 'BEGIN {printf "%.2f", (to - from) / n}'; } # for each of n
row() { printf '%-62s %-9s %s\n' "${1:0:62}" "$2" "${3:-}"; [ "$2" != FAILED ] || failures=$((failures + 1)); }
check() { if eval "$2"; then row "$1" ok "${3:-}"; else row "$1" FAILED "${3:-}"; fi; } # name, test, remark
