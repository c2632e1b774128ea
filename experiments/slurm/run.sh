#!/usr/bin/env bash
# Runs pelton on a real Slurm: an array job of `pelton worker`, and `pelton run --on` with workers of Dask that dask-jobqueue or
# `sbatch` starts.
# Needs root, Debian's apt-get, Python and pip. Nothing is installed: all lies in a temporary directory, removed at the end.
# Usage: experiments/slurm/run.sh [PELTON]     a release build, by default target/release/pelton
set -u
here=$(cd "$(dirname "$0")" && pwd)
pelton=$(realpath "${1:-$here/../../target/release/pelton}") || exit 2
lab=$(mktemp -d /tmp/pelton-slurm.XXXXXX)
chmod 755 "$lab" # munge wants its socket to be reachable
mkdir "$lab"/{bin,debs,root,munge,state,spool,tmp,venv,data}

tear_down() {
    trap '' INT TERM
    [ ${#daemons[@]} -eq 0 ] || { scancel -u root; sleep 7; } 2> /dev/null # KillWait is 5 s
    for daemon in "${daemons[@]}"; do kill "$daemon" 2> /dev/null && wait "$daemon"; done
    cd / && rm -rf "$lab"
} 2> /dev/null
. "$here/../lab.sh"

# Slurm, munge and Dask.
cd "$lab/debs" || exit
names="slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge libmunge2"
names+=" $(apt-get install -s --no-install-recommends slurmctld slurmd munge | awk '$1 == "Inst" {print $2}')"
for name in $(printf '%s\n' $names | sort -u); do
    apt-get download "$name" > apt.out 2>&1 && dpkg -x "$name"_*.deb "$lab/root" || { cat apt.out; die "no package $name"; }
done
python3 -m venv "$lab/venv" && "$lab/venv/bin/pip" install -q distributed dask-jobqueue || die "no Dask"
ln -s "$pelton" "$lab/bin/pelton"
libraries=$lab/root/usr/lib/x86_64-linux-gnu
export PATH=$lab/bin:$lab/venv/bin:$lab/root/usr/bin:$lab/root/usr/sbin:$PATH LD_LIBRARY_PATH=$libraries:$libraries/slurm-wlm
export SLURM_CONF=$lab/slurm.conf TMPDIR=$lab/tmp PELTON_PYTHON=$lab/venv/bin/python
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${PYTHONPATH:-$here/../../python/src}
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
sed "s|@LAB@|$lab|; s|@HOST@|$(hostname -s)|; s|@PORT@|$port|; s|@SLURMD_PORT@|$((port + 1))|" "$here/slurm.conf" > "$SLURM_CONF"
mungekey --create --keyfile "$lab/munge/key"
began=$(now)
start munged --foreground --key-file "$lab/munge/key" --socket "$lab/munge/socket" --pid-file "$lab/munge/pid" \
    --log-file "$lab/munge.log" --seed-file "$lab/munge/seed"
until_true '[ -S "$lab/munge/socket" ]'
start slurmctld-wlm -D -i
start slurmd-wlm -D -d "$lab/root/usr/sbin/slurmstepd-wlm"
until_true 'sinfo -h -o %T | grep -q idle'
row "Slurm $(sinfo --version | cut -d' ' -f2) answers" ok "$(since "$began") s"

# Workers of Dask: `workers MINUTES COUNT TOTAL` starts some, and waits until there are as many as TOTAL.
cd "$lab/data" || exit
scheduler=$lab/data/scheduler.json
start dask scheduler --host 127.0.0.1 --port 0 --no-dashboard --scheduler-file "$scheduler"
until_true '[ -s "$scheduler" ]'
count() { python -c "import distributed; c = distributed.Client(scheduler_file='$scheduler'); print(len(c.nthreads()))"; }
workers() { job=$(sbatch --parsable --time "$1" --array "1-$2" --output "$lab/worker-%a.out" --wrap "exec dask worker \
    --scheduler-file '$scheduler' --host 127.0.0.1 --nthreads 1 --no-dashboard"); until_true "[ \$(count) -eq $3 ]"; }
on_dask() { pelton run --on "dask-file:$scheduler" --part-size 2M --work-dir "$1" "$2"; }
# Workers of dask-jobqueue: a scheduler in this program, and a job of Slurm for each of two workers, until it is ended.
jobqueue() { start python -c "
import os, signal, sys
from dask_jobqueue import SLURMCluster
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
with SLURMCluster(cores=1, memory='500 MB', walltime='10', interface='lo', log_directory='$lab/tmp', local_directory='$lab/tmp',
        scheduler_options={'host': '127.0.0.1', 'dashboard': False}) as cluster:
    cluster.scale(jobs=2)
    cluster.wait_for_workers(2)
    print(cluster.scheduler_address.replace('tcp:', 'dask:'), file=open('jobqueue.new', 'w'))
    os.rename('jobqueue.new', 'jobqueue')
    signal.pause()"; until_true '[ -s jobqueue ]'; }
on_jobqueue() { pelton run --on "$(cat jobqueue)" --part-size 2M --work-dir "$1" "$2"; }
on_array() { # directory, pipeline: plan, array job, merge; what is not divided runs here
    local parts
    if parts=$(pelton plan --part-size 2M --work-dir "$1" "$2" 2> /dev/null | awk '/ parts$/ {print $1}') && [ -n "$parts" ]; then
        # Its own --wait looks only every 2 to 10 s.
        job=$(sbatch --parsable --array "0-$((parts - 1))" --output "$1/slurm-%a.out" \
            --wrap "exec pelton worker --plan '$1/plan.json' --part \$SLURM_ARRAY_TASK_ID")
        while squeue -h -j "$job" 2> /dev/null | grep -q .; do sleep 0.05; done
    fi
    pelton run --on local:1 --part-size 2M --work-dir "$1" "$2"
}

seq 200000 | awk '{printf "10.0.%d.%d - - [%02d/Nov] \"GET /page/%d?x=%d\" - %d %d\n", $1 % 7, $1 % 251, $1 % 30 + 1,
    $1 * 7919 % 1009, $1, $1 % 9 ? 200 : $1 % 2 ? 404 : 500, $1 * 31 % 65521}' > big.log
{ cat big.log; printf 'a\0b 404\n'; } > binary.log
for way in array jobqueue dask; do
    number=0 most=99 began=$(now)
    case $way in
        jobqueue) most=8; jobqueue; row "2 workers of Dask from Slurm, by dask-jobqueue" ok "$(since "$began") s" ;;
        dask) workers 10 4 4; row "4 workers of Dask from Slurm" ok "$(since "$began") s" ;;
    esac
    while IFS= read -r text; do
        bash -c "$text" > wanted 2> wanted.err; status=$?
        began=$(now); "on_$way" "$lab/data/$way-$((number += 1))" "$text" > got 2> got.err; got=$?
        grep -v '^pelton: ' got.err > said
        check "$way: $text" 'cmp -s wanted got && [ $status = $got ] && cmp -s wanted.err said' \
            "$(since "$began") s, $(ls "$way-$number" 2> /dev/null | grep -c 'part-.*[0-9].json') parts"
    done < <(head -n $most "$here/pipelines.txt")
    [ $way != jobqueue ] || { kill "${daemons[0]}" && wait "${daemons[0]}"; daemons=("${daemons[@]:1}"); until_true '! squeue -h | grep -q .'; }
done

# Interrupts. `slow` costs some seconds of all workers.
slow="awk '{for (i = 0; i < 1200; i++) x = i; print \$1}' big.log | sort | uniq -c"
bash -c "$slow" > wanted
(until_true "ls one/part-*.out"; scancel "${job}_2") & on_dask "$lab/data/one" "$slow" > got 2> said
check "one worker cancelled in mid-run: its part is done elsewhere" 'cmp -s wanted got && grep -q "gone.*tried again\|tried again.*gone" said' "$(head -n 1 said)"
(until_true "ls all/part-*.json"; scancel "$job") & on_dask "$lab/data/all" "$slow" > got 2> said; got=$?
check "all workers cancelled: nothing printed, status 2" '[ ! -s got ] && [ $got = 2 ]' "status $got: $(tail -n 2 said | head -n 1)"
kept=$(ls all | grep -c 'part-.*[0-9].json'); workers 10 4 4; on_dask "$lab/data/all" "$slow" > got 2> said
check "the same command, with new workers, goes on" 'cmp -s wanted got && [ ! -s said ]' "$kept parts were kept"
slow="cat big.log big.log big.log big.log | ${slow/ big.log/}" # runs of some seconds, until one meets the limit
bash -c "$slow" > wanted
scancel "$job"; until_true '[ $(count) -eq 0 ]'; workers 1 2 2; workers 10 2 4
n=0; until [ "$(squeue -h | wc -l)" -lt 4 ] || [ $n = 30 ]; do on_dask "$lab/data/limit-$((n += 1))" "$slow" > got 2> said; done
check "time limit hit: the parts are done by workers that go on" 'cmp -s wanted got && grep -q "gone.*tried again\|tried again.*gone" said' "run $n: $(head -n 1 said)"
row "the whole" "$SECONDS s"
[ $failures = 0 ] || echo "$failures FAILED"
exit $((failures > 0))
