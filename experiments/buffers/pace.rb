# Two sides of a pipe: `talk BYTES LINES GAP` prints lines of so many bytes, GAP seconds apart; `listen GAP` takes one
# every GAP seconds.
if ARGV[0] == "talk"
  size, lines, gap = ARGV[1].to_i, ARGV[2].to_i, ARGV[3].to_f
  $stdout.sync = true
  lines.times do
    $stdout.write "x" * (size - 1) + "\n"
    sleep gap
  end
else
  sleep ARGV[1].to_f while $stdin.gets
end
