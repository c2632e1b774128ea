//! A table of texts and their trees: see `common` for the notation.
#![allow(missing_docs, clippy::print_stdout)]

mod common;

use common::rendered;
use pelton_syntax::{Command, Dialect, RedirectKind, parse};

#[rustfmt::skip]
const BASH: &[(&str, &str)] = &[
    ("a", "[a]"),
    ("a b c", "[a b c]"),
    ("  a   b\tc  ", "[a b c]"),
    ("a b # c", "[a b]"),
    ("a#b c", "[a#b c]"),
    ("# only a comment", ""),
    ("", ""),
    ("a;", "[a]"),
    ("a; b", "[a] ; [b]"),
    ("a & b", "[a] & ; [b]"),
    ("a &", "[a] &"),
    ("a | b", "[a] | [b]"),
    ("a|b|c", "[a] | [b] | [c]"),
    ("a |& b", "[a] |& [b]"),
    ("a | b && c || d", "[a] | [b] && [c] || [d]"),
    ("a && b; c", "[a] && [b] ; [c]"),
    ("! a", "! [a]"),
    ("! ! a", "[a]"),
    ("! a | b", "! [a] | [b]"),
    ("time a | b", "time [a] | [b]"),
    ("time -p a", "time [a]"),
    ("time ! a", "time ! [a]"),
    ("! time a", "time ! [a]"),
    ("a | time b", "[a] | [time b]"),
    ("time -- a", "{Unmodelled(RareForm)}"),
    ("a | \ntime b", "{Unmodelled(RareForm)}"),
    ("a |\n\ntime b", "{Unmodelled(RareForm)}"),
    ("a && \n\ntime b", "[a] && time [b]"),
    ("!", "{Unmodelled(EmptyPipeline)}"),
    ("time", "{Unmodelled(EmptyPipeline)}"),
    ("a ! b", "[a ! b]"),
    ("a time -p", "[a time -p]"),
    ("'a' \"b\" c", "['a' 'b' c]"),
    ("'a b'\"c d\"e", "['a b''c d'e]"),
    ("''", "['']"),
    ("a '' \"\"", "[a '' '']"),
    ("a \"\" b", "[a '' b]"),
    ("a''b", "[a''b]"),
    ("\"$x\"", "[\"$x\"]"),
    ("$x", "[$x]"),
    ("${x}", "[$x]"),
    ("a$x\"b$y\"c", "[a$x'b'\"$y\"c]"),
    ("\"a${x}b\"", "['a'\"$x\"'b']"),
    ("$x$y", "[$x$y]"),
    ("$_", "[<SpecialParameter>]"),
    ("$?", "[<SpecialParameter>]"),
    ("\"$@\"", "[<SpecialParameter>]"),
    ("$1", "[<SpecialParameter>]"),
    ("$10", "[<SpecialParameter>0]"),
    ("$", "[$]"),
    ("a$ \"b$\" $.", "[a$ 'b$' $.]"),
    ("$x.y ${x}y", "[$x.y $xy]"),
    ("$(a b)", "[<CommandSubstitution>]"),
    ("\"$(a \"b\")\"", "[<CommandSubstitution>]"),
    ("`a b`", "[<CommandSubstitution>]"),
    ("$((1 + 2))", "[<Arithmetic>]"),
    ("$[1+2]", "[<Arithmetic>]"),
    ("${x:-y}", "[<ParameterOperator>]"),
    ("${#x}", "[<ParameterOperator>]"),
    ("${!x}", "[<ParameterOperator>]"),
    ("${x[0]}", "[<ParameterOperator>]"),
    ("\"${x%.c}\"", "[<ParameterOperator>]"),
    ("<(a) >(b)", "[<ProcessSubstitution> <ProcessSubstitution>]"),
    ("a<(b)", "[a<ProcessSubstitution>]"),
    ("$'a\\tb'", "['a\\tb']"),
    ("$'\\x41\\u42\\103'", "['ABC']"),
    ("$'\\xff'", "[<AnsiString>]"),
    ("$'\\0'", "[<AnsiString>]"),
    ("$'\\u00e9'", "[<AnsiString>]"),
    ("$\"a\"", "[<Translation>]"),
    ("\\a\\b\\ c", "['ab 'c]"),
    ("\\$x \\\"a\\'", "['$'x '\\\"'a'\\'']"),
    ("\"a\\b\\$\\\"\\\\\\`\"", "['a\\\\b$\\\"\\\\`']"),
    ("\"a!b\" !c", "['a!b' !c]"),
    ("*.c", "[*.c]"),
    ("a?b", "[a?b]"),
    ("[ab]c", "[<BracketPattern>]"),
    ("[a", "[[a]"),
    ("[ -f x ]", "[[ -f x ]]"),
    ("a]", "[a]]"),
    ("\\*.c '*' \"?\"", "['*'.c '*' '?']"),
    ("{a,b}", "[<BraceExpansion>]"),
    ("{1..3}", "[<BraceExpansion>]"),
    ("{}", "[{}]"),
    ("{a}", "[{a}]"),
    ("{a", "[{a]"),
    ("a}", "[a}]"),
    ("x{a,b}y", "[x<BraceExpansion>]"),
    ("@{u}..", "[@{u}..]"),
    ("{\"a,b\"}", "[<BraceExpansion>]"),
    ("~", "[~]"),
    ("~/x", "[~/x]"),
    ("~u", "[<NamedHome>u]"),
    ("~+", "[<NamedHome>+]"),
    ("a~b", "[a~b]"),
    ("\"~\"", "['~']"),
    ("~\"u\"", "[<NamedHome>'u']"),
    ("a=~/b", "a=<NamedHome>/b"),
    ("--a=~/b", "[--a=~/b]"),
    ("@(a)", "{Unmodelled(ExtendedPattern)}"),
    ("!(a)", "{Unmodelled(ExtendedPattern)}"),
    ("a=1", "a=1"),
    ("a=1 b=2 c d=3", "a=1 b=2 [c d=3]"),
    ("a= b", "a= [b]"),
    ("a=$x\"y z\"*", "a=\"$x\"'y z'*"),
    ("a=~", "a=<NamedHome>"),
    ("a=b:~/c", "a=b:<NamedHome>/c"),
    ("a+=1", "a=<Array>"),
    ("a[1]=2", "a=<Array>"),
    ("a=(1 2)", "a=<Array>"),
    ("1a=b", "[1a=b]"),
    ("a-b=c", "[a-b=c]"),
    ("\"a\"=b", "['a'=b]"),
    ("a\\=b", "[a'='b]"),
    ("=a", "[=a]"),
    ("export x=1", "[export x=1]"),
    ("export x=$y", "[export <Array>]"),
    ("declare -a x=*", "[declare -a <Array>]"),
    ("local x=\"$y\"", "[local <Array>]"),
    ("a >x", "[a] >x"),
    ("a > x", "[a] >x"),
    ("a >x 2>&1", "[a] >x 2>&1"),
    ("a 2>x >&2", "[a] 2>x >&2"),
    ("a 2>>x", "[a] 2>>x"),
    ("a <x >y b", "[a b] <x >y"),
    ("<x a", "[a] <x"),
    (">x", ">x"),
    ("a >|x", "[a] >|x"),
    ("a <>x", "[a] <>x"),
    ("a &>x", "[a] &>x"),
    ("a &>>x", "[a] &>>x"),
    ("a >&x", "[a] &>x"),
    ("a >&$x", "[a] <UnusualRedirect>"),
    ("a 3>&x", "[a] 3<UnusualRedirect>"),
    ("a 2>&-", "[a] 2>&-"),
    ("a <&3", "[a] <&3"),
    ("a 3<&-", "[a] 3<&-"),
    ("a >&12", "[a] <UnusualRedirect>"),
    ("a 12>x", "[a] <UnusualRedirect>"),
    ("a {x}>y", "[a] <UnusualRedirect>"),
    ("a 2 >x", "[a 2] >x"),
    ("a2>x", "[a2] >x"),
    ("a >$x", "[a] >$x"),
    ("a >*.c", "[a] >*.c"),
    ("a <<<b", "[a] <<<b"),
    ("a <<<\"b c\"$x", "[a] <<<'b c'\"$x\""),
    ("a <<< *", "[a] <<<*"),
    ("(a)", "{Subshell}"),
    ("(a; b) >x", "{Subshell} >x"),
    ("{ a; }", "{Group}"),
    ("{ a; } | b", "{Group} | [b]"),
    ("if a; then b; fi", "{If}"),
    ("if (a) then b; fi", "{If}"),
    ("while a; do b; done | c", "{While} | [c]"),
    ("until a; do b; done", "{Until}"),
    ("for x in a b; do c; done", "{For}"),
    ("for x; do a; done", "{For}"),
    ("for ((i=0;i<3;i++)); do a; done", "{For}"),
    ("case x in a|b) c;; *) d; esac", "{Case}"),
    ("select x in a; do b; done", "{Select}"),
    ("[[ a == b && -f c ]] && d", "{Test} && [d]"),
    ("[[ a > b ]]", "{Test}"),
    ("[[ a 2> b ]]", "{Unmodelled(RareForm)}"),
    ("[[ 2> b ]]", "{Unmodelled(RareForm)}"),
    ("case x in }) a;; esac", "{Unmodelled(RareForm)}"),
    ("[[ a =~ (b) ]]", "{Unmodelled(RareForm)}"),
    ("((x++))", "{Arithmetic}"),
    ("f() { a; }", "f()"),
    ("f() (a)", "f()"),
    ("function f { a; }", "f()"),
    ("coproc { a; }", "{Coproc}"),
    ("coproc a", "{Unmodelled(RareForm)}"),
    ("\\if a", "['i'f a]"),
    ("'if' a", "['if' a]"),
    ("if' a'", "[if' a']"),
    ("a if then fi", "[a if then fi]"),
    ("a } {", "[a } {]"),
    ("}a {b", "[}a {b]"),
    ("a && b | c & d; e || f", "[a] && [b] | [c] & ; [d] ; [e] || [f]"),
    ("exit 3", "[exit 3]"),
    ("break 2", "[break 2]"),
    ("return", "[return]"),
    ("a (b)", "! unexpected `(` @2..3"),
    ("a b(c)", "! unexpected `(` @3..4"),
    ("a )", "! unexpected `)` @2..3"),
    ("( a", "! this `(` is never closed @0..1"),
    ("{ a", "! this `{` is never closed @0..1"),
    ("{ a }", "! this `{` is never closed @0..1"),
    ("if a; then b", "! this `if` is never closed @0..2"),
    ("a; fi", "! unexpected `fi` @3..5"),
    ("then", "! unexpected `then` @0..4"),
    ("a | | b", "! unexpected `|` @4..5"),
    ("| a", "! unexpected `|` @0..1"),
    ("a |", "! nothing follows this pipe @2..3"),
    ("a &&", "! nothing follows this `&&` @2..4"),
    ("a ||", "! nothing follows this `||` @2..4"),
    ("a ; ; b", "! unexpected `;` @4..5"),
    ("a ;; b", "! unexpected `;;` @2..4"),
    ("a & & b", "! unexpected `&` @4..5"),
    ("a >", "! nothing follows this `>` @2..3"),
    ("a > | b", "! nothing follows this `>` @2..3"),
    ("a <<<", "! nothing follows this `<<<` @2..5"),
    ("a \"b", "! this double quote is never closed @2..3"),
    ("a 'b", "! this single quote is never closed @2..3"),
    ("a `b", "! this backquote is never closed @2..3"),
    ("a $(b", "! this `$(` is never closed @2..4"),
    ("a ${b", "! this `${` is never closed @2..4"),
    ("a $((1", "! this `$((` is never closed @2..5"),
    ("()", "! no command stands between these parentheses @1..2"),
    ("{ }", "! unexpected `}` @2..3"),
    ("(a) b", "! unexpected `b` @4..5"),
    ("{ a; } b", "! unexpected `b` @7..8"),
    ("{ a; } >x }", "! unexpected `}` @10..11"),
    ("in", "! unexpected `in` @0..2"),
    ("a \"$(b 'c", "! this single quote is never closed @7..8"),
    ("a é日本😀 \"é\"", "[a é日本😀 'é']"),
    ("a b\\\nc\\\n d", "[a bc d]"),
    ("ec\\\nho a |\\\n b", "[echo a] | [b]"),
    ("a |\nb", "[a] | [b]"),
    ("a &&\n# c\n\nb", "[a] && [b]"),
    ("a\nb\n", "[a] ; [b]"),
    ("a\n\n# x\nb &\nc", "[a] ; [b] & ; [c]"),
    ("a\r\nb", "[a\r] ; [b]"),
    ("a 'b\nc'", "[a 'b\\nc']"),
    ("a \"b\\\nc\"", "[a 'bc']"),
    ("a <<E\nb\nc\nE", "[a] <<'b\\nc\\n'"),
    ("a <<E | d\nb\nE\ne", "[a] <<'b\\n' | [d] ; [e]"),
    ("a <<'E'\n$x \\y\nE", "[a] <<'$x \\\\y\\n'"),
    ("a <<E\n$x\nE", "[a] <<<UnusualRedirect>"),
    ("a <<E\n\\$x \\\\ \\y \"q\"\nE", "[a] <<'$x \\\\ \\\\y \\\"q\\\"\\n'"),
    ("a <<-E\n\tb\n\t\tc\n\tE", "[a] <<'b\\nc\\n'"),
    ("a <<E\nE", "[a] <<"),
    ("a <<E <<F\nx\nE\ny\nF", "[a] <<'x\\n' <<'y\\n'"),
    ("a <<E", "{Unmodelled(HereDocument)}"),
    ("a <<E\nb", "{Unmodelled(HereDocument)}"),
    ("cat <<\\E\nb\nE", "[cat] <<'b\\n'"),
    ("a\n)", "! unexpected `)` @2..3 (late)"),
    ("a\nb\n\"c", "! this double quote is never closed @4..5 (late)"),
    ("a; b \"c\nd", "! this double quote is never closed @5..6"),
    ("{ a\n)", "! unexpected `)` @4..5"),
    ("# x\n)", "! unexpected `)` @4..5"),
    ("a &&\n", "! nothing follows this `&&` @2..4"),
    ("a\n| b", "! unexpected `|` @2..3 (late)"),
    ("a |\n\n", "! nothing follows this pipe @2..3"),
    ("(\na\n)\nb", "{Subshell} ; [b]"),
    ("if a\nthen b\nelse c\nfi", "{If}"),
    ("f()\n{ a; }\nb", "f() ; [b]"),
    ("a \\", "{Unmodelled(FinalBackslash)}"),
    ("x=1 \\\ny=2 a", "x=1 y=2 [a]"),
    ("a $(b\nc) d", "[a <CommandSubstitution> d]"),
    ("a \x01", "{Unmodelled(ControlByte)}"),
    ("f() ( >{ a )", "{Unmodelled(RareForm)}"),
    ("f() ( b; >{ a )", "f()"),
];

#[rustfmt::skip]
const POSIX: &[(&str, &str)] = &[
    ("a | b >c", "[a] | [b] >c"),
    ("a {b,c} {1..3}", "[a {b,c} {1..3}]"),
    ("a *.c [b]", "[a *.c <BracketPattern>]"),
    ("a >*.c", "[a] >*.c"),
    ("time a | b", "[time a] | [b]"),
    ("a 2>&1", "[a] 2>&1"),
    ("a >&b", "[a] <UnusualRedirect>"),
    ("a ${b:-c} ${b%c}", "[a <ParameterOperator> <ParameterOperator>]"),
    ("a ${b/c/d}", "{Unmodelled(Dialect)}"),
    ("a |& b", "{Unmodelled(Dialect)}"),
    ("a &>b", "{Unmodelled(Dialect)}"),
    ("a <<<b", "{Unmodelled(Dialect)}"),
    ("a $'b'", "{Unmodelled(Dialect)}"),
    ("a <(b)", "{Unmodelled(Dialect)}"),
    ("[[ a ]]", "{Unmodelled(Dialect)}"),
    ("((1))", "{Unmodelled(Dialect)}"),
    ("function f { a; }", "{Unmodelled(Dialect)}"),
    ("a=(b)", "{Unmodelled(Dialect)}"),
    ("a+=b", "{Unmodelled(Dialect)}"),
    ("a `b`", "[a <CommandSubstitution>]"),
    ("a \"`b \"c\"`\"", "[a <CommandSubstitution>]"),
    ("a `b \\`c\\``", "[a <CommandSubstitution>]"),
    ("a `b |`", "{Unmodelled(Dialect)}"),
    ("a `b \\`c |\\``", "{Unmodelled(Dialect)}"),
    ("a <<E\n$x `b` $(c) ${d-e}\nE", "[a] <<<UnusualRedirect>"),
    ("a <<E\n`b |`\nE", "{Unmodelled(Dialect)}"),
    ("a <<E\n${d/e/f}\nE", "{Unmodelled(Dialect)}"),
    ("a 12>b", "{Unmodelled(RareForm)}"),
    ("for x\n; do a; done", "{Unmodelled(Dialect)}"),
    ("f() { a; }", "f()"),
    ("a 'b", "! this single quote is never closed @2..3"),
    ("a )", "! unexpected `)` @2..3"),
];

fn compare(rows: &[(&str, &str)], dialect: Dialect) {
    let read = |row: &&(&str, &str)| rendered(row.0, dialect) != row.1;
    let wrong: Vec<String> = rows
        .iter()
        .filter(read)
        .map(|(text, wanted)| format!("{text:?}: {:?}, not {wanted:?}", rendered(text, dialect)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bash_texts_are_read_as_written_down() {
    compare(BASH, Dialect::Bash);
}

#[test]
fn posix_texts_are_read_as_written_down() {
    compare(POSIX, Dialect::Posix);
}

#[test]
fn spans_cover_what_they_say() {
    let text = "x=1 é 'b c' >o 2>&1 | { d; } <i && e & # f";
    let script = parse(text, Dialect::Bash).unwrap();
    let item = &script.items[0];
    assert_eq!(item.span.of(text), "x=1 é 'b c' >o 2>&1 | { d; } <i && e");
    assert_eq!(item.and_or.first.span.of(text), "x=1 é 'b c' >o 2>&1 | { d; } <i");
    let stages: Vec<&str> = script.stages().map(|stage| stage.span.of(text)).collect();
    assert_eq!(stages, ["x=1 é 'b c' >o 2>&1", "{ d; } <i", "e"]);
    let first = &item.and_or.first.stages[0];
    let simple = first.simple().unwrap();
    assert_eq!(simple.assignments[0].span.of(text), "x=1");
    assert_eq!(simple.words[1].span.of(text), "'b c'");
    assert_eq!(first.redirects[1].span.of(text), "2>&1");
    let Command::Compound(group) = &item.and_or.first.stages[1].command else { panic!("a group") };
    assert_eq!(group.span.of(text), "{ d; }");
}

#[test]
fn a_here_document_has_two_places() {
    let text = "a <<-E 2>x | b\n\tc\nE\nd";
    let script = parse(text, Dialect::Bash).unwrap();
    let stage = script.stages().next().unwrap();
    assert_eq!(stage.span.of(text), "a <<-E 2>x");
    assert_eq!(stage.redirects[0].span.of(text), "<<-E");
    let RedirectKind::HereDoc(body) = &stage.redirects[0].kind else { panic!("a here-document") };
    assert_eq!(body.span.of(text), "\tc\n");
    assert_eq!(body.static_text().as_deref(), Some("c\n"));
}

#[test]
fn errors_offer_help() {
    for text in ["a 'b", "a |", "a )", "{ a", "a >", "if a"] {
        assert!(parse(text, Dialect::Bash).unwrap_err().help.is_some(), "{text:?}");
    }
}
