# Waits for the end of a process that writes to a FIFO that only the shell has open.
mkfifo p
seq 300000 > p &
exec 4< p
wait
