//! The jobs: what a user of the shell would type, and what users of other programs would.
//!
//! Each command writes the same bytes to `out`.

/// A job.
pub struct Job {
    /// What it does.
    pub name: &'static str,
    /// The pipeline of usual tools, for the shell and for `pelton run`.
    pub plain: &'static str,
    /// Other programs and their commands.
    pub others: &'static [(&'static str, &'static str)],
    /// Whether it sorts all its input: memory is then limited.
    pub sorts: bool,
}

const fn job(
    name: &'static str,
    plain: &'static str,
    others: &'static [(&'static str, &'static str)],
) -> Job {
    Job { name, plain, others, sorts: false }
}

const fn sorting(
    name: &'static str,
    plain: &'static str,
    others: &'static [(&'static str, &'static str)],
) -> Job {
    Job { name, plain, others, sorts: true }
}

/// Lines and expressions, columns, sums, sorts, text, JSON, whole files.
pub const JOBS: &[Job] = &[
    job(
        "count lines with a word",
        "grep -c ' 404 ' log > out",
        &[
            ("rg", "rg -c ' 404 ' log > out"),
            ("busybox", "busybox grep -c ' 404 ' log > out"),
            (
                "GNU parallel",
                r#"parallel --pipepart -a log --block 20M "grep -c ' 404 '" | awk '{n += $1} END {print n}' > out"#,
            ),
            ("goawk", "goawk '/ 404 / {n++} END {print n}' log > out"),
        ],
    ),
    job(
        "lines that match an expression",
        r#"grep -E '"(GET|POST) [^ ]+ HTTP/1\.[01]" (4|5)[0-9]{2}' log > out"#,
        &[
            ("rg", r#"rg '"(GET|POST) [^ ]+ HTTP/1\.[01]" (4|5)[0-9]{2}' log > out"#),
            ("busybox", r#"busybox grep -E '"(GET|POST) [^ ]+ HTTP/1\.[01]" (4|5)[0-9]{2}' log > out"#),
            (
                "GNU parallel",
                r#"parallel -k --pipepart -a log --block 20M "grep -E '\"(GET|POST) [^ ]+ HTTP/1\.[01]\" (4|5)[0-9]{2}'" > out"#,
            ),
            ("frawk", r#"frawk -Binterp '/"(GET|POST) [^ ]+ HTTP\/1\.[01]" (4|5)[0-9][0-9]/' log > out"#),
        ],
    ),
    job(
        "lines without any of three words",
        "grep -ivE 'bot|crawl|spider' log > out",
        &[
            ("rg", "rg -iv 'bot|crawl|spider' log > out"),
            ("busybox", "busybox grep -ivE 'bot|crawl|spider' log > out"),
        ],
    ),
    job(
        "what matches, counted",
        r#"grep -oE '"[A-Z]+ [^ ]+' log | sort | uniq -c | sort -k1,1rn -k2 | head -n 20 > out"#,
        &[
            ("rg", r#"rg -o '"[A-Z]+ [^ ]+' log | sort | uniq -c | sort -k1,1rn -k2 | head -n 20 > out"#),
            (
                "rg and huniq",
                r#"rg -o '"[A-Z]+ [^ ]+' log | huniq -c | awk '{n = $1; sub(/^ *[0-9]+ /, ""); printf "%7d %s\n", n, $0}' | sort -k1,1rn -k2 | head -n 20 > out"#,
            ),
            (
                "uutils",
                r#"grep -oE '"[A-Z]+ [^ ]+' log | coreutils sort | coreutils uniq -c | coreutils sort -k1,1rn -k2 | head -n 20 > out"#,
            ),
        ],
    ),
    job(
        "two columns of a CSV",
        "cut -d, -f2,4 csv > out",
        &[
            ("hck", "hck -d, -D, -f2,4 csv > out"),
            ("choose", "choose -f , -o , 1 3 -i csv > out"),
            ("xsv", "xsv select -n 2,4 csv > out"),
            ("mlr", "mlr --csv --implicit-csv-header --headerless-csv-output cut -f 2,4 csv > out"),
            ("uutils", "coreutils cut -d, -f2,4 csv > out"),
            ("busybox", "busybox cut -d, -f2,4 csv > out"),
            ("goawk", "goawk -F, -v OFS=, '{print $2, $4}' csv > out"),
            ("frawk", "frawk -Binterp -F, '{print $2 \",\" $4}' csv > out"),
            (
                "duckdb",
                "duckdb \"COPY (SELECT column1, column3 FROM read_csv('csv', header = false, all_varchar = true)) TO 'out' (HEADER false, FORMAT csv)\"",
            ),
            (
                "polars",
                "polars \"pl.scan_csv('csv', has_header=False, infer_schema=False).select('column_1', 'column_3').sink_csv('out', include_header=False)\"",
            ),
        ],
    ),
    job(
        "a column between blanks",
        "awk '{print $7}' log > out",
        &[
            ("hck", "hck -f7 log > out"),
            ("choose", "choose 6 -i log > out"),
            ("mawk", "mawk '{print $7}' log > out"),
            ("goawk", "goawk '{print $7}' log > out"),
            ("frawk", "frawk -Binterp '{print $7}' log > out"),
            ("GNU parallel", r#"parallel -k --pipepart -a log --block 20M "awk '{print \$7}'" > out"#),
            ("mlr", "mlr --inidx --ifs ' ' --repifs --onidx cut -f 7 log > out"),
        ],
    ),
    job(
        "top of a CSV column",
        "cut -d, -f3 csv | sort | uniq -c | sort -k1,1rn -k2 | head -n 10 > out",
        &[
            (
                "hck and huniq",
                r#"hck -d, -f3 csv | huniq -c | awk '{printf "%7d %s\n", $1, $2}' | sort -k1,1rn -k2 | head -n 10 > out"#,
            ),
            (
                "xsv",
                r#"xsv frequency -n -s 3 -l 0 csv | awk -F, 'NR > 1 {printf "%7d %s\n", $3, $2}' | sort -k1,1rn -k2 | head -n 10 > out"#,
            ),
            (
                "mlr",
                r#"mlr --icsv --implicit-csv-header --onidx count-distinct -f 3 csv | awk '{printf "%7d %s\n", $2, $1}' | sort -k1,1rn -k2 | head -n 10 > out"#,
            ),
            (
                "datamash",
                r#"datamash -t, -s -g 3 count 3 < csv | awk -F, '{printf "%7d %s\n", $2, $1}' | sort -k1,1rn -k2 | head -n 10 > out"#,
            ),
            (
                "goawk",
                r#"goawk -F, '{c[$3]++} END {for (k in c) printf "%7d %s\n", c[k], k}' csv | sort -k1,1rn -k2 | head -n 10 > out"#,
            ),
            (
                "frawk",
                r#"frawk -Binterp -F, '{c[$3]++} END {for (k in c) printf "%7d %s\n", c[k], k;}' csv | sort -k1,1rn -k2 | head -n 10 > out"#,
            ),
            (
                "uutils",
                "coreutils cut -d, -f3 csv | coreutils sort | coreutils uniq -c | coreutils sort -k1,1rn -k2 | head -n 10 > out",
            ),
            (
                "duckdb",
                r#"duckdb "SELECT printf('%7d %s', n, c) FROM (SELECT column2 AS c, count(*) AS n FROM read_csv('csv', header = false) GROUP BY c ORDER BY n DESC, c LIMIT 10)" > out"#,
            ),
            (
                "polars",
                r#"polars "for n, c in pl.scan_csv('csv', has_header=False).group_by('column_2').len().sort(['len', 'column_2'], descending=[True, False]).head(10).select('len', 'column_2').collect().iter_rows(): print(f'{n:7d} {c}')" > out"#,
            ),
        ],
    ),
    job(
        "sum of a column",
        r#"awk -F, '{s += $4} END {printf "%.2f\n", s}' csv > out"#,
        &[
            ("mawk", r#"mawk -F, '{s += $4} END {printf "%.2f\n", s}' csv > out"#),
            ("goawk", r#"goawk -F, '{s += $4} END {printf "%.2f\n", s}' csv > out"#),
            ("frawk", r#"frawk -Binterp -F, '{s += $4} END {printf "%.2f\n", s}' csv > out"#),
            ("mlr", "mlr --icsv --implicit-csv-header --onidx --ofmt %.2f stats1 -a sum -f 4 csv > out"),
            ("datamash", "datamash -R 2 -t, sum 4 < csv > out"),
            (
                "duckdb",
                r#"duckdb "SELECT printf('%.2f', sum(column3)) FROM read_csv('csv', header = false)" > out"#,
            ),
            (
                "polars",
                r#"polars "print('%.2f' % pl.scan_csv('csv', has_header=False).select(col('column_3').sum()).collect().item())" > out"#,
            ),
        ],
    ),
    job(
        "sum for each key",
        "awk -F, '{s[$2] += $6} END {for (k in s) print k, s[k]}' csv | sort > out",
        &[
            ("mawk", "mawk -F, '{s[$2] += $6} END {for (k in s) print k, s[k]}' csv | sort > out"),
            ("goawk", "goawk -F, '{s[$2] += $6} END {for (k in s) print k, s[k]}' csv | sort > out"),
            (
                "frawk",
                "frawk -Binterp -F, '{s[$2] += int($6)} END {for (k in s) print k, s[k];}' csv | sort > out",
            ),
            ("mlr", "mlr --icsv --implicit-csv-header --onidx stats1 -a sum -f 6 -g 2 csv | sort > out"),
            ("datamash", "datamash -t, --output-delimiter ' ' -s -g 2 sum 6 < csv | sort > out"),
            (
                "duckdb",
                "duckdb \"SELECT column1, sum(column5) FROM read_csv('csv', header = false) GROUP BY 1\" | sort > out",
            ),
            (
                "polars",
                "polars \"for k, n in pl.scan_csv('csv', has_header=False).group_by('column_1').agg(col('column_5').sum()).collect().iter_rows(): print(k, n)\" | sort > out",
            ),
        ],
    ),
    job(
        "errors by path",
        r#"awk '$9 >= 400 {n[$7]++; b[$7] += $10} END {for (p in n) print n[p], b[p], p}' log | sort -k1,1rn -k3 | head -n 20 > out"#,
        &[
            (
                "mawk",
                r#"mawk '$9 >= 400 {n[$7]++; b[$7] += $10} END {for (p in n) print n[p], b[p], p}' log | sort -k1,1rn -k3 | head -n 20 > out"#,
            ),
            (
                "goawk",
                r#"goawk '$9 >= 400 {n[$7]++; b[$7] += $10} END {for (p in n) print n[p], b[p], p}' log | sort -k1,1rn -k3 | head -n 20 > out"#,
            ),
            (
                "frawk",
                r#"frawk -Binterp 'int($9) >= 400 {n[$7]++; b[$7] += int($10)} END {for (p in n) print n[p], b[p], p;}' log | sort -k1,1rn -k3 | head -n 20 > out"#,
            ),
            (
                "mlr",
                r#"mlr --inidx --ifs ' ' --repifs --onidx filter '$9 >= 400' then stats1 -a count,sum -f 10 -g 7 log | awk '{print $2, $3, $1}' | sort -k1,1rn -k3 | head -n 20 > out"#,
            ),
        ],
    ),
    sorting(
        "sort numbers",
        "cut -d, -f1 csv | sort -n > out",
        &[
            ("sort --parallel", "cut -d, -f1 csv | sort --parallel=2 -S 1G -n > out"),
            ("parsort", "cut -d, -f1 csv > numbers; parsort -n numbers > out"),
            ("uutils", "coreutils cut -d, -f1 csv | coreutils sort -n > out"),
            (
                "duckdb",
                "duckdb \"COPY (SELECT column0 FROM read_csv('csv', header = false) ORDER BY column0) TO 'out' (HEADER false, FORMAT csv)\"",
            ),
            (
                "polars",
                "polars \"pl.scan_csv('csv', has_header=False).select('column_0').sort('column_0').sink_csv('out', include_header=False)\"",
            ),
        ],
    ),
    sorting(
        "sort lines",
        "sort words > out",
        &[
            ("sort --parallel", "sort --parallel=2 -S 1G words > out"),
            ("parsort", "parsort words > out"),
            ("uutils", "coreutils sort words > out"),
            ("busybox", "busybox sort words > out"),
            (
                "duckdb",
                "duckdb \"COPY (SELECT column0 FROM read_csv('words', header = false, all_varchar = true, delim = '\\t', quote = '', columns = {'column0': 'VARCHAR'}) ORDER BY column0) TO 'out' (HEADER false, FORMAT csv, QUOTE '', ESCAPE '')\"",
            ),
            (
                "polars",
                "polars \"pl.scan_csv('words', has_header=False, infer_schema=False, separator='\\t', quote_char=None).sort('column_0').sink_csv('out', include_header=False, quote_style='never')\"",
            ),
        ],
    ),
    sorting(
        "sort by two keys",
        "sort -t, -k4,4n -k2,2 csv > out",
        &[
            ("sort --parallel", "sort --parallel=2 -S 1G -t, -k4,4n -k2,2 csv > out"),
            ("parsort", "parsort -t, -k4,4n -k2,2 csv > out"),
            ("uutils", "coreutils sort -t, -k4,4n -k2,2 csv > out"),
            (
                "duckdb",
                "duckdb \"COPY (SELECT * FROM read_csv('csv', header = false, types = {'column0': 'VARCHAR', 'column3': 'DECIMAL(9,2)', 'column4': 'VARCHAR', 'column5': 'VARCHAR'}) ORDER BY column3, column1, column0 || ',') TO 'out' (HEADER false, FORMAT csv)\"",
            ),
        ],
    ),
    sorting(
        "distinct lines, sorted",
        "sort -u words > out",
        &[
            ("sort --parallel", "sort --parallel=2 -S 1G -u words > out"),
            ("uutils", "coreutils sort -u words > out"),
            ("huniq", "huniq < words | sort > out"),
            ("runiq", "runiq words | sort > out"),
            (
                "duckdb",
                "duckdb \"COPY (SELECT DISTINCT column0 FROM read_csv('words', header = false, delim = '\\t', quote = '', columns = {'column0': 'VARCHAR'}) ORDER BY column0) TO 'out' (HEADER false, FORMAT csv, QUOTE '', ESCAPE '')\"",
            ),
            (
                "polars",
                "polars \"pl.scan_csv('words', has_header=False, infer_schema=False, separator='\\t', quote_char=None).unique().sort('column_0').sink_csv('out', include_header=False, quote_style='never')\"",
            ),
        ],
    ),
    job(
        "distinct lines, in order",
        "awk '!seen[$0]++' words > out",
        &[
            ("huniq", "huniq < words > out"),
            ("runiq", "runiq words > out"),
            ("mawk", "mawk '!seen[$0]++' words > out"),
            ("goawk", "goawk '!seen[$0]++' words > out"),
            ("frawk", "frawk -Binterp '!seen[$0]++' words > out"),
        ],
    ),
    job(
        "word frequency",
        "tr -cs A-Za-z '\\n' < prose | sort | uniq -c | sort -k1,1rn -k2 | head -n 10 > out",
        &[
            (
                "rg and huniq",
                r#"rg -o '[A-Za-z]+' prose | huniq -c | awk '{printf "%7d %s\n", $1, $2}' | sort -k1,1rn -k2 | head -n 10 > out"#,
            ),
            (
                "GNU parallel",
                r#"parallel --pipepart -a prose --block 20M "tr -cs A-Za-z '\n' | sort | uniq -c" | awk '{c[$2] += $1} END {for (k in c) printf "%7d %s\n", c[k], k}' | sort -k1,1rn -k2 | head -n 10 > out"#,
            ),
            (
                "goawk",
                r#"goawk '{n = split($0, w, /[^A-Za-z]+/); for (i = 1; i <= n; i++) if (w[i] != "") c[w[i]]++} END {for (k in c) printf "%7d %s\n", c[k], k}' prose | sort -k1,1rn -k2 | head -n 10 > out"#,
            ),
            (
                "uutils",
                "coreutils tr -cs A-Za-z '\\n' < prose | coreutils sort | coreutils uniq -c | coreutils sort -k1,1rn -k2 | head -n 10 > out",
            ),
            (
                "duckdb",
                r#"duckdb "SELECT printf('%7d %s', n, w) FROM (SELECT unnest(string_split_regex(column0, '[^A-Za-z]+')) AS w, count(*) AS n FROM read_csv('prose', header = false, delim = '\t', quote = '', columns = {'column0': 'VARCHAR'}) GROUP BY w) WHERE w != '' ORDER BY n DESC, w LIMIT 10" > out"#,
            ),
            (
                "polars",
                r#"polars "for n, w in pl.scan_csv('prose', has_header=False, infer_schema=False, separator='\t', quote_char=None).select(col('column_0').str.extract_all('[A-Za-z]+').explode()).group_by('column_0').len().sort(['len', 'column_0'], descending=[True, False], nulls_last=True).head(10).select('len', 'column_0').collect().iter_rows(): print(f'{n:7d} {w}')" > out"#,
            ),
        ],
    ),
    job(
        "replace a word",
        "sed 's/mento/MENTO/g' prose > out",
        &[
            ("sd", "sd mento MENTO < prose > out"),
            ("rg", "rg --passthru -N -r MENTO mento prose > out"),
            ("perl", "perl -pe 's/mento/MENTO/g' prose > out"),
            ("goawk", "goawk '{gsub(/mento/, \"MENTO\"); print}' prose > out"),
            ("frawk", "frawk -Binterp '{gsub(/mento/, \"MENTO\"); print $0}' prose > out"),
            ("GNU parallel", "parallel -k --pipepart -a prose --block 20M sed s/mento/MENTO/g > out"),
        ],
    ),
    job(
        "rearrange by groups",
        r"sed -E 's/^([^,]*),([^,]*),(.*)$/\2,\1,\3/' csv > out",
        &[
            ("sd", r"sd '(?m)^([^,\n]*),([^,\n]*),(.*)$' '$2,$1,$3' < csv > out"),
            ("rg", r"rg -N -r '$2,$1,$3' '^([^,]*),([^,]*),(.*)$' csv > out"),
            ("perl", r"perl -pe 's/^([^,]*),([^,]*),(.*)$/$2,$1,$3/' csv > out"),
            ("hck", "hck -d, -D, -f2,1,3- csv > out"),
            ("xsv", "xsv select -n 2,1,3- csv > out"),
        ],
    ),
    job(
        "a key of JSON lines",
        "jq -r .email people > out",
        &[
            ("jaq", "jaq -r .email people > out"),
            ("mlr", "mlr --ijsonl --onidx cut -f email people > out"),
            (
                "duckdb",
                "duckdb \"COPY (SELECT email FROM read_json('people', format = 'newline_delimited', columns = {'email': 'VARCHAR'})) TO 'out' (HEADER false, FORMAT csv)\"",
            ),
            (
                "polars",
                "polars \"pl.scan_ndjson('people', schema={'email': pl.String}).sink_csv('out', include_header=False)\"",
            ),
        ],
    ),
    job(
        "count lines, words and bytes",
        "wc < log | awk '{print $1, $2, $3}' > out",
        &[
            ("uutils", "coreutils wc < log | awk '{print $1, $2, $3}' > out"),
            ("busybox", "busybox wc < log | awk '{print $1, $2, $3}' > out"),
            (
                "GNU parallel",
                r#"parallel --pipepart -a log --block 20M wc | awk '{l += $1; w += $2; b += $3} END {print l, w, b}' > out"#,
            ),
        ],
    ),
    job(
        "lines in reverse order",
        "tac log > out",
        &[("uutils", "coreutils tac log > out"), ("busybox", "busybox tac log > out")],
    ),
    job(
        "count in a compressed log",
        "zcat log.gz | grep -c ' 404 ' > out",
        &[
            ("rg", "rg -zc ' 404 ' log.gz > out"),
            ("busybox", "busybox zcat log.gz | busybox grep -c ' 404 ' > out"),
        ],
    ),
];
