# Reads only after a while what its child writes.
open(my $child, '-|', 'seq', '300000') or die;
select undef, undef, undef, 1.5;
while (<$child>) {}
close $child;
