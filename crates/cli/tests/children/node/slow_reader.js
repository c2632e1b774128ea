const p = require('child_process').spawn('seq', ['3000000'], {stdio: ['ignore', 'pipe', 'inherit']});
setTimeout(() => p.stdout.on('data', () => {}), 1500);
