# Counts in several threads: count.rb HOW-MANY ROUNDS.
def count(rounds)
  total = 0
  rounds.times { |i| total += i % 7 }
  total
end

Array.new(ARGV[0].to_i) { Thread.new { count(ARGV[1].to_i) } }.each(&:join)
