require 'open3'
Open3.popen3('sh', '-c', 'sleep 1.5; echo 1') { |i, o, e, t| o.read; t.value }
