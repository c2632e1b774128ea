# Reads at once what its child writes.
open(my $child, '-|', 'seq', '3000000') or die;
while (read $child, my $bytes, 65536) {}
close $child;
