import multiprocessing as m, time
def work(q):
    time.sleep(1.5); q.put(1)
q = m.Queue()
p = m.Process(target=work, args=(q,)); p.start()
q.get(); p.join()
