# Opens a FIFO, and reads only after a while.
mkfifo p
seq 300000 > p &
exec 4< p
sleep 1.5
cat <&4 > /dev/null
wait
