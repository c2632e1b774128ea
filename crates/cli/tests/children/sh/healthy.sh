# Substitutes outputs, long and short.
x=$(seq 300000)
for i in 1 2 3 4 5; do y=$(echo $i | cat); done
sleep 0.3
