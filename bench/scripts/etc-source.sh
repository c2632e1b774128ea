#!/bin/sh
# Reads its defaults from a file and its functions from a library.
set -e
. ./etc/default
. ./etc/functions
log_begin "report of $NAME"
if [ "$ENABLED" != yes ]; then
    exit 0
fi
cut -d' ' -f3 "$LOG" | sed 's/\[.*//' | sort | uniq -c | sort -rn > out/services
log_line "services: $(wc -l < out/services)"
grep "$LEVEL" "$LOG" | cut -d' ' -f3 | sed 's/\[.*//' | sort | uniq -c | sort -rn > out/services.bad
log_line "with $LEVEL: $(wc -l < out/services.bad)"
first_of out/services
first_of out/services.bad
log_end
