# Two sides of a pipe: `talk BYTES LINES GAP` prints lines of so many bytes, GAP seconds apart; `listen GAP` takes one
# every GAP seconds.
if [ "$1" = talk ]; then
    printf -v line '%*s' $(($2 - 1)) ''
    for ((i = 0; i < $3; i++)); do
        printf '%s\n' "$line"
        sleep "$4"
    done
else
    while read -r line; do sleep "$2"; done
fi
