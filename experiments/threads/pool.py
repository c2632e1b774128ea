"""The same work in a pool of threads or of processes, a word's difference: pool.py lines|threads|processes < NUMBERS.
For each number, the steps that it takes to 1 (halved if even, else tripled and one added)."""
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor


def steps(line):
    number, taken = int(line), 0
    while number != 1:
        number = number // 2 if number % 2 == 0 else 3 * number + 1
        taken += 1
    return f"{line.strip()} {taken}"


if __name__ == "__main__":
    if sys.argv[1] == "lines":
        for line in sys.stdin:
            print(steps(line))
    else:
        pool = {"threads": ThreadPoolExecutor, "processes": ProcessPoolExecutor}[sys.argv[1]]
        with pool(4) as workers:
            options = {"chunksize": 500} if sys.argv[1] == "processes" else {}
            for result in workers.map(steps, sys.stdin, **options):
                print(result)
