# pelton in zsh: completions when they are first wanted, and two keys. Everything asks first whether pelton is still there.
_pelton_completions() {
    local text
    text=$(command pelton completions zsh 2>/dev/null) || return 1
    eval "$text" # defines _pelton, and makes it the one that completes
    _pelton "$@"
}
# What bash would lack or read in another way: functions, aliases, options.
_pelton_known() {
    emulate -L zsh
    local name
    for name in ${(k)functions}; do print -r -- "function $name"; done
    for name in ${(k)galiases} ${(k)saliases}; do print -r -- "global $name"; done
    for name in ${(k)aliases}; do print -r -- "alias $name ${aliases[$name]//$'\n'/;}"; done
}
_pelton_line() {
    local line option
    rehash
    if [[ $BUFFER != *[![:space:]]* ]] || (( ! $+commands[pelton] )); then
        zle accept-line
    elif line=$({ _pelton_known
                  for option in noclobber pipefail nounset noglob globdots nullglob cshnullglob rcquotes ignorebraces; do
                      [[ -o $option ]] && print -r -- "option ${option/(globdots|cshnullglob|rcquotes)/nullglob}"
                  done } | command pelton line zsh $1 "$BUFFER" 2>&1); then
        BUFFER=$line
        zle accept-line
    else
        zle -M -- "$line"
    fi
}
pelton-run() { _pelton_line run }
pelton-time() { _pelton_line time }
if [[ -o interactive ]]; then
    (( $+functions[compdef] )) && compdef _pelton_completions pelton
    zle -N pelton-run
    zle -N pelton-time
    bindkey '^X^P' pelton-run
    bindkey '^X^T' pelton-time
fi
