import multiprocessing as m
def work(q): q.put('x' * 1000000)
q = m.Queue()
p = m.Process(target=work, args=(q,)); p.start()
p.join()
