#!/usr/bin/env bash
# Runs pelton over SSH: `pelton worker` by ssh, and `pelton run --on` with workers of Dask that SSHCluster starts. Three hosts are
# three sshds on 127.0.0.1, each with a name in an ssh config: a host that goes away is an sshd and its descendants, killed.
# Needs an ssh client, Debian's apt-get, Python and pip. Nothing is installed: all lies in a temporary directory, removed at the end.
# Usage: experiments/ssh/run.sh [PELTON]     a release build, by default target/release/pelton
set -u
here=$(cd "$(dirname "$0")" && pwd)
pelton=$(realpath "${1:-$here/../../target/release/pelton}") || exit 2
lab=$(mktemp -d /tmp/pelton-ssh.XXXXXX)
mkdir "$lab"/{bin,debs,root,tmp,venv,data,home}
declare -A sshd
hosts="one two three"

tree() { local child; kill -0 "$1" && echo "$1"; for child in $(pgrep -P "$1"); do tree "$child"; done; }
tear_down() {
    trap '' INT TERM
    for host in $hosts; do ssh -F "$lab/config" -O exit "$host"; done
    kill -KILL $(for daemon in "${daemons[@]}"; do tree "$daemon"; done) # listed first: an sshd that ends leaves its commands
    wait
    cd / && rm -rf "$lab"
} 2> /dev/null
. "$here/../lab.sh"

# sshd and Dask. As root, sshd wants a user and a directory of its own: a mount namespace has them, the machine has not.
cd "$lab/debs" || exit
for name in openssh-server libwrap0; do
    apt-get download "$name" > apt.out 2>&1 && dpkg -x "$name"_*.deb "$lab/root" || { cat apt.out; die "no package $name"; }
done
python3 -m venv "$lab/venv" && "$lab/venv/bin/pip" install -q distributed asyncssh || die "no Dask"
ln -s "$pelton" "$lab/bin/pelton"
export PATH=$lab/bin:$lab/venv/bin:$PATH TMPDIR=$lab/tmp PELTON_PYTHON=$lab/venv/bin/python
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${PYTHONPATH:-$here/../../python/src}
for key in host user; do ssh-keygen -q -t ed25519 -N '' -f "$lab/$key"; done
{ echo "root:x:0:0::$lab/home:/bin/bash"; echo 'sshd:x:65534:65534::/:/usr/sbin/nologin'; } > "$lab/passwd"
private='mount --bind "$0/passwd" /etc/passwd && mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd && exec "$@"'
own=(); [ "$(id -u)" != 0 ] || own=(unshare -m sh -c "$private" "$lab")
began=$(now)
for host in $hosts; do
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    printf 'Host %s\n HostName 127.0.0.1\n Port %s\n' "$host" "$port" >> "$lab/config"
    echo "[127.0.0.1]:$port $(cat "$lab/host.pub")" >> "$lab/known"
    start "${own[@]}" env LD_LIBRARY_PATH="$lab/root/usr/lib/x86_64-linux-gnu" "$lab/root/usr/sbin/sshd" -D -e -f /dev/null -p "$port" \
        -h "$lab/host" -o ListenAddress=127.0.0.1 -o AuthorizedKeysFile="$lab/user.pub" -o PidFile=none -o StrictModes=no \
        -o PasswordAuthentication=no -o KbdInteractiveAuthentication=no -o PermitUserRC=no -o PrintLastLog=no \
        -o "SetEnv=PATH=$PATH TMPDIR=$TMPDIR PYTHONDONTWRITEBYTECODE=1"
    sshd[$host]=${daemons[0]}
done
printf 'Host *\n User %s\n IdentityFile %s\n IdentitiesOnly yes\n UserKnownHostsFile %s\n BatchMode yes\n ControlPath %s\n' \
    "$(id -un)" "$lab/user" "$lab/known" "$lab/%n.socket" >> "$lab/config"
on() { ssh -n -F "$lab/config" "$@"; }
for host in $hosts; do until_true "on $host true"; done
row "3 hosts answer" ok "$(since "$began") s"
began=$(now); for n in {1..10}; do on one true; done; plain=$(since "$began" 10)
for host in $hosts; do on -M -o ControlPersist=600 "$host" true 2> /dev/null; done # a connection for all that follows
began=$(now); for n in {1..10}; do on one true; done
row "a command by ssh" ok "$plain s, $(since "$began" 10) s over a connection that is open"

cd "$lab/data" || exit
on_ssh() { # directory, pipeline: plan, a part by ssh on each host in turn, merge; what is not divided runs here
    local parts
    if parts=$(pelton plan --part-size 2M --work-dir "$1" "$2" 2> /dev/null | awk '/ parts$/ {print $1}') && [ -n "$parts" ]; then
        seq 0 $((parts - 1)) | awk -v hosts="$hosts" '{print $1, host[$1 % split(hosts, host) + 1]}' | xargs -P 3 -n 2 \
            sh -c 'ssh -n -F "$0/config" "$3" pelton worker --plan "$1/plan.json" --part "$2" || exit 1' "$lab" "$1" 2> "$1.said"
        ls "$1" | grep -c 'part-.*[0-9].json' > "$1.kept"
    fi
    pelton run --on local:1 --part-size 2M --work-dir "$1" "$2"
}
on_dask() { pelton run --on "$(cat cluster)" --part-size 2M --work-dir "$1" "$2"; }
cluster() { start python -c "
import signal
from distributed import SSHCluster
cluster = SSHCluster(['one', 'one', 'two', 'three'], connect_options={'config': ['$lab/config']}, # the first for the scheduler
    scheduler_options={'host': '127.0.0.1', 'port': 0, 'dashboard': False}, worker_options={'host': '127.0.0.1', 'nthreads': 1})
print(cluster.scheduler_address.replace('tcp:', 'dask:'), file=open('cluster', 'w'), flush=True)
signal.pause()"; until_true '[ -s cluster ]'; }

seq 200000 | awk '{printf "10.0.%d.%d - - [%02d/Nov] \"GET /page/%d?x=%d\" - %d %d\n", $1 % 7, $1 % 251, $1 % 30 + 1,
    $1 * 7919 % 1009, $1, $1 % 9 ? 200 : $1 % 2 ? 404 : 500, $1 * 31 % 65521}' > big.log
for way in ssh dask; do
    if [ $way = dask ]; then began=$(now); cluster; row "3 workers of Dask by SSHCluster" ok "$(since "$began") s"; fi
    number=0
    while IFS= read -r text; do
        bash -c "$text" > wanted 2> wanted.err; status=$?
        began=$(now); "on_$way" "$lab/data/$way-$((number += 1))" "$text" > got 2> got.err; got=$?
        grep -v '^pelton: ' got.err > said
        check "$way: $text" 'cmp -s wanted got && [ $status = $got ] && cmp -s wanted.err said' \
            "$(since "$began") s, $(ls "$way-$number" 2> /dev/null | grep -c 'part-.*[0-9].json') parts"
    done < <(sed -n '1p; 4,5p; 7p; 11p; 14p; 17,18p' "$here/../slurm/pipelines.txt")
done

# Hosts that go away. `slow` costs some seconds of all workers.
slow="awk '{for (i = 0; i < 2000; i++) x = i; print \$1}' big.log | sort | uniq -c"
bash -c "$slow" > wanted
lose() { sleep "$2"; kill -KILL $(tree "${sshd[$1]}") 2> /dev/null; }
lose three 1.5 & on_dask "$lab/data/three" "$slow" > got 2> said
check "dask: a host goes away in mid-run: its part is done elsewhere" 'cmp -s wanted got && grep -q "gone.*tried again\|tried again.*gone" said' \
    "$(grep tried said)"
hosts="one two"; lose two 1.5 & on_ssh "$lab/data/two" "$slow" > got 2> said
check "ssh: a host goes away in mid-run: the merge does its parts" 'cmp -s wanted got && [ "$(cat two.kept)" -lt 6 ]' \
    "$(cat two.kept) of 6 parts were there"
lose one 6 & on_dask "$lab/data/one" "$slow" > got 2> said; got=$?
check "dask: the host of the scheduler goes away: nothing printed" '[ ! -s got ] && [ $got = 2 ]' "status $got: $(grep finish said)"
kept=$(ls one | grep -c 'part-.*[0-9].json'); pelton run --on local:2 --part-size 2M --work-dir one "$slow" > got 2> said
check "the same command on this machine goes on" 'cmp -s wanted got && [ ! -s said ]' "$kept of 6 parts were kept"
row "the whole" "$SECONDS s"
[ $failures = 0 ] || echo "$failures FAILED"
exit $((failures > 0))
