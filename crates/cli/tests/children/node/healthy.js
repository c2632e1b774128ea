const p = require('child_process').spawn('seq', ['2000000'], {stdio: ['ignore', 'pipe', 'inherit']});
p.stdout.on('data', () => {});
