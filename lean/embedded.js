// Runs Judge.lean under Lean compiled to WebAssembly, with the protocol on stdin and stdout.
// Usage: node embedded.js INSTALLATION, the folder with the patched lean.js, lean.wasm and lib/.
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');
const threads = require('worker_threads');

const installation = path.resolve(process.argv[2]);
const script = path.join(installation, 'lean.js');
const judge = fs.readFileSync(path.join(__dirname, 'Judge.lean'));

// A pipe is non-blocking under Node, and Lean takes EAGAIN for a hardware fault: wait instead. `null` after a newline ends a read there.
const buffer = Buffer.alloc(65536);
const pause = new Int32Array(new SharedArrayBuffer(4));
let length = 0;
let position = 0;
let lineEnded = false;
function nextByte() {
  if (lineEnded) {
    lineEnded = false;
    return null;
  }
  while (position >= length) {
    try {
      length = fs.readSync(0, buffer);
      position = 0;
      if (length === 0) process.exit(0); // the parent is gone, however it ended
    } catch (error) {
      if (error.code === 'EAGAIN') Atomics.wait(pause, 0, 0, 2);
      else process.exit(error.code === 'EOF' ? 0 : 1);
    }
  }
  const byte = buffer[position++];
  lineEnded = byte === 10;
  return byte;
}

// A parent that was killed cannot end Lean, and a busy Lean reads no stdin: watch for it from a thread.
const watch = `const { workerData } = require('worker_threads');
  setInterval(() => { if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL'); }, 1000);`;
new threads.Worker(watch, { eval: true, workerData: process.ppid }).unref();

// The mounted library is the only thing of the host that Lean sees, and it must not change.
function readOnly(nodefs) {
  const refuse = () => { throw new FS.ErrnoError(69); }; // EROFS
  for (const operation of ['setattr', 'mknod', 'rename', 'unlink', 'rmdir', 'symlink']) nodefs.node_ops[operation] = refuse;
  nodefs.stream_ops.write = nodefs.stream_ops.setattr = refuse;
  const open = nodefs.stream_ops.open;
  nodefs.stream_ops.open = (stream) => (stream.flags & 0o3 ? refuse() : open(stream));
  return nodefs;
}

// Lean elaborates in threads, and reports a deep recursion only where its own limit comes before that of the thread's stack.
threads.Worker = class extends threads.Worker {
  constructor(file, options) {
    super(file, { ...options, resourceLimits: { stackSizeMb: 64 } });
  }
};
globalThis.require = require;
globalThis.__filename = script;
globalThis.__dirname = installation;
globalThis.Module = {
  arguments: ['--run', '/judge/Judge.lean'],
  locateFile: (file) => path.join(installation, file),
  preRun: [() => {
    FS.mkdirTree('/lib/lean');
    FS.mount(readOnly(NODEFS), { root: path.join(installation, 'lib') }, '/lib/lean');
    FS.mkdirTree(installation); // Lean looks for the folder of its program
    FS.mkdirTree('/judge');
    FS.writeFile('/judge/Judge.lean', judge);
    ENV.LEAN_PATH = '/lib/lean';
    ENV.LEAN_SYSROOT = '/';
  }],
  stdin: nextByte,
  print: (line) => fs.writeSync(1, line + '\n'),
  printErr: process.env.RLTPF_LEAN_DEBUG ? (line) => fs.writeSync(2, line + '\n') : () => {},
};
process.argv[1] = script; // the threads start from it
delete process.env.LEAN_PATH; // it would take precedence
vm.runInThisContext(fs.readFileSync(script, 'utf8'), { filename: script });
