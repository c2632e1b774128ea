"""A parent that starts a talkative child. `wait`: waits for its end and does not read; `slow`: reads, but slowly."""
import subprocess
import sys
import time

how, *child = sys.argv[1:]
process = subprocess.Popen(child, stdout=subprocess.PIPE)
if how == "slow":
    while process.stdout.read(4096):
        time.sleep(0.2)
process.wait()
print(len(process.stdout.read()), "bytes after the end, status", process.returncode)
