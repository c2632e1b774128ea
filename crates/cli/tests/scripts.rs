//! Scripts with calls of pelton in place of pipelines, against the shell alone: output, messages, status,
//! files. Each case states how many of its pipelines call pelton, so that none passes because nothing was
//! rewritten.

use std::path::Path;
use std::process::{Command, Output, Stdio};

/// The text, how many of its pipelines call pelton, and the shells it is for.
struct Case {
    calls: usize,
    text: &'static str,
}

const fn case(calls: usize, text: &'static str) -> Case {
    Case { calls, text }
}

/// Files to source.
const LIBRARIES: [(&str, &str); 14] = [
    ("fn", "top() { sort \"$1\" | uniq -c | head -n 2; }\n\nsay() { echo \"$LINENO: $*\"; }\n"),
    ("conf", "# comment\nLOG=a\nMODE='m n'\n"),
    ("shadow", "sort() { echo mine; }\n"),
    ("shadows", "dirname() { LOG=b; }\nLOG=a\n"),
    ("outer", "D=./lib\n. \"$D/conf\"\n[ -n \"$D\" ] && . ./lib/fn\n"),
    ("returns", "echo \"got $?\"\nif [ -n \"$1\" ]; then return 3; fi\nLOG=a\nreturn 5\necho no\n"),
    ("args", "echo \"$#\" \"$1\" \"$0\"\n"),
    ("bad", "echo before\nif true; then\n"),
    ("strict", "set -u\n"),
    ("computes", "run() { \"$@\"; }\n"),
    ("status", "status() { echo \"${PIPESTATUS[@]}\"; }\n"),
    ("fails", "echo in\nfalse || true\n\ncat nosuch | wc -l\n"),
    ("lines", "say() { echo \"$0 $*\"; nocmd; }\nnocmd\n\nsay $LINENO\ncat nosuch\n"),
    ("exits", "leave() { exit \"$1\"; }\ntrap 'echo bye' EXIT\n"),
];

/// For bash and dash.
const BOTH: &[Case] = &[
    // Loops, and what they expand.
    case(1, "for f in a b; do sort \"$f\" | uniq -c; done"),
    case(1, "for f in a b 'c d'; do cut -c1-3 \"$f\" | sort | uniq >\"$f.out\"; done; cat *.out"),
    case(1, "for f in *; do sort $f | head -n 1; done"),
    case(1, "i=0; while [ $i -lt 5 ]; do i=$((i+1)); head -n $i a | tail -n 1; done"),
    case(1, "until grep -q x a | wc -l; do :; done"),
    case(1, "while read -r x y; do cut -f1 a | grep -c \"$x\"; done <b"),
    case(1, "for n in 1 2 3; do sort -n a | sed \"${n}q\"; done"),
    case(1, "for n in 3 2 1; do sort a | head -n $n | tail -n1; done | sort"),
    // Word lists, patterns, IFS.
    case(1, "set -- a b; for f; do sort \"$@\" | uniq | wc -l; done"),
    case(1, "set -- a; if true; then sort $1 | uniq -d; fi"),
    case(1, "IFS=,; x=a,b; for i in 1; do cat $x | sort; done"),
    case(1, "IFS=; x='c d'; for i in 1; do cat $x | sort; done"),
    case(1, "x='c d'; for i in 1; do cat $x | sort; done"),
    case(1, "x=; for i in 1; do cat $x a | sort; done"),
    case(1, "for i in 1; do cat [ab] | sort; done"),
    case(1, "for i in 1; do cat ?' d' | sort; done"),
    case(1, "for i in 1; do cat nosuch* | sort; done"),
    case(1, "x='*'; for i in 1; do grep -c \"$x\" a b | sort; done"),
    case(1, "x='a  b'; for i in 1; do grep -e \"$x\" -e '' a | sort; done"),
    case(1, "x=\"it's\"; for i in 1; do grep -e \"$x\" -e \"a'b\" -e '\"' a b | sort; done"),
    case(1, "x='$(echo no)'; for i in 1; do grep -F -e \"$x\" -e 1 a | sort; done"),
    case(1, "x='-n'; for i in 1; do sort $x a | head -n 2; done"),
    case(1, "for i in 1; do sort ${x:-a} | head -n 2; done"),
    case(1, "x=a.txt; for i in 1; do sort ${x%.txt} | head -n 2; done"),
    case(1, "for i in 1; do sort \"$nosuch\" | head -n 2; done"),
    case(1, "for i in 1; do sort $nosuch a | head -n ${nosuch:-3}; done"),
    case(1, "for i in 1; do sort ~/a | head -n 2; done"),
    // Statuses.
    case(1, "if grep x a | sort; then echo yes; else echo no; fi"),
    case(1, "if sort a | grep nosuch; then echo yes; else echo no; fi"),
    case(1, "for i in 1; do sort a | grep -q nosuch && echo yes || echo \"no $?\"; done"),
    case(1, "for i in 1; do ! sort a | grep -q nosuch; echo $?; done"),
    case(1, "set -e; for i in 1; do sort a | grep nosuch; echo not here; done; echo nor here"),
    case(1, "set -e; for i in 1; do sort a | grep nosuch || true; echo here; done; echo and here"),
    case(1, "set -e; f() { sort a | grep nosuch; echo in f; }; if f; then echo then; fi; f; echo end"),
    case(1, "for i in 1; do sort nosuch | wc -l; echo $?; done"),
    case(1, "for i in 1; do sort a | sort -k; echo $?; done"),
    case(1, "for i in 1; do sort a | head -n 1 | grep -c '^'; done; exit 7"),
    case(1, "f() { sort a | grep nosuch; return; }; f; echo $?"),
    // Functions, groups, subshells, cases.
    case(1, "f() { sort \"$1\" | uniq -c | sort -rn; }; f a; f b"),
    case(1, "(cd sub && sort e | uniq)"),
    case(1, "{ sort a | uniq; } >out; cat out"),
    case(1, "case a in a) sort a | uniq;; *) echo no;; esac"),
    case(0, "sort() { echo mine; }; for i in 1; do sort a | uniq; done"),
    case(0, "uniq() { cat; }; f() { sort a | uniq -c; }; f"),
    // Part of a pipeline.
    case(1, "while read -r x; do echo \"[$x]\"; done <a | sort | uniq -c"),
    case(1, "sort a | uniq -c | while read -r n x; do echo \"$x=$n\"; done"),
    case(1, "f() { tr a-z A-Z; }; f <a | sort | uniq | f"),
    case(1, "for i in 1 2; do echo $i; done | sort -r | head -n 1"),
    // Redirections.
    case(1, "for f in a b; do sort <\"$f\" | uniq >>all; done; cat all"),
    case(1, "for f in a nosuch b; do sort <\"$f\" | uniq -c; echo $?; done"),
    case(1, "for i in 1; do sort a | uniq >nosuch/out; echo $?; done; echo on"),
    case(1, "set -C; for i in 1; do sort a | uniq >b; echo $?; sort a | uniq >|b; done; cat b"),
    case(1, "for i in 1; do sort a 2>/dev/null | uniq | head -n 2; done"),
    case(
        1,
        "for i in 1; do grep -h x a nosuch 2>/dev/null | sort | uniq -c 2>/dev/null >out; echo $?; cat out; done",
    ),
    case(2, "for i in 1; do sort nosuch | uniq 2>/dev/null; sort nosuch 2> /dev/null | uniq -x; done"),
    case(1, "for i in 1; do sort 2>>/dev/null <nosuch | uniq; echo $?; done"),
    case(0, "for i in 1; do sort <nosuch 2>/dev/null | uniq; done"),
    case(1, "set -eC; for i in 1; do cat nosuch a 2>/dev/null | sort 2>/dev/null | head -n 2; done"),
    case(0, "for i in 1; do sort a | uniq 2>&1; done"),
    case(1, "exec 3>&1; for i in 1; do sort a | uniq >&2; cut -c1 a | uniq; done"),
    case(1, "for i in 1; do sort | uniq -c; done <a"),
    case(2, "{ head -n 1 | cat; sort | uniq; } <a"),
    // Substitutions.
    case(1, "x=$(sort a | uniq -c); echo \"$x\""),
    case(1, "for i in $(sort a | head -n 3); do echo \"<$i>\"; done"),
    case(1, "echo \"$(for f in a b; do sort $f | head -n 1; done)\""),
    case(1, "x=$(sort a | grep nosuch) || echo \"failed $?\""),
    case(1, "for i in 1; do sort -t\"$(printf '\\t')\" -k1,1 a | uniq -c; done"),
    case(1, "set -eu; for i in 1 2; do cut -c1-$(echo $i) a | sort \"$(pwd)\"/b -; done"),
    case(1, "for i in 1; do sort \"$(printf %d x)\" a | uniq; echo $?; done"),
    case(1, "set -u; for i in 1; do sort a \"$(basename \"$nosuch\")\" | uniq; echo $?; done"),
    case(1, "for i in 1; do sort -k $(getconf NOSUCH) a | uniq; echo $?; done"),
    case(0, "for i in 1; do sort a $(cat) | uniq; done </dev/null"),
    // Environment of a stage.
    case(1, "for i in 1; do LC_ALL=C sort a | uniq; done"),
    case(1, "for i in 1; do LC_ALL=C.UTF-8 tr a-z A-Z <a | LC_ALL=C sort; done"),
    case(1, "LC_ALL=C.UTF-8; export LC_ALL; for i in 1; do cut -c1-2 a | sort; done"),
    // The state of the shell itself.
    case(0, "for i in 1; do grep -c \"$$\" a | sort >out$$; test -e out$$ && echo same; rm out$$; done"),
    case(1, "echo \"$0\"\nfor i in 1; do sort a | uniq -c; done"),
    case(1, "for i in 1; do\n  sort a |\n    uniq -c |\n    head -n 1\ndone\nnosuch_command"),
    case(1, "for i in 1; do\n  sort a | # first\n    uniq # second\ndone\necho done"),
    case(1, "trap 'echo bye' EXIT; for i in 1; do sort a | uniq | head -n 1; done"),
    case(1, "for i in 1; do sort a | uniq & wait; done"),
    case(0, "for i in 1; do sort a | uniq & wait; done; : jobs"),
    case(0, "eval 'x=1'; for i in 1; do sort a | uniq; done"),
    case(0, "for i in 1; do sort <<E | uniq\nb\na\nE\ndone"),
    // Early exit.
    case(1, "for i in 1 2; do seq 100000 | head -n 2; done"),
    case(1, "for i in 1; do seq 100000 | sed 3q | tail -n 1; done"),
    // Single commands over large files.
    case(1, "if true; then sort -u sub/large; fi"),
    case(
        2,
        "f=sub/large; n=$(sort \"$f\"); for i in 1; do sort -r <$f >out 2>&1; done; echo \"$n\" x | wc -l",
    ),
    case(
        1,
        "f() { sort $x $1; }; x=sub/large; f -r >out; f nosuch; echo $?; if sort $x -k; then echo no; fi",
    ),
    case(3, "for i in 1; do sed 's/1/one/' sub/large >$1.out; sed -n '/one/p' $1.out; sort $1.out; done"),
    case(2, "set -e; { sort sub/large; } >out; f=out; x=`sort -r $f`; sort nosuch; echo never"),
    case(1, "{ sort - sub/large; cat; } | head -n 3"),
    case(
        2,
        "while read -r x; do sort sub/large - >out; done; : ${y:=sub/large}; for i in 1; do sort sub/large \"$nosuch\" $y; done",
    ),
    case(1, "for i in 1; do sort sub/large >nosuch/out; echo $?; done"),
    case(0, "for i in 1; do sort a >out; time=1; wc -l out; done"),
    case(
        1,
        "trap 'echo bye' EXIT; f() { LC_ALL=C sort sub/large | head -n 1 & wait; }; f; sort sub/large >&- 2>/dev/null & wait $!",
    ),
    // Variables under `set -u` that are certainly set, and others, for which the shell tests whether they are.
    case(1, "set -u; x=a; for i in 1; do sort $x | uniq; done"),
    case(1, "set -eu; f() { local x=$1; sort \"$x\" | uniq -c; }; f a; f nosuch; f b"),
    case(
        2,
        "set -u; if true; then x=a; sort $x | uniq; fi; (y=b; z=$(sort $y | uniq; echo $w); echo no); echo $?",
    ),
    case(1, "set -u; f() { local x; sort $x | uniq; }; x=a; f; echo $?"),
    case(1, "set -u; x=a; if true; then unset x; fi; sort $x | uniq; echo $?"),
    // The script's standard input is left to its reader.
    case(1, "for i in 1; do cut -c1 | head -n 1; done; echo rest"),
    case(1, "for i in 1 2; do read -r x; echo \"$x\"; sort a | head -n 1; done"),
    // Sourced files, whose text is known.
    case(1, ". ./lib/fn; for i in 1; do sort a | uniq -c; done; top b; say hi"),
    case(2, ". ./lib/shadow; sort a | uniq; cut -c1 a | uniq -c; uniq a | wc -l"),
    case(1, "set -u; . ./lib/conf; sort \"$LOG\" | uniq -c; echo $MODE"),
    case(1, "set -u; if [ -f lib/conf ]; then . ./lib/conf; fi; sort $LOG | uniq"),
    case(1, "set -u; . ./lib/returns; sort $LOG | uniq; echo $?"),
    case(1, "[ -r nosuch ] && . ./nosuch; sort a | uniq -c"),
    case(1, ". ./nosuch; echo $?; sort a | uniq -c"),
    case(1, "false; . ./lib/returns; echo $?; sort a | uniq -c"),
    case(1, "set -- 1; . ./lib/args x y; echo $# $1; sort a | uniq -c"),
    case(1, "D=./lib; . \"$D/conf\"; . \"${D}/fn\"; say \"$MODE\"; sort $LOG | uniq -c"),
    case(1, "D=$(dirname \"./lib/x\"); . \"$D/conf\"; sort $LOG | uniq -c"),
    case(1, "D=\"$(cd ./lib >/dev/null 2>&1 && pwd)\"; . $D/conf; sort $LOG | uniq -c"),
    case(1, ". ./lib/outer; say \"$MODE\"; sort $LOG | uniq -c"),
    case(1, "cd sub; . ../lib/fn; sort e | uniq -c; top ../b"),
    case(1, "say() { echo mine; }; say; . ./lib/fn; say; sort a | uniq -c"),
    case(1, "set -e; . ./lib/fails; sort a | uniq -c; echo on"),
    case(1, "x=$(. ./lib/conf; echo $LOG); sort $x | uniq -c"),
    case(1, ". ./lib/lines; sort nosuch | uniq; nocmd; say $LINENO"),
    case(1, "x=a; [ $x = a ] || . ./nosuch; (. ./lib/shadow); cut -c1 a | uniq -c"),
    case(1, ". ./lib/exits; . ./lib/fn || exit 4; sort a | uniq -c; leave 3; echo no"),
    case(1, "while getopts ab o -a; do case $o in a) x=1;; esac; done; . ./lib/fn; sort a | uniq -c"),
    // Sourced files that may be others by then, or have effects on calls.
    case(0, "echo 'sort() { echo mine; }' >l; . ./l; sort a | uniq"),
    case(0, "sort a >out; . ./lib/fn; sort a | uniq -c"),
    case(0, "make() { cp lib/shadow l; }; cp lib/conf l; make; . ./l; sort a | uniq -c"),
    case(0, "for f in conf shadow; do . ./lib/$f; done; sort a | uniq -c"),
    case(0, "cp lib/conf l; for f in 1 2; do . ./l; cp lib/shadow l; done; sort a | uniq -c"),
    case(0, "load() { . ./l; }; cp lib/shadow l; load; sort a | uniq -c"),
    case(0, "x=lib/conf; read -r x <<E\n./lib/shadow\nE\n. $x; sort a | uniq -c"),
    case(0, "x=./lib/conf; : $((y = 1)) ${x:=b}; for x in ./lib/shadow; do :; done; . $x; sort a | uniq -c"),
    case(0, "x=./lib/conf; f() { x=./lib/shadow; }; f; . $x; sort a | uniq -c"),
    case(0, "x=./lib/conf; if true; then x=./lib/shadow; fi; . $x; sort a | uniq -c"),
    case(0, "cd sub || exit; cd \"$OLDPWD\"; . ./lib/fn; sort a | uniq -c"),
    case(0, ". ./lib/bad; echo $?; sort a | uniq -c"),
    case(1, "if true; then . ./lib/strict; fi; for i in 1; do sort a $nosuch | uniq -c; done; echo no"),
    case(0, ". ./lib/fn >out; sort a | uniq -c; cat out"),
    case(0, ". \"./$nosuch/lib\"; sort a | uniq -c"),
    case(0, ". ./lib/computes; run . ./lib/shadow; sort a | uniq -c"),
    case(0, ". ./lib; echo $?; sort a | uniq -c"),
    case(0, "mkdir d; ln -s ../lib/shadow d/l; D=$(cd d && pwd); . $D/l; sort a | uniq -c"),
    case(0, "trap 'cp lib/shadow l' EXIT; cp lib/conf l; trap - EXIT; . ./l; sort a | uniq -c"),
    case(0, "cp lib/conf l; { . ./l; } >l; sort a | uniq -c"),
    case(0, "x=$(cd sub; . ./lib/conf; echo $LOG); sort a | uniq -c; echo $x"),
    case(0, "x=./lib/conf; y=$(unset x; x=./lib/shadow; . $x; sort a | uniq); echo $y; . $x; sort a | uniq"),
    case(
        0,
        "x=./lib/conf; for i in 1 2; do date >/dev/null; date() { x=./lib/shadow; }; done; . $x; sort a | uniq",
    ),
    case(0, "x=./lib/conf; f() { :; }; unset -f f; f; . $x; sort a | uniq -c"),
    case(0, "mkdir d; . d/../lib/shadow; sort a | uniq -c"),
    case(0, "x=./lib/conf; IFS=o; . $x; sort a | uniq -c"),
    case(1, "x=./lib/conf; IFS=o; . \"$x\"; . \"$(dirname \"$x\")/fn\"; sort a | uniq -c"),
    case(0, "x=./lib/shadow; readonly x; x=./lib/conf; . $x; sort a | uniq -c"),
    case(0, "x=./lib/shadow; local x=./lib/conf; . $x; sort a | uniq -c"),
    case(0, "exec 3<lib/conf; . ./lib/fn; sort a | uniq -c"),
    case(1, "exec 3>&1 2>/dev/null; . ./lib/fn; sort a nosuch | uniq -c"),
    case(1, "PATH=$(cd ./lib && pwd):/usr/bin:/bin; . fn; say 1; sort a | uniq -c"),
    case(1, "PATH=/usr/bin:/bin; . nosuch; echo $?; sort b | uniq"),
    case(0, "rm -f a; PATH=$(cd ./lib && pwd):/usr/bin:/bin; . fn; say 1; sort b | uniq -c"),
    case(0, "set -u; cp lib/conf l; : >/dev/null; rm -f l; x=$(ls -d lib); echo $x; . ./l; sort a | uniq"),
    case(1, "rm -f lib/conf; . ./lib/conf || echo none; sort a | uniq -c"),
    case(1, "set -u; rm -f b; . ./lib/conf; sort $LOG | uniq -c"),
    case(2, "x=$(echo ./lib_conf | sed s/_/./g | sort -u); echo $x; . ./lib/conf; cut -c1 $LOG | uniq"),
    case(0, "x=$(echo sort | sed 's/x/y/w l'); . ./lib/conf; cut -c1 $LOG | uniq -c"),
    case(0, "x=$(echo sort | sort -o l); . ./lib/conf; cut -c1 $LOG | uniq -c"),
    case(0, ". ./lib/shadows; dirname x; . ./$LOG; sort $LOG | uniq -c"),
];

/// For bash alone.
const BASH: &[Case] = &[
    // File names that expand without quotes: plain ones, and ones that make only the stage fail.
    case(1, "o=out; sort a | uniq > $o; echo $?; cat out"),
    case(1, "for o in out c\\ d 'o*' '' nosuch/x \"it's\"; do sort a | uniq > $o; echo $?; done; ls"),
    case(1, "for f in a b 'c d' nosuch; do sort < $f | uniq -c >> ${f}.n; echo $?; done; ls; cat *.n"),
    case(1, "f() { local o=$1\nsort a |\n uniq > $o; }\nf out; f nosuch/out; f 'x y'; f 'o[u]t'; cat out"),
    case(
        2,
        "set -e; o=nosuch/x; for i in 1; do sort a | uniq > $o || echo failed; done; sort a | uniq > $o; echo not",
    ),
    case(1, "o=out; f=a; if sort < $f | grep 1 > $o; then cat $o; fi"),
    // A stage that expands the status gets that of the command before, not that of a test.
    case(
        2,
        "x=1; false; y=$(echo \"$x\" | sed \"s/1/$?/\" | cat); echo $y; false; y=$(echo \"$x\" | cat -n); echo $? $y",
    ),
    // Sourced files.
    case(1, "source ./lib/fn; source lib/conf; sort $LOG | uniq -c; say \"$MODE\" | wc -l"),
    case(0, ". <(echo 'sort() { echo mine; }'); sort a | uniq -c"),
    case(0, ". /dev/stdin <<< 'sort() { echo mine; }'; sort a | uniq -c"),
    case(0, "source ./lib/status; sort a | grep nosuch | uniq; status"),
    case(1, "source ./lib/fn; source fn; echo $?; sort a | uniq -c"),
    case(1, "set -uo pipefail; shopt -s nullglob; source ./lib/conf; sort $LOG nosuch | uniq -c; echo $?"),
    case(0, "x=./lib/conf; printf -v x %s ./lib/shadow; . $x; sort a | uniq -c"),
    case(0, "source() { builtin source ./lib/shadow; }; source ./lib/conf; sort a | uniq -c"),
    case(0, "x=./lib/conf; declare -u y; declare -n z=x; z=./lib/shadow; . $x; sort a | uniq -c"),
    case(1, "IFS=$'\\n\\t'; x=$(dirname \"./lib/x\"); . \"$x/conf\"; sort $LOG | uniq -c"),
    case(1, "set -euo pipefail; declare -r x=./lib; . \"$x/conf\"; sort $LOG | uniq -c"),
    case(0, "x=./lib/conf; (( y = 1, x = 2 )); . $x; sort a | uniq -c"),
    case(0, "x=./lib/conf; declare x=./lib/shadow; y=x; declare \"$y=./lib/shadow\"; . $x; sort a | uniq -c"),
    // What `echo` prints, given to the call.
    case(
        1,
        "for x in a -n -e '-n x' 'a\\nb' 'ä-b' ''; do y=$(echo \"$x\" | sed s/a/b/ | tr b c); echo \"[$y]\"; done",
    ),
    case(0, "f() { echo \"$1\" | grep -q b && echo yes; }; f ab; f; f -n; ! f c; echo $?"),
    case(1, "set -eu; x=q; for i in 1; do y=$(printf '%s\\n' \"$x-$i\" | cut -c1); echo $y; done"),
    case(1, "x=$(seq 2000); for i in 1; do echo \"$x\" | tail -n 2 | sort; echo ${#x}; done"),
    case(1, "set -o pipefail; x=b; if echo \"a $x\" | grep c | cat; then echo no; else echo $?; fi"),
    case(1, "x=b; x=$(echo \"$x\" | head -n 1 | sed p >out; echo $?); echo \"$x\"; cat out"),
    case(1, "for x in a; do echo \"$x\" | sort nosuch - | uniq; echo $?; done"),
    case(1, "x=(a b); for i in 1; do y=$(echo \"$x\" | sed s/a/c/); echo \"$y\"; done"),
    case(
        0,
        "for i in 1; do echo -n \"$i\" | sed s/a/b/; echo \"$i\" b | sed s/a/b/; echo \"$?\" | sed s/0/1/; done",
    ),
    case(0, "echo() { printf '%s!\\n' \"$@\"; }; for i in 1; do echo \"$i\" | sed s/1/2/; done"),
    case(0, "set -u; for i in 1; do y=$(echo \"$nosuch\" | sed s/a/b/); echo \"no $?\"; done"),
    case(0, "for x in a; do echo \"$x\" | sed s/a/b/ & wait; done"),
    case(1, "set -o pipefail; for i in 1; do grep nosuch a | sort; echo $?; done"),
    case(1, "set -o pipefail; set +o pipefail; for i in 1; do grep nosuch a | sort; echo $?; done"),
    case(1, "for i in 1 2; do grep nosuch a | sort; echo $?; set -o pipefail; done"),
    case(1, "set -eo pipefail; for i in 1; do grep nosuch a | sort; echo no; done"),
    case(1, "set -euo pipefail; for f in a b; do sort \"$f\" | uniq -c; done"),
    case(1, "set -u; for i in 1; do sort $nosuch | uniq; echo on; done"),
    case(0, "for i in 1; do grep x a | sort; echo ${PIPESTATUS[@]}; done"),
    case(0, "shopt -s lastpipe; for i in 1; do sort a | uniq; done"),
    case(0, "set -x; for i in $(sort a | uniq); do :; done"),
    case(0, "set -e\"x\"; trap 'echo bye >&2' EXIT; for i in 1; do sort a | grep nosuch; done"),
    case(
        1,
        "set -- a; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do set -- \"$@\" \"$@\"; done; cat \"$@\" | sort | uniq -c",
    ),
    case(0, "PS4='> '; set -x; for i in 1; do sort a | uniq; done"),
    case(1, "files=(a b); for i in 1; do sort \"${files[@]}\" | uniq -c; done"),
    case(1, "files=(a 'c d'); for i in 1; do sort \"${files[@]}\" | uniq; done"),
    case(1, "for ((i=1; i<4; i++)); do sort a | head -n $i | tail -n 1; done"),
    case(1, "for i in 1; do sort {a,b} | uniq -c; done"),
    case(1, "for i in 1; do grep -e $'\\x31' -e $'a\\tb' a | sort; done"),
    case(0, "for i in 1; do sort <(echo b; echo a) | uniq; done"),
    case(1, "shopt -s nullglob; for i in 1; do cat a nosuch* | sort; done"),
    case(1, "while read -r x; do sort a | grep -c \"$x\"; done < <(head -n 2 b)"),
    case(1, "[[ $(sort a | uniq | wc -l) -gt 2 ]] && echo many"),
    case(1, "declare -A m; while read -r n w; do m[$w]=$n; done < <(sort a | uniq -c); echo ${#m[@]}"),
    case(1, "x=abc; for i in 1; do grep -c \"${x:1:1}\" a | sort; done"),
    case(1, "x=ABC; for i in 1; do grep -c \"${x,,}\" a | sort; done"),
    case(0, "for i in 1; do sort a |& uniq; done"),
    case(0, "for i in 1; do time sort a | uniq; done 2>/dev/null"),
    case(1, "select x in a b; do sort $x | uniq; break; done <<<1"),
    case(1, "f() { local x=$1; sort \"$x\" | uniq; }; f a"),
    case(1, "for i in 1; do sort a | uniq; done; echo $LINENO"),
    case(0, "shopt -s expand_aliases; alias sort=cat\nfor i in 1; do sort a | uniq; done"),
    case(1, "set -u; x=a; x=(); for i in 1; do sort $x | uniq; done; echo $?"),
    case(1, "set -u; f() { :; }; local x=a; for i in 1; do sort $x | uniq; done; echo $?"),
    case(1, "set -u; x=a; g() { local x; f; }; f() { sort $x | uniq; }; g; echo $?"),
    case(1, "set -u; x=a; x+=b; mapfile -t y <b; for i in 1; do sort $x | uniq; done; echo $?"),
    case(0, "for i in 1; do sort sub/large >out 2> >(cat); done"),
    case(1, "for i in 1; do sort {sub/large,a} \"$(head -n 1 b | cut -c7-)\" -; done"),
    case(1, "set -u; for i in 1; do sort sub/large \"$nosuch\"; echo never; done; echo nor here"),
    case(0, "for i in 1; do RANDOM=1; sort -k $RANDOM a | uniq; done"),
    case(0, "readonly LC_ALL=C; for i in 1; do LC_ALL=x sort a | uniq; done; echo after"),
    case(0, "declare -rx LC_ALL=C; for i in 1; do LC_ALL=x sort a | uniq; done; echo after"),
];

/// For zsh, where variables are not split, unmatched patterns fail, and the last stage runs in zsh itself.
const ZSH: &[Case] = &[
    // Variables are not split, and arrays stay lists.
    case(1, "x='a b'; for i in 1; do sort $x | head -n 1; done"),
    case(1, "x='c d'; for i in 1; do sort $x | uniq -c; done"),
    case(0, "x='a b'; for i in 1; do sort ${=x} | head -n 2; done"),
    case(1, "x=; for i in 1; do sort $x a | head -n 1; done"),
    case(1, "x='*'; for i in 1; do grep -c $x a | sort; done"),
    case(0, "setopt sh_word_split; x='a b'; for i in 1; do sort $x | head -n 2; done"),
    case(1, "files=(a b); sort $files | uniq -c; echo $files[1] ${#files}"),
    case(1, "files=(a 'c d' b); for f in $files; do sort $f | head -n 1; done"),
    case(0, "files=(a b); sort $files[2] | head -n 1; sort ${files[-1]} | tail -n 1"),
    case(0, "typeset -A m; m=(x a y b); for k in ${(ok)m}; do sort $m[$k] | head -n 1; done"),
    case(0, "lines=(${(f)\"$(sort a)\"}); print -l $lines[1,2]"),
    // Patterns without a match fail their stage, and some are not in bash.
    case(0, "sort nosuch* | wc -l; echo $?"),
    case(0, "sort nosuch* a | wc -l || echo failed; echo on"),
    case(0, "setopt null_glob; sort a nosuch* | head -n 1"),
    case(0, "setopt no_nomatch; sort nosuch* | wc -l"),
    case(0, "setopt extended_glob; cat ^(a|b|s.sh|c d)(.N) | sort"),
    case(0, "cat *(.OL[1]) | wc -l; print -l *(/) | sort"),
    case(0, "for f in (a|b); do sort $f | head -n 1; done"),
    case(0, "grep -c 1 =a | sort; echo =ls | cat"),
    case(0, "echo =nosuchcommand | cat; echo $?"),
    case(1, "cat [ab] | sort | head -n 2; echo {a,b} {1..3} | cat"),
    // Statuses.
    case(0, "false | true | grep x; echo $pipestatus"),
    case(0, "true | false | true; echo ${pipestatus[2]} $pipestatus[1]"),
    case(1, "setopt pipefail; grep nosuch a | sort; echo $?"),
    case(1, "set -e; sort a | grep nosuch; echo never"),
    case(2, "set -o errexit; if sort a | grep nosuch; then :; fi; sort a | head -n 1; exit 4"),
    case(0, "! sort a | grep -q nosuch; echo $?; { sort a | grep nosuch } always { echo end }"),
    case(0, "sort a | { exit 3 }; echo $?"),
    // The last stage runs in the shell itself.
    case(1, "sort a | uniq -c | while read n x; do last=$x; done; echo $last"),
    case(0, "sort a | read first; echo $first"),
    case(1, "sort b | head -n 1 | x=1; echo $x"),
    // Constructs bash lacks.
    case(0, "for i (1 2) sort a | head -n $i | tail -n 1"),
    case(0, "repeat 2 do sort a | head -n 1; done"),
    case(0, "if [[ -e a ]] { sort a | head -n 1 } else { echo no }"),
    case(0, "foreach f (a b); sort $f | uniq | wc -l; end"),
    // zsh does not wait for the process that writes both.
    case(
        1,
        "sort a > one > two | head -n 1; until [ -s one ] && [ -s two ]; do sleep 0.01; done; cat one two | wc -l",
    ),
    case(0, "sort < a < b | wc -l; wc -l =(sort a | uniq) | cut -c1-2"),
    case(0, "f() { echo $0 | cat }; f; echo $0 | cat; echo $funcstack ${(%):-%N} | cat"),
    case(0, "alias srt='sort -r'; eval 'srt a | head -n 1'; \\sort a | head -n 1"),
    case(0, "function a b { sort $1 | head -n 1 }; a a; b b"),
    case(0, "x=a.txt; sort $x:r | head -n 1; echo ${x:u} | cat; echo $LINENO ${#argv} $1"),
    case(
        0,
        "print -r -- ${(j:,:)${(s: :)$(sort -u a | head -n 3)}} | cat; emulate sh; sort $nosuch a | head -n 1",
    ),
    // Found by a reviewer: what a test before a call, arrays of the shell's own, and rare settings would change.
    case(1, "set -e; sort a | grep nosuch > x || false; echo no"),
    case(1, "set -eo pipefail; false | sort | uniq > o; echo no"),
    case(0, "set -eu; x=5; f() { sort a | head -n $1; }; f 1 || false; f || echo no; echo on"),
    case(
        1,
        "setopt errreturn; f() { sort < a | grep nosuch || false; echo no; }; f; echo $?; trap 'echo E' ZERR; f",
    ),
    case(1, "(exit 2); grep -c $status < b | sort"),
    case(1, "set -u; sort a | uniq > ${nope:-out}; echo $?; cat out"),
    case(0, "set -o pipefail; grep nosuch a | sort & wait $!; echo $?"),
    case(1, "exec 0<&-; sort a | uniq & wait"),
    case(0, "sort a | uniq > o & print ${#jobstates}; wait; cat o"),
    case(0, "options[clobber]=off; sort a | uniq > b; echo $?"),
    case(0, "aliases[sort]='echo hi'\nsort a | uniq"),
    case(0, "commands[sort]=/bin/echo; sort a | uniq"),
    case(0, "set -o pipefail; f() { local options=x; grep nosuch a | sort; echo $?; }; f"),
    case(1, "echo 'usage: [options] commands'; sort a | uniq # functions, modules"),
    case(0, "set -C; sort a | uniq >> new; echo $?"),
    case(0, "PATH=; sort a | uniq; echo $?"),
    case(0, "f() { local x path; sort a | uniq; echo $?; }; f"),
    case(1, "PATH=/nope; f() { sort a | uniq\n echo $?; }; f"),
    case(2, "sort a | uniq > \"\"; x=; sort b | uniq > $x; echo $?"),
    case(
        3,
        "f() {\n mkdir q\nsort a | uniq > q\nsort a |\n uniq > nosuch/o; echo $?; }; f; sort a | uniq > /proc/nope",
    ),
    case(2, "sort a | uniq > !; cat !; sort a | uniq > ']]'; ls"),
    case(0, "grep {a,~nouser} a | sort; echo fin"),
    case(0, "set -u; set -- a b; sort $10 | uniq; echo after"),
    case(0, "readonly LC_ALL=C; LC_ALL=x sort a | uniq; echo after"),
    case(0, "sort a b | grep ${ZSH_SUBSHELL:-x}"),
    case(0, "TIMEFMT='%J'; time ( sort a | uniq )"),
    // Found by a second reviewer.
    case(1, "cat ${1:-nope*.log} | sort | uniq; echo $?"),
    case(0, "sort a | uniq > ${x:-w*}; sort ${x:-~nouser} | uniq; echo on"),
    case(2, "f=a.log; sort ${f%.*} | uniq; sort ${f:-b} | uniq > ${f##*/}x; cat a.logx"),
    case(0, "trap 'print $LINENO' ZERR\nsort a |\ngrep nosuch"),
    case(1, "trap 'print $LINENO' ZERR\nsort a | grep nosuch"),
    case(0, "set -o pipefail; sort nofile | uniq && touch done & wait; ls"),
    case(0, "TRAPEXIT() { sort < nofile | uniq; }; print hi"),
    case(0, "local -a \\\n w; w+=q/1; w+=q/2; sort a | uniq > $w; ls"),
    case(0, "x=; PATH=$x; sort a | uniq"),
    case(1, "PATH=$PATH:/opt; sort a | uniq"),
    case(2, "print \"a\n$(sort < nofile | uniq)\" \\\n $(sort a | uniq > nosuch/x)"),
    case(0, "print q/1 q/2 > zz; read -A < zz; sort a | uniq > $reply; ls"),
    case(0, "g=typeset; $g -a w; w=q/1; w+=q/2; sort a | uniq > $w; ls"),
    case(0, "typeset \"-a\" w; w+=q/1; w+=q/2; sort a | uniq > $w; ls"),
    case(1, "while read -r w; do sort a | uniq > $w; done < b; ls"),
    case(0, "export -r LC_ALL=C; LC_ALL=C sort a | uniq; echo on"),
    case(0, "status=1 sort a | uniq; echo $?"),
    case(0, "o=setopt; $o no_clobber; sort a | uniq > b; cat b"),
    // What zsh says of a file that it cannot open names the function and its line.
    case(
        3,
        "f() { sort < $1 | uniq; sort < \"$1\" | uniq\n sort a | uniq > $2/x | cat; sort a | uniq > \"$2/y\"; }; f b sub; cat sub/y; f nosuch nosuch; f '' ''",
    ),
    case(2, "f=(a b); sort < \"$f\" | uniq; cd sub; sort < e | uniq > ../out"),
    case(2, "false; sort a | grep -c $? ; sort < a | grep -c $?; echo $?"),
    case(2, "! sort < a | grep -q nosuch; echo $?; x=sub; sort b | uniq > sub; echo $?"),
    case(1, "setopt no_unset; f() { sort \"$1\" | uniq | wc -l; echo on; }; f a; f; echo not here"),
    case(3, "set -u; x=a; sort $x | uniq; unset x; sort $x | uniq; echo $?; sort b $x | uniq"),
    case(
        2,
        "setopt PIPE_FAIL; sort a | grep nosuch | wc -l; echo $?; unsetopt pipefail; sort nosuch | wc -l; echo $?",
    ),
    case(2, "sort a | uniq & wait $!; echo $?; sort | uniq -c & wait; echo $?"),
    case(3, "echo $(sort a | head -n 2) `sort b | tail -n 1`; cat <(sort a | uniq) | wc -l"),
    case(1, "x=abc; sort a | grep -c \"${x#a}\"; sort a | grep -c \"$x[1]\"; sort a | grep \"$x:u\""),
    case(0, "sort a | grep -c $ZSH_SUBSHELL; local path=nosuch; sort a | uniq"),
    case(0, "path=(/nosuch $path); export X=1; setopt extendedglob; sort a | uniq"),
    case(2, "path+=(/nosuch); sort a | uniq; grep -c ^ b | sort"),
    case(0, "TRAPEXIT() { sort a | tail -n 1 }; sort a | head -n 1; nosuchcommand | cat; return 5"),
];

/// Returns a file that is large enough for calls of single commands.
fn large() -> &'static Path {
    static FILE: std::sync::OnceLock<tempfile::NamedTempFile> = std::sync::OnceLock::new();
    let make = || {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let line = |number: u32| format!("{} {number} word\n", number.wrapping_mul(2_654_435_761) >> 12);
        std::fs::write(file.path(), (0..60_000).map(line).collect::<String>()).expect("written");
        file
    };
    FILE.get_or_init(make).path()
}

fn prepare(dir: &Path) {
    let files: [(&str, &str); 5] = [
        ("a", "10\n9\n1\n1\nx\tb\na'b\n\"q\" it's\n$(echo no)\nabc\nÄé\n"),
        ("b", "1 one\n2 two\na three\n1 one\n"),
        ("c d", "spaced\nout\n"),
        ("sub/e", "deep\ndeep\n"),
        ("s.sh", ""),
    ];
    std::fs::create_dir(dir.join("sub")).expect("made");
    std::fs::hard_link(large(), dir.join("sub/large")).expect("linked");
    for (name, text) in files {
        std::fs::write(dir.join(name), text).expect("written");
    }
    std::fs::create_dir(dir.join("lib")).expect("made");
    for (name, text) in LIBRARIES {
        std::fs::write(dir.join("lib").join(name), text).expect("written");
    }
}

/// The result of a run: output, messages, status, and the files afterwards.
#[derive(PartialEq, Eq, Debug)]
struct Outcome {
    out: String,
    err: String,
    status: Option<i32>,
    files: Vec<(String, Vec<u8>)>,
}

/// Runs in a new directory; writes `script`, if given, to `s.sh` first.
fn run(argv: &[&str], script: Option<&str>) -> Outcome {
    let dir = tempfile::tempdir().expect("a temporary directory");
    prepare(dir.path());
    if let Some(text) = script {
        std::fs::write(dir.path().join("s.sh"), text).expect("written");
    }
    std::fs::write(dir.path().join("sub/stdin"), "in 1\nin 2\nin 3\n").expect("written");
    let stdin = std::fs::File::open(dir.path().join("sub/stdin")).expect("opened");
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).current_dir(dir.path()).env("HOME", dir.path()).env("LC_ALL", "C.UTF-8");
    command.env("XDG_CACHE_HOME", dir.path().join("sub/.cache")).stdin(Stdio::from(stdin));
    let Output { stdout, stderr, status } = command.output().expect("it runs");
    let entries = std::fs::read_dir(dir.path()).expect("readable").flatten();
    let mut files: Vec<(String, Vec<u8>)> = entries
        .filter(|entry| entry.path().is_file())
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                std::fs::read(entry.path()).unwrap_or_default(),
            )
        })
        .collect();
    files.sort();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Outcome { out: text(stdout), err: text(stderr), status: status.code(), files }
}

fn calls(shell: &str, text: &str) -> usize {
    let outcome = run(&[PELTON, "explain", "--json", "--shell", shell, text], None);
    let value: serde_json::Value =
        serde_json::from_str(&outcome.out).unwrap_or_else(|e| panic!("{e}: {text}: {outcome:?}"));
    let script = value["script"].as_array().cloned().unwrap_or_default();
    script.iter().filter(|one| one["stages_called"].as_u64() > Some(0)).count()
}

const PELTON: &str = env!("CARGO_BIN_EXE_pelton");

/// Returns a case's faults.
fn judge(shell: &str, case: &Case) -> Vec<String> {
    let made = calls(shell, case.text);
    let mut faults = differences(shell, case);
    if made != case.calls {
        faults
            .push(format!("{shell}: {} pipelines were to call pelton, {made} do: {}", case.calls, case.text));
    }
    faults
}

/// Returns the faults of a case that it has whatever calls pelton.
fn differences(shell: &str, case: &Case) -> Vec<String> {
    let mut faults = Vec::new();
    let call = format!("{shell} s.sh one");
    let ways: [(&[&str], &[&str], Option<&str>); 3] = [
        (&[shell, "-c", case.text], &[PELTON, "run", "--shell", shell, case.text], None),
        (&[shell, "s.sh", "one"], &[PELTON, "run", "--shell", shell, "-f", "s.sh", "one"], Some(case.text)),
        (&["bash", "-c", &call], &[PELTON, "run", &call], Some(case.text)),
    ];
    for (theirs, ours, script) in ways {
        let both = || (run(theirs, script), run(ours, script));
        let (mut expected, mut actual) = both();
        // zsh 5.9 itself crashes now and then where it waits for jobs.
        let crashed = |one: &Outcome| one.status.is_none_or(|status| status == 139);
        for _ in 0..5 {
            if shell == "zsh" && (crashed(&expected) || crashed(&actual)) {
                (expected, actual) = both();
            }
        }
        // Stages print messages in any order.
        let lines = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort();
            lines
        };
        let same = Outcome { err: String::new(), ..clone(&expected) }
            == Outcome { err: String::new(), ..clone(&actual) };
        if !same || lines(&expected.err) != lines(&actual.err) {
            faults.push(format!("{shell}: {ours:?}\n  expected {expected:?}\n  got      {actual:?}"));
        }
    }
    faults
}

fn clone(outcome: &Outcome) -> Outcome {
    let Outcome { out, err, status, files } = outcome;
    Outcome { out: out.clone(), err: err.clone(), status: *status, files: files.clone() }
}

fn all(shell: &str, cases: &[&[Case]]) {
    let faults: Vec<String> =
        cases.iter().flat_map(|cases| cases.iter()).flat_map(|case| judge(shell, case)).collect();
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn scripts_do_what_bash_does() {
    all("bash", &[BOTH, BASH]);
}

#[test]
fn scripts_do_what_dash_does() {
    all("dash", &[BOTH]);
}

#[test]
fn scripts_do_what_zsh_does() {
    all("zsh", &[ZSH]);
    // What the other shells run. In zsh other words are patterns, and other files are tested first.
    let faults: Vec<String> = BOTH.iter().flat_map(|case| differences("zsh", case)).collect();
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
    let called = BOTH.iter().filter(|case| calls("zsh", case.text) > 0).count();
    assert!(called * 3 > BOTH.len() * 2, "only {called} of {} cases call pelton", BOTH.len());
}

#[test]
fn a_first_line_can_name_zsh() {
    let script = "#!/bin/zsh\nx='c d'\nsort $x | uniq -c\necho $0 $1 $ZSH_NAME\nfalse | true\necho $pipestatus\nexit 6\n";
    let expected = run(&["zsh", "s.sh", "one"], Some(script));
    for ours in
        [&[PELTON, "run", "-f", "s.sh", "one"][..], &[PELTON, "run", "--faithful", "-f", "s.sh", "one"]]
    {
        assert_eq!(run(ours, Some(script)), expected);
    }
    let explained = run(&[PELTON, "explain", "--json", "-f", "s.sh"], Some(script));
    assert!(explained.out.contains("`pipestatus`, which tells stages apart"), "{explained:?}");
}

#[test]
fn words_are_not_expanded_again() {
    let odd = ["$HOME", "*", "a b", "", "'", "\"", "\\", "$(echo no)", "-n", "é", "x\ny", "A=b", ":::x"];
    for word in odd {
        let outcome = run(&[PELTON, "pipe", ":::", "grep", "-c", "-F", "-e", word, "a", ":::", "cat"], None);
        let expected = run(&["grep", "-c", "-F", "-e", word, "a"], None);
        assert_eq!(outcome.out, expected.out, "{word:?}: {outcome:?}");
    }
}

#[test]
fn more_words_than_an_argument_can_hold() {
    let names: Vec<String> = (0..12_000).map(|at| format!("nosuch-file-{at}")).collect();
    let mut argv = vec![PELTON, "pipe", ":::", "cat", "-s"];
    argv.extend(names.iter().map(String::as_str));
    argv.extend(["a", ":::", "sort", ":::", "head", "-n", "1"]);
    let outcome = run(&argv, None);
    assert_eq!((outcome.out.as_str(), outcome.status), ("\"q\" it's\n", Some(0)));
    assert_eq!(outcome.err.lines().count(), 12_000);
}

#[test]
fn bad_calls_are_refused() {
    for (argv, part) in [
        (&["pipe"][..], "WORDS"),
        (&["pipe", ":::"], "has no command"),
        (&["pipe", ":::", "sort", ":::", ":::", "uniq"], "stage 2"),
    ] {
        let outcome = run(&[&[PELTON], argv].concat(), None);
        assert_eq!(outcome.status, Some(2), "{argv:?}: {outcome:?}");
        assert!(outcome.err.contains(part), "{argv:?}: {outcome:?}");
    }
}

#[test]
fn all_that_follows_a_script_is_its_own() {
    let script = "#!/bin/bash\nfor f; do printf '%s ' \"$f\" | cat; done; sort -u a | head -n $#\n";
    for argument in ["--help", "--version", "-V", "--", "-", "--faithful", "-f", "--shell=dash", "", "::"] {
        let expected = run(&["bash", "s.sh", argument, "x", "--stats"], Some(script));
        for ours in [&["run", "-f"][..], &["sh"], &["run", "--file"]] {
            let argv = [&[PELTON], ours, &["s.sh", argument, "x", "--stats"]].concat();
            assert_eq!(run(&argv, Some(script)), expected, "{argv:?}");
        }
    }
}

/// As a text, as words, with options of its shell, and found in PATH. It runs natively, or its file would be opened by the
/// shell that its first line names.
#[test]
fn a_script_that_is_called_runs_as_one_that_is_given() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("called");
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    for line in ["#!/bin/bash", "#!/bin/sh -e", "#! /usr/bin/env bash", "#!/usr/bin/dash"] {
        let text = format!(
            "{line}\nexport V=$1\nfor f in a b; do sort -r \"$0\" | head -n 2; echo $f \"$0 $*\" $SHLVL; done\n\
             false | wc -c\nsh -c 'echo $V'; exit 7\n"
        );
        std::fs::write(&file, text).expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("allowed");
        let output = |argv: &[&str]| {
            let out = Command::new(argv[0]).args(&argv[1..]).env("PATH", &path).output().expect("it runs");
            (String::from_utf8_lossy(&out.stdout).into_owned(), out.status.code())
        };
        let name = file.to_str().expect("a path");
        for call in [format!("{name} one 'two  2'"), "called one 'two  2'".to_owned()] {
            let expected = output(&["bash", "-c", &call]);
            assert_eq!(expected.1, Some(7), "{expected:?}");
            assert_eq!(output(&[PELTON, "run", &call]), expected, "{line}: {call}");
            let explained = output(&[PELTON, "explain", "--json", &call]).0;
            assert!(explained.contains("stages_called"), "{line}: {explained}");
        }
        assert_eq!(
            output(&[PELTON, "run", name, "one", "two  2"]),
            output(&[name, "one", "two  2"]),
            "{line}"
        );
    }
}

#[test]
fn of_a_script_that_may_look_for_its_own_process_it_is_said_how_it_runs_natively() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("x.sh"), "ps -o comm= | sort | head -n 2\n").expect("written");
    for (words, wanted) in [(&["bash x.sh"][..], 0), (&["bash", "x.sh"], 2)] {
        let out = Command::new(PELTON).arg("explain").args(words).current_dir(folder.path()).output();
        let out = out.expect("it runs");
        let said = String::from_utf8_lossy(&out.stdout) + String::from_utf8_lossy(&out.stderr);
        assert!(said.contains("`ps`") && said.contains("pelton run -f x.sh"), "{said}");
        assert_eq!(out.status.code(), Some(wanted));
    }
}

/// What the system or the shell would refuse, or read from elsewhere, is left to them.
#[test]
fn what_is_no_plain_call_of_a_script_is_left_to_the_shell() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let body = "sort -r \"$0\" | head -n 2\necho $- | tr a-z A-Z | cat\n";
    let lines = [
        ("crlf", "#!/bin/bash\r"),
        ("env", "#!/usr/bin/env bash -e"),
        ("flags", "#!/bin/bash -e -u"),
        ("missing", "#!/nosuch/bash"),
        ("relative", "#!bash"),
        ("none", "echo no"),
        ("spaces", "#!  /bin/bash \t-e  "),
        ("name", "#!/bin/bash\nps -o comm= -p $$ | cat"),
        ("underscore", "#!/bin/bash\necho $_ | cat"),
    ];
    for (name, line) in lines {
        let file = folder.path().join(name);
        std::fs::write(&file, format!("{line}\n{body}")).expect("written");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).expect("allowed");
    }
    std::fs::write(folder.path().join("plain"), body).expect("written");
    let output = |argv: &[&str]| {
        let out =
            Command::new(argv[0]).args(&argv[1..]).current_dir(folder.path()).output().expect("it runs");
        (String::from_utf8_lossy(&out.stdout).into_owned(), out.stderr, out.status.code())
    };
    let calls = lines.iter().map(|(name, _)| format!("./{name}")).chain(
        [
            "./plain",
            "bash nosuch",
            "bash .",
            "bash /dev/stdin < plain",
            "cat plain | bash /dev/fd/0",
            "bash <(cat plain)",
        ]
        .map(str::to_owned),
    );
    for call in calls {
        assert_eq!(output(&[PELTON, "run", &call]), output(&["bash", "-c", &call]), "{call}");
    }
    // A FIFO is read once, by the shell.
    let script = "mkfifo p; (echo 'echo b a | tr a-z A-Z' > p &); \"$0\" run 'bash p'";
    assert_eq!(output(&["bash", "-c", script, PELTON]).0, "B A\n");
}

#[test]
fn a_script_can_name_pelton_in_its_first_line() {
    let outcome = run(
        &[PELTON, "sh", "s.sh", "a"],
        Some("#!/usr/bin/env -S pelton sh\nfor f; do sort $f | head -n 1; done\necho $0 $#\n"),
    );
    assert_eq!((outcome.out.as_str(), outcome.status), ("\"q\" it's\ns.sh 1\n", Some(0)), "{outcome:?}");
}

/// bash has the rewritten text open as its script, unless the system does not let pelton trace.
#[cfg(target_arch = "x86_64")]
#[test]
fn bash_reads_the_rewritten_text_in_place_of_its_script() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("s.sh");
    let text = "f() { sort \"$0\" | uniq > /dev/null; }; f; echo \"$BASH_SOURCE\"; readlink /proc/$$/fd/255";
    std::fs::write(&script, text).expect("write");
    let pelton = Command::new(env!("CARGO_BIN_EXE_pelton")).args(["run", "-f"]).arg(&script).output();
    let output = String::from_utf8(pelton.expect("run").stdout).expect("text");
    let (named, read) = output.split_once('\n').expect("two lines");
    assert_eq!(named, script.to_str().expect("a path"));
    if pelton_sys::trace::try_out().is_ok() {
        assert!(read.contains("memfd:script"), "{read}");
    }
}

/// Options, texts and arguments as the shell takes them; with `-e` and pipefail natively as well.
#[test]
fn sh_takes_what_a_shell_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("s.sh"),
        "seq 5 | sort -r | head -n 2; echo $0 $* $-; false | cat\necho on\n",
    )
    .expect("written");
    let output = |program: &[&str], words: &[&str]| {
        let mut command = Command::new(program[0]);
        let out =
            command.args(&program[1..]).args(words).current_dir(folder.path()).output().expect("it runs");
        (String::from_utf8_lossy(&out.stdout).into_owned(), out.stderr, out.status.code())
    };
    let text = "seq 9 | sort -r | head -n 2; echo $0 $1 | cat; false | wc -l; echo $U on";
    let calls: [&[&str]; 9] = [
        &["-c", text],
        &["-c", text, "name", "one"],
        &["-euo", "pipefail", "-c", text],
        &["-e", "-o", "pipefail", "-c", "--", text, "n", "-x"],
        &["-ec", "false | wc -l; sort nosuch | uniq -c; false; echo no"],
        &["--noprofile", "--norc", "-eo", "pipefail", "s.sh", "one", "-c"],
        &["-f", "--", "s.sh"],
        &["+e", "-u", "s.sh", "two"],
        &["-c", "set -o | sort | head -n 30; - | cat"],
    ];
    for (shell, call) in ["bash", "sh"].into_iter().flat_map(|shell| calls.map(|call| (shell, call))) {
        if shell == "sh" && (call.contains(&"pipefail") || call.contains(&"-euo") || call.contains(&"--norc"))
        {
            continue;
        }
        assert_eq!(
            output(&[PELTON, "sh", "--shell", shell], call),
            output(&[shell], call),
            "{shell} {call:?}"
        );
    }
    // What the shell reads from elsewhere, or refuses, is left to it.
    let left: [&[&str]; 9] = [
        &["-e", "-c"],
        &["-oe", "pipefail", "-c", "false | sort; echo no"],
        &["-O", "extglob", "-c", "echo $- | cat"],
        &["-s", "x", "y"],
        &["nosuch.sh"],
        &["-z"],
        &["--version"],
        &["-c", "if; then"],
        &["-c", "tr '\\0' ' ' < /proc/$$/cmdline"],
    ];
    for call in left {
        assert_eq!(output(&[PELTON, "sh"], call), output(&["bash"], call), "{call:?}");
    }
}
