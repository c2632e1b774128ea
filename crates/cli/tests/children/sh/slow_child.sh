# Substitutes the output of a command that sleeps.
x=$(sleep 1.5; echo 1)
