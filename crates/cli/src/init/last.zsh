# `pelton last`: keeps figures of long lines, while it is on. Off at first, unless PELTON_LAST has a number of seconds.
# Two files of the sampler tell it when a line begins (it is opened) and ends (it is written to).
typeset -g _pelton_last='' _pelton_last_line='' _pelton_last_sampler='' _pelton_last_long=0
typeset -gi _pelton_last_begun=0
pelton_last() {
    case ${1-} in
        (on) [[ -n $_pelton_last ]] || _pelton_last_on || return ;;
        (off) _pelton_last_off ;;
        ('') if [[ -n $_pelton_last ]]; then _pelton_last_off; else _pelton_last_on || return; fi ;;
        (*) print -u2 'usage: pelton_last [on|off]'; return 2 ;;
    esac
    if [[ -n $_pelton_last ]]; then print 'pelton last: on'; else print 'pelton last: off'; fi
}
_pelton_last_on() {
    emulate -L zsh
    local started
    zmodload zsh/datetime || return
    started=$(PELTON_LAST=${PELTON_LAST-} command pelton last --sampler $$ --shell zsh) || return
    _pelton_last_long=${started%% *} started=${started#* }
    _pelton_last_sampler=${started%% *} _pelton_last=${started#* }
    _pelton_last_begun=0
    precmd_functions=(_pelton_last_precmd $precmd_functions)
    preexec_functions+=(_pelton_last_preexec)
}
_pelton_last_off() {
    emulate -L zsh
    [[ -n $_pelton_last ]] || return 0
    { printf off >|$_pelton_last.end } 2>/dev/null
    _pelton_last='' _pelton_last_line=''
    precmd_functions=(${precmd_functions:#_pelton_last_precmd})
    preexec_functions=(${preexec_functions:#_pelton_last_preexec})
}
_pelton_last_preexec() {
    local last=$_ # of the line before
    emulate -L zsh
    _pelton_last_line=$1 # as it was typed; empty without a history
    _pelton_last_begun=$(( EPOCHREALTIME * 1000000 ))
    { : <$_pelton_last.begin } 2>/dev/null
    : "$last"
}
_pelton_last_precmd() {
    local last=$_ statuses="$pipestatus" now=$EPOCHREALTIME
    emulate -L zsh
    if (( _pelton_last_begun )); then
        local -i took=$(( now * 1000000 - _pelton_last_begun ))
        if ! { [[ -O $_pelton_last.end ]] && kill -0 $_pelton_last_sampler } 2>/dev/null; then
            _pelton_last_off # the sampler has been ended, or its files
        elif (( took >= _pelton_last_long )) && [[ $_pelton_last_line = [^[:space:]]* ]]; then
            printf '%s\0' $took "$statuses" "$_pelton_last_line" 2>/dev/null >|$_pelton_last.end
        else
            : >>$_pelton_last.end
        fi
        _pelton_last_begun=0 _pelton_last_line=''
    fi
    : "$last"
}
if [[ -o interactive ]]; then
    pelton-last() { zle -I; pelton_last }
    zle -N pelton-last
    bindkey '^X^L' pelton-last
    [[ ${PELTON_LAST:-0} = 0 ]] || _pelton_last_on
fi
