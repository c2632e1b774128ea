#!/bin/bash
# Clients that fail too often get a line for the firewall.
limit=50
allow="10.0.0.1 10.0.0.2"
out=out/deny.conf
: > "$out"
grep ' 40[13] ' access.log | awk '{print $1}' | sort | uniq -c | sort -rn |
while read -r count client; do
    [ "$count" -ge "$limit" ] || break
    case " $allow " in
        *" $client "*) continue ;;
    esac
    printf 'deny %s; # %d failures\n' "$client" "$count" >> "$out"
done
wc -l < "$out"
head -n 5 "$out"
exit 0
