# `pelton last`: keeps figures of long lines, while it is on. Off at first, unless PELTON_LAST has a number of seconds.
# Two files of the sampler tell it when a line begins (PS0 opens one) and ends (PROMPT_COMMAND writes to the other).
_pelton_last='' _pelton_last_none='' _pelton_last_begun=0 _pelton_last_entry=0 _pelton_last_all=''
_pelton_last_ps0='${_pelton_last_none:$((_pelton_last_begun=${EPOCHREALTIME/[.,]/},0))}$(<"$_pelton_last.begin")'
_pelton_last_bang='\!'
pelton_last() {
    case ${1-} in
        on) [[ $_pelton_last ]] || _pelton_last_on || return ;;
        off) _pelton_last_off; _pelton_last_mark; _pelton_last_unhook ;;
        '') if [[ $_pelton_last ]]; then pelton_last off; else pelton_last on; fi; return ;;
        *) echo 'usage: pelton_last [on|off]' >&2; return 2 ;;
    esac
    if [[ $_pelton_last ]]; then echo 'pelton last: on'; else echo 'pelton last: off'; fi
}
_pelton_last_on() {
    local started
    if ((BASH_VERSINFO[0] < 5)) || ! shopt -q promptvars; then
        echo 'pelton: last: cannot time lines: bash 5 with the option promptvars is needed' >&2
        return 1
    fi
    started=$(PELTON_LAST=${PELTON_LAST-} command pelton last --sampler "$$" --shell bash) || return
    _pelton_last_long=${started%% *} started=${started#* }
    _pelton_last_sampler=${started%% *} _pelton_last=${started#* }
    _pelton_last_begun=0
    _pelton_last_unhook
    if ((BASH_VERSINFO[0] > 5 || BASH_VERSINFO[1] > 0)); then
        PROMPT_COMMAND=(_pelton_last_prompt "${PROMPT_COMMAND[@]}")
    else
        PROMPT_COMMAND="_pelton_last_prompt${PROMPT_COMMAND:+;$PROMPT_COMMAND}"
    fi
}
_pelton_last_off() {
    [[ ! $_pelton_last ]] || printf off >|"$_pelton_last.end"
    _pelton_last='' _pelton_last_begun=0
} 2>/dev/null
# Makes PS0 that of the state. Not from a key: bash 5.2 has read PS0 before the line, and would use freed memory.
_pelton_last_mark() {
    if [[ $_pelton_last && ${PS0-} != *"$_pelton_last_ps0"* ]]; then
        PS0=$_pelton_last_ps0${PS0-}
    elif [[ ! $_pelton_last && ${PS0-} = *"$_pelton_last_ps0"* ]]; then
        PS0=${PS0/"$_pelton_last_ps0"/}
    fi
}
# Not from PROMPT_COMMAND, which bash walks through meanwhile.
_pelton_last_unhook() {
    local at
    for at in "${!PROMPT_COMMAND[@]}"; do
        [[ ${PROMPT_COMMAND[at]} = _pelton_last_prompt* ]] || continue
        PROMPT_COMMAND[at]=${PROMPT_COMMAND[at]#_pelton_last_prompt}
        PROMPT_COMMAND[at]=${PROMPT_COMMAND[at]#;}
        [[ ${PROMPT_COMMAND[at]} ]] || unset "PROMPT_COMMAND[at]"
        PROMPT_COMMAND=("${PROMPT_COMMAND[@]}")
        break
    done
}
# The history gives the line as it was typed. It lacks lines that HISTCONTROL or HISTIGNORE leave out: then its number does
# not change, and nothing is kept. Only if neither can leave out a line with a space, the same number means the same line.
_pelton_last_remember() {
    _pelton_last_entry=${_pelton_last_bang@P} _pelton_last_all=''
    [[ -o history && ${HISTCONTROL-} != *ignore@(space|both)* && -z ${HISTIGNORE-} ]] && _pelton_last_all=1
    return 0
}
_pelton_last_prompt() {
    local status=$? statuses=("${PIPESTATUS[@]}") now=${EPOCHREALTIME/[.,]/} entry=${_pelton_last_bang@P}
    if ((_pelton_last_begun)) && [[ $_pelton_last ]]; then
        if ! { [[ -O $_pelton_last.end ]] && kill -0 "$_pelton_last_sampler"; } 2>/dev/null; then
            _pelton_last_off # the sampler has been ended, or its files
        elif ((now - _pelton_last_begun >= _pelton_last_long)) && [[ $entry != "$_pelton_last_entry" || $_pelton_last_all ]]; then
            local IFS=" "
            {
                printf '%s\0' "$((now - _pelton_last_begun))" "${statuses[*]}"
                HISTTIMEFORMAT='' history 1
            } 2>/dev/null >|"$_pelton_last.end"
        else
            : >>"$_pelton_last.end"
        fi
        _pelton_last_begun=0
    fi
    if [[ $_pelton_last ]] && ! shopt -q promptvars; then
        _pelton_last_off
        echo 'pelton: last: off: it needs the option promptvars' >&2
    fi
    _pelton_last_remember
    _pelton_last_mark
    # From bash 5.1 on, the next of PROMPT_COMMAND finds the line's status by itself.
    ((BASH_VERSINFO[0] > 5 || BASH_VERSINFO[1] > 0)) || return "$status"
}
# The key: puts the line away, so that Enter gives a new prompt, with which PS0 changes; then brings it back.
_pelton_last_key() {
    _pelton_last_line=$READLINE_LINE _pelton_last_point=$READLINE_POINT READLINE_LINE=''
    _pelton_then accept-line
    if [[ $_pelton_last ]]; then _pelton_last_off; else _pelton_last_on; fi
    if [[ $_pelton_last ]]; then echo 'pelton last: on'; else echo 'pelton last: off'; fi
}
_pelton_last_key_up() {
    READLINE_LINE=$_pelton_last_line READLINE_POINT=$_pelton_last_point
    [[ $_pelton_last ]] || _pelton_last_unhook
}
if [[ $- = *i* ]]; then
    for _pelton_map in emacs vi-insert; do
        bind -m "$_pelton_map" -x '"\C-x\C-y3": _pelton_last_key'
        bind -m "$_pelton_map" -x '"\C-x\C-y4": _pelton_last_key_up'
        bind -m "$_pelton_map" '"\C-x\C-l": "\C-x\C-y3\C-x\C-y~\C-x\C-y4"'
    done 2>/dev/null
    unset _pelton_map
    [[ ${PELTON_LAST:-0} = 0 ]] || _pelton_last_on
fi
