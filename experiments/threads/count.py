"""Counts in several threads, or processes: count.py threads|processes HOW-MANY ROUNDS."""
import multiprocessing
import sys
import threading


def count(rounds):
    total = 0
    for i in range(rounds):
        total += i % 7
    return total


if __name__ == "__main__":
    worker = {"threads": threading.Thread, "processes": multiprocessing.Process}[sys.argv[1]]
    workers = [worker(target=count, args=(int(sys.argv[3]),)) for _ in range(int(sys.argv[2]))]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
