# Shares work between processes and sums up their answers.
import multiprocessing as m, time
def work(x):
    t = time.process_time() + 0.02
    while time.process_time() < t: pass
    return x
with m.Pool(2) as p: print(sum(p.imap_unordered(work, range(100))))
