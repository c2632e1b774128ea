use super::*;
use crate::Shell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

fn rewritten(text: &str) -> Result<Rewritten, String> {
    let environment = Environment::inherit();
    let shell = Shell::find(OsStr::new("bash"), &environment).expect("bash");
    let request = Request {
        text: text.into(),
        name: "s".into(),
        args: vec![],
        script: None,
        shell_flags: vec![],
        shell,
        owns_input: false,
        is_expanded: false,
    };
    let caller = Caller { program: "P".into(), options: vec![], separator: "SEP".into() };
    rewrite(&request, &environment, &caller)
}

/// Returns the rewritten text, without what all calls share.
fn after(text: &str) -> String {
    let text = rewritten(text).expect("rewritten").text;
    let mut out = String::new();
    for (at, piece) in text.split("'P' pipe --shell=").enumerate() {
        let piece = if at == 0 {
            piece
        } else {
            piece.split_once("--name=\"${BASH_SOURCE:-$0}\" ").map_or("?", |(_, rest)| rest)
        };
        out += if at == 0 { "" } else { "PIPE " };
        out += piece;
    }
    out
}

#[test]
fn pipelines_become_calls_and_words_stay() {
    assert_eq!(
        after("for f in *; do grep \"$p\" \"$f\" | sort | uniq -c; done"),
        "for f in *; do PIPE --line=1 SEP grep \"$p\" \"$f\" SEP sort SEP uniq -c; done"
    );
    assert_eq!(after("f() { cut -c1 | sort; }\nf"), "f() { PIPE --line=1 SEP cut -c1 SEP sort; }\nf");
    assert_eq!(after("x=$(sort a | uniq)"), "x=$(PIPE --line=1 SEP sort a SEP uniq)");
    assert_eq!(after("x=`sort a | uniq`"), "x=`PIPE --line=1 SEP sort a SEP uniq`");
    assert_eq!(after("x=`sort a \\\n| uniq`"), "x=`sort a \\\n| uniq`");
    assert_eq!(after("LC_ALL=C sort a | uniq"), "PIPE --line=1 SEP LC_ALL=C sort a SEP uniq");
}

#[test]
fn redirections_go_with_the_call() {
    assert_eq!(
        after("sort <\"$f\" -u | uniq -c >>'a b'"),
        "PIPE --line=1 --read=\"$f\" --append='a b' SEP sort  -u SEP uniq -c "
    );
    assert_eq!(
        after("sort a 2>/dev/null | uniq | head"),
        "PIPE --line=1 --silent=1 SEP sort a  SEP uniq SEP head"
    );
}

#[test]
fn names_that_bash_may_split_are_looked_at_when_they_are_known() {
    let plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./+@%=-";
    assert_eq!(
        after("sort a |\n uniq > $d/x && echo"),
        format!(
            "case \"$d/x:\" in (:*|*::*|*:*:*|*[!:{plain}]*) sort a |\n uniq > $d/x;; \
             (*) PIPE --line=1,2 --write=\"$d/x\" SEP sort a SEP uniq ;; esac && echo"
        )
    );
    assert!(after("sort < $a | uniq >> ${b}").starts_with("case \"$a:${b}:\" in (:*|*::*|*:*:*:*|*[!"));
    assert!(after("IFS=$'\\n'; sort a | uniq > $x").contains("PIPE"));
}

/// Runs the text that bash would get for one name, and for two.
#[test]
fn bash_runs_the_call_for_plain_names_only() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let functions = "PIPE() { echo called; }\nSEP() { :; }\n";
    let is_called = |locale: &str, text: &str, name: &str| {
        let text = format!("{functions}name=$1\n{}", after(text));
        let mut bash = std::process::Command::new("bash");
        bash.args(["-c", &text, "bash", name]).env("LC_ALL", locale).current_dir(folder.path());
        bash.output().expect("bash runs").stdout.starts_with(b"called")
    };
    for locale in ["C", "C.UTF-8"] {
        for text in ["sort a | uniq > $name", "sort < $name | uniq >> ${name}"] {
            for plain in ["out", "./out/a-b_c.txt", "/tmp/A+%=@0", "-"] {
                assert!(is_called(locale, text, plain), "{locale}: {text}: {plain}");
            }
            for other in ["", "a b", "a\tb", "*", "a?", "[a]", "a:b", ":", "é", "a\n", "~", "{a,b}"] {
                assert!(!is_called(locale, text, other), "{locale}: {text}: {other:?}");
            }
        }
    }
}

/// Each name as bash cuts it by the rewritten text, and as the program does.
#[test]
fn bash_cuts_names_as_the_programs_do() {
    let names: &[&[u8]] = &[
        b"a",
        b"/a",
        b"a/",
        b"a/b",
        b"/a/b",
        b"//a",
        b"a//b",
        b"/",
        b"//",
        b"",
        b".",
        b"./x",
        b"..",
        b"-x",
        b"-",
        b"--",
        b"a b/c d",
        b"*/x",
        b"x.txt",
        b"d/x.txt",
        b".txt",
        b"d/.txt",
        b"x.txt/",
        b"a\nb/c\nd",
        b"a\n",
        b"\xff/\xe9",
        b"[a]/?",
        b"\\/\\",
        b"d/x.txt.txt",
        b"a/b//",
        b"a/-b",
        b"x.TXT",
        b"d/xtxt",
    ];
    let commands = [
        "basename \"$f\"",
        "basename \"${f}\" .txt",
        "dirname \"$f\"",
        "basename \"$1\"",
        "dirname \"$1\"",
        "basename \"$1\" txt",
    ];
    for command in commands {
        let text = format!("sort a | uniq; y=$({command}); printf '<%s>' \"$y\" $?");
        let cut = after(&text);
        let cut = cut.split_once("uniq; ").expect("two commands").1.to_owned();
        assert!(cut.contains("[["), "{cut}");
        for locale in ["C", "C.UTF-8"] {
            for name in names {
                let run = |text: &str| {
                    let mut bash = std::process::Command::new("bash");
                    bash.args(["-c", &format!("f=$1\n{text}"), "bash"]).arg(OsStr::from_bytes(name));
                    let out = bash.env("LC_ALL", locale).output().expect("bash runs");
                    (out.stdout, out.stderr)
                };
                let plain = format!("y=$({command}); printf '<%s>' \"$y\" $?");
                assert_eq!(
                    run(&cut),
                    run(&plain),
                    "{locale}: {command}: {:?}",
                    name.escape_ascii().to_string()
                );
            }
        }
    }
    let stays = |text: &str| !after(&format!("sort a | uniq; {text}")).contains("[[");
    for text in [
        "basename \"$f\"",
        "y=`basename \"$f\"`",
        "y=$(basename $f)",
        "y=$(basename \"$f\" \"$g\")",
        "y=$(basename \"$f\" -x)",
        "y=$(basename \"$f\" 2>/dev/null)",
        "y=$(basename -a \"$f\")",
        "y=$(basename \"$f\"; echo)",
        "printf() { :; }; y=$(basename \"$f\")",
        "PATH=.:$PATH; y=$(basename \"$f\")",
    ] {
        assert!(stays(text), "{text}");
    }
    assert_eq!(after("y=$(basename \"$f\")"), "y=$(basename \"$f\")", "no call is worth it");
}

#[test]
fn pipelines_in_the_background_and_behind_documents_are_called() {
    assert_eq!(after("sort a | uniq & wait"), "PIPE --line=1 SEP sort a SEP uniq <&0 & wait");
    assert_eq!(
        after("if x; then cat <<E | sort | uniq\nx\nE\nfi"),
        "if x; then cat <<E | PIPE --line=1 --own-input SEP sort SEP uniq\nx\nE\nfi"
    );
    assert_eq!(after("PATH=/x:$PATH; sort a | uniq"), "PATH=/x:$PATH; PIPE --line=1 SEP sort a SEP uniq");
}

#[test]
fn lines_stay_where_they_are() {
    let text = "sort a | # why\n  uniq |\n head -1\necho $LINENO";
    let out = after(text);
    assert_eq!(out, "PIPE --line=1,2,3 SEP sort a SEP \\\nuniq SEP \\\nhead -1\necho $LINENO");
}

#[test]
fn part_of_a_pipeline_is_called() {
    assert_eq!(
        after("while read -r x; do echo \"$x\"; done <f | tr a b | sort | tee x"),
        "while read -r x; do echo \"$x\"; done <f | PIPE --line=1 --own-input SEP tr a b SEP sort SEP tee x"
    );
    assert_eq!(after("foo | sort | uniq | bar"), "foo | PIPE --line=1 --own-input SEP sort SEP uniq | bar");
    assert_eq!(after("sort a | foo | uniq"), "sort a | foo | uniq");
}

#[test]
fn what_a_command_without_input_prints_is_a_word() {
    for words in [
        "sort -t\"$(printf '\\t')\" -k2 \"$(pwd)\"/a",
        "sort `uname $1` \"$(date +%F)\"",
        "cut -d $(echo \"$x\") a",
    ] {
        assert_eq!(after(&format!("{words} | uniq")), format!("PIPE --line=1 SEP {words} SEP uniq"));
    }
}

#[test]
fn what_could_tell_is_left() {
    for (text, why) in [
        ("sort a | uniq & kill $!", "`&`"),
        ("sort <<E | uniq\nx\nE", "a redirection"),
        ("IFS=,; sort a | uniq > $x", "a redirection"),
        ("sort a | awk '1\n' | uniq > $x", "of several lines"),
        ("y=$(sort a | uniq > $x)", "a substitution"),
        ("if true; then\nsort() {\necho\n} <<E\nx\nE\nfi\nsort a | uniq", "`sort`, which is a function"),
        ("cat <<E | uniq |\nx\nE\nsort", "a redirection"),
        ("sort $(foo) | uniq", "a command substitution"),
        ("sort $(date -f -) | uniq", "a command substitution"),
        ("sort $(echo a | cat) | uniq", "a command substitution"),
        ("sort $(echo a; x=1) | uniq", "a command substitution"),
        ("sort $(echo $RANDOM) | uniq", "a command substitution"),
        ("sort $(echo a < b) | uniq", "a command substitution"),
        ("sort $(echo a) $? | uniq", "a command substitution"),
        ("echo() { :; }; sort $(echo a) | uniq", "a command substitution"),
        ("sort $(echo a) |\n uniq", "a command substitution"),
        ("sort ${x:=1} | uniq", "an expansion with an operator"),
        ("sort ${x?oh} | uniq", "an expansion with an operator"),
        ("sort $((i=1)) | uniq", "an arithmetic expansion"),
        ("sort $RANDOM | uniq", "`$RANDOM`"),
        ("sort() { :; }; sort a | uniq", "`sort`, which is a function"),
        ("\\sort a | uniq", "a command whose name is quoted or expands"),
        ("sort a |& uniq", "`|&`"),
        ("sort a > b | uniq", "a redirection"),
        ("sort a | uniq > $x\"y\"", "a redirection"),
        ("sort a | uniq > *", "a redirection"),
        ("sort a | uniq 2>&1", "a redirection"),
        ("set -u; sort $x | uniq &", "under `set -u`"),
        ("set -u; y=$(sort $x | uniq; z)", "under `set -u`"),
        ("set -u; y=$(sort $x $? | uniq)", "under `set -u`"),
        ("set -u; y=$(sort w | uniq > $x)", "a substitution"),
        ("set -u; sort $x | awk '1\n'", "under `set -u`"),
        ("set -u; sort $x |\n uniq > $y", "under `set -u`"),
        ("set -u; sort ${x:y} | uniq", "an expansion with an operator"),
        ("sort ${x:08} | uniq", "an expansion with an operator"),
        ("sort ${x:} | uniq", "an expansion with an operator"),
        ("sort ${x[$i]} | uniq", "an expansion with an operator"),
        ("sort a | uniq > ${9:-~/x}", "a redirection"),
        ("set -u; sort $x | sed 's/a/\\\n/'", "under `set -u`"),
        ("o=o; sort w | sed 's/a/1\\\n2/' > $o", "of several lines"),
        ("cat <<E\n$(sort a |\n uniq)\nE", "a here-document, and several lines"),
        ("cat <<E\n$(sort() {\n:\n}; sort a | uniq)\nE", "`sort`, which is a function"),
        ("set -u; sort ${x:-$y} | uniq", "an expansion with an operator"),
        ("sort a | uniq > \"$@\"", "a redirection"),
        ("cat <<E\n$(sort a | uniq)\nE\nLINENO=3", "names `LINENO`"),
        ("time sort a | uniq", "the shell's `time`"),
    ] {
        let rewritten = rewritten(text).expect("rewritten");
        assert_eq!(rewritten.text, text);
        let reasons: Vec<String> = rewritten.pipelines.iter().filter_map(|one| one.reason.clone()).collect();
        assert!(reasons.iter().any(|reason| reason.contains(why)), "{text}: {reasons:?}");
    }
    for text in
        ["eval x; sort a | uniq", "set -v; sort a | uniq", "sort a | uniq; echo ${PIPESTATUS[0]}", "("]
    {
        assert!(rewritten(text).is_err(), "{text}");
    }
}

#[test]
fn what_is_called_is_told() {
    let all = rewritten("if sort a | uniq; then foo | sort | uniq -c | bar; fi\nfoo | bar")
        .expect("rewritten")
        .pipelines;
    let told: Vec<_> = all.iter().map(|one| (one.line, one.called, one.stages)).collect();
    assert_eq!(told, [(1, 2, 2), (1, 2, 4), (2, 0, 2)]);
    assert_eq!(all[0].reason, None);
    assert_eq!(all[1].reason.as_deref(), Some("`foo`: pelton has no native foo"));
}

/// Whatever `$x` is, `sort -R` and `sort --debug` have no kernel.
#[test]
fn calls_that_would_gain_nothing_are_not_made() {
    for text in [
        "for f in *; do sort -R \"$f\" | sort --random-sort -u | sort --debug; done",
        "while read -r x; do sort --debug -k \"$x\" f | sort -R; done",
        "for i in 1 2; do sort -R $x | sort --random-sort; done",
    ] {
        let rewritten = rewritten(text).expect("rewritten");
        assert_eq!(rewritten.text, text);
        let reason = rewritten.pipelines[0].reason.as_deref().unwrap_or_default();
        assert!(reason.starts_with("stages that no kernel serves (sort: "), "{reason}");
    }
    for text in [
        "for f in *; do sort -R \"$f\" | sort; done",
        "for f in *; do sort $options f | grep -P x; done",
        "for f in *; do head $n | tail -n \"$m\"; done",
        "for f in *; do sed \"$program\" f | grep -P x; done",
        // The text may set a locale that has kernels.
        "LC_ALL=C; for f in *; do sort -R | sort --debug; done",
    ] {
        assert_ne!(rewritten(text).expect("rewritten").text, text);
    }
}

#[test]
fn loops_that_start_processes_are_told_from_those_that_compute() {
    for text in [
        "while read -r x; do echo $((x + 1)); done",
        "for ((i = 0; i < 9; i++)); do n=$((n * 2)); (( n > 5 )) && echo $n; done",
        "until [ $i -ge 5 ]; do i=$((i+1)); printf '%s; sed x\\n' \"$i\"; done",
        "while read x; do echo \"a; sed $((x)) b\"; done",
        "{ read x; while IFS= read -r y; do echo \"$y\"; done; }",
        "expr 1 + 1",
    ] {
        assert!(!is_loop_of_processes(text), "{text}");
    }
    for text in [
        "while read -r x; do expr $x + 1; done",
        "for f in *; do wc -l $f; done",
        "while read x; do y=$(cut -c1 <<< $x); echo $y; done",
        "for i in 1 2; do x=1 /bin/true | cat; done",
        "while read x; do if grep -q a $x; then echo; fi; done",
        "while read x; do echo `date`; done",
        "while read x; do echo \"a $(date)\"; done",
    ] {
        assert!(is_loop_of_processes(text), "{text}");
    }
}

#[test]
fn expansions_outside_quotes_are_found() {
    for written in ["$x", "a$x", "\"$x\"$y", "'a'$x", "\\\\$x", "\"\\\"\"$x"] {
        assert!(stages::expands_unquoted(written), "{written}");
    }
    for written in ["a", "\"$x\"", "'$x'", "\\$x", "\"a\\\"$x\"", "\"${x}\"/y"] {
        assert!(!stages::expands_unquoted(written), "{written}");
    }
}

#[test]
fn what_must_be_set_is_tested() {
    for (text, expected) in [
        (
            "set -u; f() { sort \"$1\" |\n cut -f$n; }",
            "set -u; f() { case ${1+x}${n+x} in (xx) PIPE --line=1,2 SEP sort \"$1\" SEP cut -f$n;; \
             (*) sort \"$1\" |\n cut -f$n;; esac; }",
        ),
        (
            "set -u; n=$(sort ${x%.*} | uniq)",
            "set -u; n=$([[ ${x+x} == x ]] && exec PIPE --line=1 SEP sort ${x%.*} SEP uniq; sort ${x%.*} | uniq)",
        ),
        (
            "set -u; sort ${x-a} ${y:+b} $# | uniq",
            "set -u; PIPE --line=1 SEP sort ${x-a} ${y:+b} $# SEP uniq",
        ),
        ("sort a | uniq > \"$2\"", "PIPE --line=1 --write=\"$2\" SEP sort a SEP uniq "),
    ] {
        assert_eq!(after(text), expected);
    }
    assert!(
        after("set -u; sort a | uniq > $x").starts_with("set -u; case ${x+x} in (x) case \"$x:\" in (:*|")
    );
}

#[test]
fn pipelines_in_here_documents_are_called() {
    assert_eq!(
        after("cat <<E\na $(sort a | uniq) \\$(sort a | uniq) `sort b | uniq`\nE"),
        "cat <<E\na $(PIPE --line=\"$LINENO\" SEP sort a SEP uniq) \\$(sort a | uniq) \
         `PIPE --line=\"$LINENO\" SEP sort b SEP uniq`\nE"
    );
    assert_eq!(
        after("f() {\n\tcat <<-E\n\t$(sort a | uniq)\n\tE\n}"),
        "f() {\n\tcat <<-E\n\t$(PIPE --line=\"$LINENO\" SEP sort a SEP uniq)\n\tE\n}"
    );
    for text in
        ["cat <<E\n$(sort a |\n uniq)\nE", "cat <<'E'\n$(sort a | uniq)\nE", "cat <<E\n$(sort a | uniq\nE"]
    {
        assert_eq!(rewritten(text).expect("rewritten").text, text);
    }
}

#[test]
fn assigned_variables_do_not_end_a_stage() {
    let is_called = |text: &str| {
        let rewritten = rewritten(text).expect("rewritten");
        rewritten.has_calls() && !rewritten.text.contains("+x}")
    };
    for text in [
        "set -u; x=a; sort $x | uniq",
        "set -u; x=a\nf() { sort \"$x\" | uniq; }; f",
        "set -u; f() { local x=$1; sort \"$x\" | uniq; }; f a",
        "set -u; export x=a y=b; if true; then sort $x $y | uniq; fi",
        "set -u; x=a && true; z=$(sort $x | uniq)",
        "set -u; x=a; x+=b; mapfile -t y; sort $x | uniq",
        "set -u; x=a; z=`sort $x | uniq`",
        "set -u; x=a; g() { f() { sort $x | uniq; }; }; g; f",
    ] {
        assert!(is_called(text), "{text}");
    }
    for text in [
        "set -u; sort $x | uniq; x=a",
        "set -u; true && x=a; sort $x | uniq",
        "set -u; if true; then x=a; fi; sort $x | uniq",
        "set -u; (x=a); sort $x | uniq",
        "set -u; x=a & sort $x | uniq",
        "set -u; x=a | true; sort $x | uniq",
        "set -u; x=a true; sort $x | uniq",
        "set -u; x=a; unset x; sort $x | uniq",
        "set -u; x=a; f() { local x; sort $x | uniq; }",
        "set -u; x=a; f() { local $y; sort $x | uniq; }",
        "set -u; x=a; declare -a x; sort $x | uniq",
        "set -u; x=a; declare -n y=x; y=(); sort $x | uniq",
        "set -u; x=a; x=(); sort $x | uniq",
        "set -u; x=a; mapfile x; sort $x | uniq",
        "set -u; x=a; read -a x; sort $x | uniq",
        "set -u; x=a; wait -p x; sort $x | uniq",
        "set -u; local x=a; sort $x | uniq",
        "set -u; x+=a; sort $x | uniq; y=b",
        "set -u; x=a; \"$@\"; sort $x | uniq",
        "set -u; f() { x=a; }; sort $x | uniq",
        "set -u; g() { local x=a; f() { sort $x | uniq; }; }; g; f",
        "set -u; h() { local x=b; g; }; g() { x=a; f() { sort $x | uniq; }; }; h; f",
        "set -u; x=a > /f; sort $x | uniq",
    ] {
        assert!(!is_called(text), "{text}");
    }
}

#[test]
fn what_echo_prints_goes_to_the_call() {
    for (text, expected) in [
        (
            "y=$(echo \"$x\" | sed p | sort)",
            "y=$([[ ${#x} -lt 1000 && \"$x\" != -* ]] && exec PIPE --line=1 --own-input SEP sed p SEP sort <<< \"$x\"; \
             echo \"$x\" | sed p | sort)",
        ),
        (
            "! printf '%s\\n' \"a$1$x\" | sort | uniq > o",
            "! if [[ ${#1}+${#x} -lt 999 ]]; then PIPE --line=1 --own-input --write=o SEP sort SEP uniq  <<< \"a$1$x\"; \
             else printf '%s\\n' \"a$1$x\" | sort | uniq > o; fi",
        ),
        (
            "y=`echo \"a $x\" | sort`",
            "y=`[[ ${#x} -lt 998 ]] && exec PIPE --line=1 --own-input SEP sort <<< \"a $x\"; echo \"a $x\" | sort`",
        ),
    ] {
        assert_eq!(after(text), expected);
    }
    for text in [
        "echo \"$x\" | sort",
        "echo $x | sort | uniq",
        "y=$(echo a | sort)",
        "y=$(echo \"$x\" \"$y\" | sort)",
        "y=$(echo -n \"$x\" | sort)",
        "y=$(echo \"-$x\" | sort)",
        "y=$(echo \"${x:-a}\" | sort)",
        "y=$(echo \"$x\" 2>/f | sort)",
        "y=$(echo \"$x\" | sort; :)",
        "y=$(! echo \"$x\" | sort)",
        "(echo \"$x\" | sort) | z",
        "z <(echo \"$x\" | sort)",
        "y=$(echo \"$x\" | sort | z)",
        "y=$(echo \"$RANDOM\" | sort)",
        "y=$(printf \"$x\" | sort)",
        "echo() { :; }; y=$(echo \"$x\" | sort)",
    ] {
        assert!(!after(text).contains("<<<"), "{text}");
    }
}

#[test]
fn single_commands_are_called_for_large_inputs() {
    let path = std::env::temp_dir().join(format!("pelton-single-{}", std::process::id()));
    std::fs::write(&path, vec![b'\n'; 4 << 20]).expect("a file");
    let file = path.to_str().expect("UTF-8").to_owned();
    let of = |text: &str| after(&text.replace("LARGE", &file)).replace(&file, "LARGE");
    for (text, expected) in [
        ("if x; then sort LARGE; fi", "if x; then PIPE --line=1 SEP sort LARGE; fi"),
        (
            "f=LARGE\nn=$(sort <\"$f\" 2>/dev/null)",
            "f=LARGE\nn=$(PIPE --line=2 SEP sort <\"$f\" 2>/dev/null)",
        ),
        ("f=${1:-LARGE}; sort $f >a", "f=${1:-LARGE}; PIPE --line=1 SEP sort $f >a"),
        (
            "{ sort LARGE; } >$x/a; sort $x/a",
            "{ PIPE --line=1 SEP sort LARGE; } >$x/a; PIPE --line=1 SEP sort $x/a",
        ),
        ("{ sort nosuch; sort f; }", "{ sort nosuch; sort f; }"),
        (
            "{ sort LARGE >&-; time sort LARGE; sort LARGE & }",
            "{ sort LARGE >&-; time sort LARGE; sort LARGE & }",
        ),
        ("sort() { x; }; sort LARGE", "sort() { x; }; sort LARGE"),
        ("{ sort LARGE <(x); }", "{ sort LARGE <(x); }"),
    ] {
        assert_eq!(of(text), expected);
    }
    std::fs::remove_file(path).expect("removed");
}
