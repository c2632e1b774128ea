# `pelton last`: keeps figures of long lines, while it is on. Off at first, unless PELTON_LAST has a number of seconds.
# Two files of the sampler tell it when a line begins (it is opened) and ends (it is written to).
set -g _pelton_last ''
function pelton_last
    switch "$argv"
        case on
            test -n "$_pelton_last"; or _pelton_last_on; or return
        case off
            _pelton_last_off
        case ''
            if test -n "$_pelton_last"
                _pelton_last_off
            else
                _pelton_last_on; or return
            end
        case '*'
            echo 'usage: pelton_last [on|off]' >&2
            return 2
    end
    test -n "$_pelton_last"; and echo 'pelton last: on'; or echo 'pelton last: off'
end
function _pelton_last_on
    set -l started (PELTON_LAST="$PELTON_LAST" command pelton last --sampler $fish_pid --shell fish | string split -m 2 ' ')
    test (count $started) = 3; or return 1
    set -g _pelton_last_long (math -s 0 $started[1] / 1000)
    set -g _pelton_last $started[3]
    set -g _pelton_last_runs ''
    function _pelton_last_preexec --on-event fish_preexec
        set -g _pelton_last_runs 1
        begin; true <$_pelton_last.begin; end 2>/dev/null
    end
    function _pelton_last_postexec --on-event fish_postexec
        set -l statuses $pipestatus
        set -l took $CMD_DURATION
        test -n "$_pelton_last_runs"; or return 0
        set -g _pelton_last_runs ''
        if not test -O $_pelton_last.end
            _pelton_last_off # its files have been removed
        else if test $took -ge $_pelton_last_long; and not string match -qr '^\s' -- $argv[1]
            begin; printf '%s\0' "$took"000 "$statuses" "$argv[1]" >$_pelton_last.end; end 2>/dev/null
        else
            begin; true >>$_pelton_last.end; end 2>/dev/null
        end
    end
end
function _pelton_last_off
    test -n "$_pelton_last"; or return 0
    begin; printf off >$_pelton_last.end; end 2>/dev/null
    set -g _pelton_last ''
    functions -e _pelton_last_preexec _pelton_last_postexec
end
function _pelton_last_key
    echo
    pelton_last
    commandline -f repaint
end
if status is-interactive
    for mode in default insert
        bind -M $mode \eL _pelton_last_key
    end
    test "$PELTON_LAST" = ''; or test "$PELTON_LAST" = 0; or _pelton_last_on
end
