# A parent that starts a talkative child. `wait`: waits for its end and does not read; `slow`: reads, but slowly.
how=$1
shift
coproc "$@"
process=$COPROC_PID
# The coprocess's own descriptor is closed when its end is noticed; this one stays.
exec 5<&"${COPROC[0]}"
if [ "$how" = slow ]; then
    while [ "$(head -c 4096 <&5 | wc -c)" -gt 0 ]; do sleep 0.2; done
fi
wait "$process"
status=$?
echo "$(wc -c <&5) bytes after the end, status $status"
