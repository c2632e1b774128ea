const p = require('child_process').spawn('seq', ['3000000'], {stdio: ['ignore', 'pipe', 'inherit']});
p.on('exit', () => {});
