# pelton in bash: completions when they are first wanted, and two keys. Everything asks first whether pelton is still there.
_pelton_completions() {
    complete -r pelton
    eval "$(command pelton completions bash 2>/dev/null)"
    return 124 # bash asks again, whoever answers now
}
# What a new shell would lack: functions, aliases, options.
_pelton_known() {
    local name
    for name in $(compgen -A function); do printf 'function %s\n' "$name"; done
    for name in "${!BASH_ALIASES[@]}"; do printf 'alias %s %s\n' "$name" "${BASH_ALIASES[$name]//$'\n'/;}"; done
    for name in ${SHELLOPTS//:/ } ${BASHOPTS//:/ }; do printf 'option %s\n' "$name"; done
}
# The first key of a macro changes the line, the second one is Enter, or nothing if the line stays.
_pelton_line() {
    local IFS=$' \t\n' line
    _pelton_then accept-line
    [[ $READLINE_LINE = *[![:space:]]* ]] && type -P pelton >/dev/null || return 0
    if line=$(_pelton_known | command pelton line bash "$1" -- "$READLINE_LINE"); then
        READLINE_LINE=$line READLINE_POINT=${#line}
    else
        _pelton_then redraw-current-line
    fi
}
_pelton_then() {
    bind -m emacs "\"\C-x\C-y~\": $1"
    bind -m vi-insert "\"\C-x\C-y~\": $1"
}
if [[ $- = *i* ]]; then
    complete -F _pelton_completions -o bashdefault -o default pelton
    for _pelton_map in emacs vi-insert; do
        bind -m "$_pelton_map" -x '"\C-x\C-y1": _pelton_line run'
        bind -m "$_pelton_map" -x '"\C-x\C-y2": _pelton_line time'
        bind -m "$_pelton_map" '"\C-x\C-p": "\C-x\C-y1\C-x\C-y~"'
        bind -m "$_pelton_map" '"\C-x\C-t": "\C-x\C-y2\C-x\C-y~"'
    done 2>/dev/null
    unset _pelton_map
fi
