"""Two sides of a pipe: `talk BYTES LINES GAP` prints lines of so many bytes, GAP seconds apart; `listen GAP` takes one
every GAP seconds."""
import sys
import time

if sys.argv[1] == "talk":
    size, lines, gap = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    for _ in range(lines):
        sys.stdout.write("x" * (size - 1) + "\n")
        sys.stdout.flush()
        time.sleep(gap)
else:
    # Without a buffer of its own, which would take more than a line.
    with open(0, "rb", buffering=0) as lines:
        while lines.readline():
            time.sleep(float(sys.argv[2]))
