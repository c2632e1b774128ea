import asyncio
async def main():
    p = await asyncio.create_subprocess_exec('seq', '3000000', stdout=asyncio.subprocess.PIPE, limit=1000)
    await p.wait()
asyncio.run(main())
