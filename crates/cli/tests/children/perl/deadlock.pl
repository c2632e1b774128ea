# Waits for the end of a child whose output it does not read.
use IPC::Open2;
my $pid = open2(my $out, my $in, 'seq', '300000');
waitpid $pid, 0;
