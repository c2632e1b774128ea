const p = require('child_process').spawn('sh', ['-c', 'sleep 1.5; echo 1'], {stdio: ['ignore', 'pipe', 'inherit']});
p.stdout.on('data', () => {});
