# Reads from a child that sleeps.
open(my $child, '-|', 'sh', '-c', 'sleep 1.5; echo 1') or die;
while (<$child>) {}
close $child;
