import asyncio
async def main():
    p = await asyncio.create_subprocess_exec('sh', '-c', 'sleep 1.5; echo 1', stdout=asyncio.subprocess.PIPE)
    await p.communicate()
asyncio.run(main())
