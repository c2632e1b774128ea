import asyncio
async def one(): 
    p = await asyncio.create_subprocess_exec('seq', '2000000', stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate()
async def main(): await asyncio.gather(one(), one())
asyncio.run(main())
