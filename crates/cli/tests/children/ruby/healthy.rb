require 'open3'
Open3.capture3('seq', '2000000')
