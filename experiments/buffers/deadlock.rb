# A parent that starts a talkative child. `wait`: waits for its end and does not read; `slow`: reads, but slowly.
how, *child = ARGV
reader, writer = IO.pipe
process = Process.spawn(*child, out: writer)
writer.close
sleep 0.2 while how == "slow" && reader.read(4096)
Process.wait(process)
puts "#{reader.read.to_s.size} bytes after the end, status #{$?.exitstatus}"
