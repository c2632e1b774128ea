require 'open3'
Open3.popen3('seq', '300000') { |i, o, e, t| t.value }
