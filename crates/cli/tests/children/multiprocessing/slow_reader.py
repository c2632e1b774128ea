import multiprocessing as m, time
def work(c):
    for i in range(300): c.send(b'x' * 5000)
a, b = m.Pipe()
p = m.Process(target=work, args=(b,)); p.start()
time.sleep(1.5)
for i in range(300): a.recv()
p.join()
