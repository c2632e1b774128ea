# pelton in fish: two keys, and completions. The keys ask first whether pelton is still there.
# What bash would lack: functions, unless they are fish's own wrappers around commands.
function _pelton_known
    for name in (string split -n ' ' -- $argv[1])
        functions -q -- $name; or continue
        string match -q -- "$__fish_data_dir/*" (functions --details -- $name); or echo function $name
    end
end
function _pelton_line
    set -l line (commandline | string collect)
    if not command -q pelton; or test -z (string trim -- $line | string collect -a)
        commandline -f execute
        return
    end
    if set -l now (_pelton_known $line | command pelton line fish $argv[1] -- $line 2>&1)
        commandline -r -- (string join \n -- $now | string collect)
        commandline -f execute
    else
        printf '\n%s\n' $now
        commandline -f repaint
    end
end
function _pelton_run
    _pelton_line run
end
function _pelton_time
    _pelton_line time
end
if status is-interactive
    for mode in default insert
        bind -M $mode \eP _pelton_run
        bind -M $mode \eT _pelton_time
    end
end
